import { describe, expect, test } from "vitest";
import { type BenchFlags, FlagsError, readFlags } from "#bench/flags.ts";
import { planRuns } from "#bench/plan.ts";
import { CONTENDER_BY_NAME, type PlannedRow, ROWS } from "#bench/rows.ts";

const flagsOf = (...args: string[]): BenchFlags => {
  const flags = readFlags(args);
  if (flags === undefined) throw new Error("help was asked for");
  return flags;
};

describe("the command line of the bench", () => {
  test("runs everything five times without flags", () => {
    const flags = flagsOf();
    expect({ ...flags, rows: [...flags.rows], contenders: [...flags.contenders] }).toEqual({
      rows: ROWS.map(({ row }) => row.id),
      contenders: Object.keys(CONTENDER_BY_NAME),
      repetitions: 5,
      folder: "bench",
      whole: true,
    });
  });

  test.each([
    ["--rows", "100-at-once"],
    ["--contenders", "run"],
    ["--repetitions", "1"],
  ])("with %s %s runs a part, and leaves the complete report unchanged", (...args) => {
    expect(flagsOf(...args)).toMatchObject({ whole: false, folder: "bench/partial" });
  });

  test.each([
    { args: ["--rows", "100-at-once,7-at-once"], says: '--rows: there is no row "7-at-once"' },
    { args: ["--contenders", "walk"], says: '--contenders: there is no contender "walk"' },
    { args: ["--repetitions", "0"], says: "--repetitions: " },
    { args: ["--repetitions", "many"], says: "--repetitions: " },
    { args: ["--fast"], says: "--fast" },
    { args: ["--rows", "x", "--repetitions", "0"], says: "--repetitions" },
  ])("$args is rejected", ({ args, says }) => {
    expect(() => readFlags(args)).toThrow(FlagsError);
    expect(() => readFlags(args)).toThrow(says);
  });

  test("prints help on request", () => {
    expect(readFlags(["--help"])).toBeUndefined();
  });
});

describe("planRuns", () => {
  const rows: readonly PlannedRow[] = [
    {
      row: { id: "a", nodes: 1, providerIds: true, arrival: { kind: "there" } },
      contenders: ["floor", "run"],
    },
    {
      row: { id: "b", nodes: 1, providerIds: true, arrival: { kind: "at-once" } },
      contenders: ["stock-defaults", "run"],
      fewer: { "stock-defaults": 1 },
    },
  ];
  const planned = (flags: Partial<BenchFlags>): string[] => {
    const all = { ...flagsOf(), rows: new Set(["a", "b"]), repetitions: 2 };
    return planRuns(rows, { ...all, ...flags }).map(
      (run) => `${run.row.id} ${run.contender} ${run.repetition}`,
    );
  };

  test("goes round by round, starts each with another contender, and repeats slow ones less often", () => {
    expect(planned({})).toEqual([
      "a floor 0",
      "a run 0",
      "b stock-defaults 0",
      "b run 0",
      "a run 1",
      "a floor 1",
      "b run 1",
    ]);
  });

  test("omits contenders and rows that are not selected", () => {
    expect(planned({ rows: new Set(["b"]), contenders: new Set(["run"]) })).toEqual(["b run 0", "b run 1"]);
  });
});

describe("the rows", () => {
  test("have unique ids and only known contenders", () => {
    expect(new Set(ROWS.map(({ row }) => row.id)).size).toBe(ROWS.length);
    for (const [name, contender] of Object.entries(CONTENDER_BY_NAME)) expect(contender.name).toBe(name);
  });

  test("give the reason for a missing or less frequent contender", () => {
    // Only look-ahead depends on the number of environments.
    const usual = Object.keys(CONTENDER_BY_NAME).filter((name) => name !== "lambda-8");
    const silent = ROWS.filter(({ contenders, fewer, note }) => {
      return note === undefined && (fewer !== undefined || contenders.length < usual.length);
    });
    expect(silent).toEqual([]);
  });
});

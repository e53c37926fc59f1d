import { describe, expect, test } from "vitest";
import { createLogLimit, type LogLimit } from "#relay/report/log-limit.ts";
import type { OutcomeLine } from "#relay/report/outcome-line.ts";
import type { LogLimitNote } from "#relay/report/relay-note.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

interface World {
  readonly clock: ManualClock;
  readonly limit: LogLimit;
  readonly written: OutcomeLine[];
  readonly notes: LogLimitNote[];
}

function start(linesPerSecond = 10): World {
  const clock = createManualClock();
  const written: OutcomeLine[] = [];
  const notes: LogLimitNote[] = [];
  const limit = createLogLimit({
    linesPerSecond,
    clock,
    write: (line) => written.push(line),
    note: (note) => notes.push(note),
  });
  return { clock, limit, written, notes };
}

const line = (difference: Partial<OutcomeLine> = {}): OutcomeLine => ({
  level: "warn",
  event: "ReadFailed",
  cluster: "one",
  ...difference,
});

function flood({ limit }: World, lines: number, difference?: Partial<OutcomeLine>): void {
  for (let index = 0; index < lines; index += 1) limit.take(line(difference));
}

describe("a cluster's log lines", () => {
  test("may burst for ten seconds' worth, and then are ten a second", async () => {
    const world = start();
    flood(world, 100);
    expect([world.written.length, world.notes, world.limit.limited()]).toEqual([100, [], []]);
    flood(world, 1_000);
    expect(world.written.length).toBe(100);
    for (let second = 0; second < 60; second += 1) {
      await world.clock.advance(1_000);
      flood(world, 1_000);
    }
    expect(world.written.length).toBe(700);
  });

  test.each(["Object", "MalformedObject", "ObjectTooLarge"])(
    "about single objects (%s) leave room for summaries",
    (event) => {
      const world = start();
      flood(world, 1_000, { event });
      expect(world.written.length).toBe(51);
      flood(world, 1_000, { event: "Report" });
      expect(world.written.length).toBe(100);
    },
  );

  test("beyond the limit are counted, which is reported at once, each minute and when the limit ends", async () => {
    const world = start();
    flood(world, 150);
    const inForce = [
      { limit: "logLines", message: "more than 10 lines of the log in a second; the rest is counted" },
    ];
    expect([world.notes, world.limit.limited()]).toEqual([[{ kind: "log-limited", ...inForce[0] }], inForce]);
    for (let second = 0; second < 60; second += 1) {
      await world.clock.advance(1_000);
      flood(world, 11);
    }
    expect(world.notes.slice(1)).toEqual([
      { kind: "log-left-out", lines: 50 + 59, durationMs: 60_000, flows: false },
    ]);
    await world.clock.advance(4_999);
    expect(world.limit.limited()).toEqual(inForce);
    await world.clock.advance(5_000);
    expect(world.notes.slice(2)).toEqual([
      { kind: "log-left-out", lines: 1, durationMs: 5_000, flows: true },
    ]);
    expect(world.limit.limited()).toEqual([]);
    await world.clock.advance(100_000);
    flood(world, 1);
    expect([world.written.at(-1), world.notes.length]).toEqual([line(), 3]);
  });

  test.each([
    ["an error", { level: "error", event: "UnknownController" }, 10],
    ["a limit that is met", { event: "ClusterLimited" }, 10],
    ["what is well again", { level: "info", event: "Recovered" }, 10],
    ["anything else", { event: "WatchFailed" }, 0],
  ] satisfies [string, Partial<OutcomeLine>, number][])(
    "of kind %s are written this often during a flood",
    (_, kind, times) => {
      const world = start();
      flood(world, 10_000);
      flood(world, 15, kind);
      expect(world.written.filter(({ event }) => event === kind.event)).toHaveLength(times);
    },
  );

  test("are limited in bytes as well", () => {
    const world = start();
    flood(world, 1_000, { faults: Array.from({ length: 30 }, () => "x".repeat(250)) });
    const bytes = world.written.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
    expect(world.written.length).toBeGreaterThan(10);
    expect(bytes).toBeLessThan(110 * 1_024);
  });

  test("are written in a form that is safe for terminals", () => {
    const world = start();
    world.limit.take(line({ name: `\u001B[2J${"n".repeat(4_000_000)}` }));
    expect(world.written).toEqual([line({ name: expect.stringMatching(/^\\u\{001B\}\[2Jn{244}…$/) })]);
  });

  test("dropped before the cluster is removed are reported then, and nothing after that", async () => {
    const world = start(1);
    flood(world, 12);
    world.limit.close();
    expect(world.notes.slice(1)).toEqual([{ kind: "log-left-out", lines: 2, durationMs: 0, flows: true }]);
    await world.clock.advance(100_000);
    world.limit.close();
    expect(world.notes).toHaveLength(2);
  });
});

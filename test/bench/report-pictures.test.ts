import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ContenderName, type Measurement, type Row } from "#bench/measurement.ts";
import { HEIGHT, PLOT, WIDTH } from "#bench/report/chart.ts";
import { latencyPicture } from "#bench/report/latency-picture.ts";
import { picturesOf } from "#bench/report/pictures.ts";
import { coordinate, element, escapeXml } from "#bench/report/svg.ts";
import { throughputPicture } from "#bench/report/throughput-picture.ts";
import { AT_ONCE, givenMeasurement, givenResults, givenRow } from "#test/bench/report-given.ts";
import { SEED } from "#test/seed.ts";

const HUNDRED = givenRow("100-at-once", 100, { kind: "at-once" });
const WITHOUT_IDS = givenRow("500-at-once-without-ids", 500, { kind: "at-once" }, false);

describe("SVG", () => {
  test("attributes and texts are escaped", () => {
    expect(element("text", { x: 1.04, "data-of": `a"b` }, escapeXml("1 < 2 & 'so'"))).toBe(
      `<text x="1" data-of="a&#34;b">1 &#60; 2 &#38; &#39;so&#39;</text>`,
    );
  });

  test("a coordinate that is not a number is a fault, never bytes", () => {
    expect(() => coordinate(Number.NaN)).toThrow("NaN");
    expect(() => coordinate(Number.POSITIVE_INFINITY)).toThrow("Infinity");
  });
});

describe("the latencies of a row", () => {
  test("a line goes through the ranks of its contender's latencies", () => {
    const three = givenRow("3-at-once", 3, { kind: "at-once" });
    const picture = latencyPicture(three, [
      givenMeasurement("run", { row: three.id, latenciesMs: [10, 20], missingNodes: 1 }),
    ]);
    // From 10 to 20 ms over the whole width; each node is a third of the height, and the third never came up.
    const third = (PLOT.bottom - PLOT.top) / 3;
    const heights = [PLOT.bottom - third, PLOT.bottom - 2 * third];
    expect(curvesIn(picture)).toEqual([
      `M${PLOT.left} ${PLOT.bottom}H${PLOT.left}V${heights[0]}H${PLOT.right}V${heights[1]}`,
    ]);
    expect(textsIn(picture)).toContain("p50 10 ms, not all came up");
  });

  test("what took less than a millisecond is drawn at one: the axis has no 0", () => {
    const two = givenRow("2-there", 2, { kind: "there" });
    const picture = latencyPicture(two, [givenMeasurement("run", { row: two.id, latenciesMs: [0, 2] })]);
    const half = (PLOT.bottom + PLOT.top) / 2;
    expect(curvesIn(picture)).toEqual([
      `M${PLOT.left} ${PLOT.bottom}H${PLOT.left}V${half}H${PLOT.right}V${PLOT.top}`,
    ]);
    expect(textsIn(picture)).toEqual(expect.arrayContaining(["1 ms", "2 ms"]));
  });

  test("repetitions are drawn together, and p50 is the one of the table", () => {
    const picture = latencyPicture(HUNDRED, [
      givenMeasurement("run", { row: HUNDRED.id, up: 100, latencyMs: 100 }),
      givenMeasurement("run", { row: HUNDRED.id, up: 100, latencyMs: 300, repetition: 1 }),
    ]);
    expect(curvesIn(picture)).toHaveLength(1);
    expect(textsIn(picture)).toContain("p50 200 ms");
  });

  test("every contender has a line, a name beside it and one in the legend", () => {
    const picture = latencyPicture(
      HUNDRED,
      ContenderName.options.map((contender) => givenMeasurement(contender, { row: HUNDRED.id, up: 100 })),
    );
    expect(curvesIn(picture)).toHaveLength(6);
    expect(textsIn(picture).filter((text) => text === "serverless-ccm on Lambda")).toHaveLength(2);
    expect(new Set(strokesIn(picture))).toHaveLength(6);
  });

  test("there is no picture where no node came up, or of a row that was not measured", () => {
    const none = givenMeasurement("run", { up: 0, missingNodes: 1_000 });
    expect(latencyPicture(AT_ONCE, [none])).toBeUndefined();
    expect(latencyPicture(HUNDRED, [givenMeasurement("run")])).toBeUndefined();
  });

  test("a thousand nodes take no more bytes than a few hundred", () => {
    const spread = (count: number): number[] => Array.from({ length: count }, (_, index) => 100 + index);
    const sizeOf = (count: number): number =>
      latencyPicture(AT_ONCE, [givenMeasurement("run", { latenciesMs: spread(count) })])?.length ?? 0;
    expect(sizeOf(250)).toBeGreaterThan(2_000);
    expect(sizeOf(10_000)).toBeLessThan(sizeOf(250) * 1.2);
  });
});

describe("the throughput", () => {
  const rows = [HUNDRED, AT_ONCE, WITHOUT_IDS];
  const of = (row: Row, totalMs: number): Measurement =>
    givenMeasurement("run", { row: row.id, up: row.nodes, totalMs });

  test("is of nodes that come at once with provider IDs", () => {
    const picture = throughputPicture(
      givenResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), of(WITHOUT_IDS, 9_000)], rows),
    );
    // 100 nodes a second and 500: the ends of the axis.
    expect(picture?.match(/<polyline points="([^"]*)"/)?.[1]).toMatch(
      new RegExp(`^[0-9.]+,${PLOT.bottom} [0-9.]+,${PLOT.top}$`),
    );
    expect(textsIn(picture)).toEqual(expect.arrayContaining(["100", "1,000", "200", "serverless-ccm run"]));
  });

  test("has bars from the least to the most", () => {
    const slow = { ...of(AT_ONCE, 10_000), repetition: 1 };
    const picture = throughputPicture(givenResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), slow], rows));
    expect(picture).toMatch(new RegExp(`y1="${PLOT.bottom}" x2="[0-9.]+" y2="${PLOT.top}" stroke="#0072b2"`));
  });

  test("leaves out where no node came up in a repetition", () => {
    const none = givenMeasurement("stock-defaults", { up: 0, missingNodes: 1_000 });
    const some = givenMeasurement("stock-tuned", { row: HUNDRED.id, up: 100 });
    const failed = givenMeasurement("stock-tuned", { up: 0, missingNodes: 1_000 });
    const picture = throughputPicture(
      givenResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), none, some, failed], rows),
    );
    expect(textsIn(picture)).not.toContain("AWS CCM, defaults");
    expect(picture?.match(/<circle [^>]*r="4" fill="#e69f00"/g)).toHaveLength(2);
  });

  test("is not drawn of one number of nodes", () => {
    expect(
      throughputPicture(givenResults([of(AT_ONCE, 1_000), of(WITHOUT_IDS, 1_000)], rows)),
    ).toBeUndefined();
  });

  test("names that would meet are moved apart", () => {
    const alike = ContenderName.options.flatMap((contender) =>
      [HUNDRED, AT_ONCE].map((row) => ({ ...of(row, row.nodes), contender })),
    );
    const picture = throughputPicture(givenResults(alike, rows)) ?? "";
    const names = [...picture.matchAll(/<text x="664" y="([0-9.]+)">/g)].map((match) => Number(match[1]));
    const gaps = names
      .toSorted((a, b) => a - b)
      .map((height, index, all) => height - (all[index - 1] ?? -100));
    expect(names).toHaveLength(6);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(16);
    expect(Math.max(...names)).toBeLessThan(HEIGHT - 40);
  });
});

test("whatever is measured, all of every picture is inside it, and the same twice", () => {
  const latency = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e7, noNaN: true }));
  const measurement = fc.record({
    row: fc.constantFrom(HUNDRED.id, AT_ONCE.id, WITHOUT_IDS.id),
    contender: fc.constantFrom(...ContenderName.options),
    latenciesMs: fc.array(latency, { maxLength: 30 }),
    totalMs: fc.oneof(fc.constant(0), fc.double({ min: 0.1, max: 1e7, noNaN: true })),
    missingNodes: fc.nat({ max: 50 }),
  });
  fc.assert(
    fc.property(fc.array(measurement, { maxLength: 12 }), (measured) => {
      const results = givenResults(
        measured.map(({ contender, ...rest }) => givenMeasurement(contender, rest)),
        [HUNDRED, AT_ONCE, WITHOUT_IDS],
      );
      const pictures = picturesOf(results);
      expect(picturesOf(structuredClone(results))).toEqual(pictures);
      for (const { svg } of pictures) {
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        expect(outside(svg)).toEqual([]);
      }
    }),
    { seed: SEED },
  );
});

test("files are called after rows, and never lead out of their folder", () => {
  const odd = givenRow("../../A row", 1_000, { kind: "there" });
  const files = picturesOf(givenResults([givenMeasurement("run", { row: odd.id })], [odd])).map(
    ({ file }) => file,
  );
  expect(files).toEqual(["latency--a-row.svg"]);
});

/** The coordinates in a picture that are beyond its edges. */
function outside(svg: string): string[] {
  const across = [...svg.matchAll(/ (?:x|x1|x2|cx)="([^"]*)"|H([0-9.-]+)/g)].filter(beyond(WIDTH));
  const down = [...svg.matchAll(/ (?:y|y1|y2|cy)="([^"]*)"|V([0-9.-]+)/g)].filter(beyond(HEIGHT));
  return [...across, ...down].map(([match]) => match);
}

function beyond(limit: number): (match: RegExpExecArray) => boolean {
  return ([, attribute, step]) => {
    const value = Number(attribute ?? step);
    return !(value >= 0 && value <= limit);
  };
}

function curvesIn(svg: string | undefined): string[] {
  return [...(svg ?? "").matchAll(/<path d="(M[^"L]*)"/g)].map((match) => match[1] ?? "");
}

function strokesIn(svg: string | undefined): string[] {
  return [...(svg ?? "").matchAll(/<path d="M[^"]*" fill="none" stroke="([^"]*)"/g)].map(
    (match) => match[1] ?? "",
  );
}

function textsIn(svg: string | undefined): string[] {
  return [...(svg ?? "").matchAll(/<text[^>]*>([^<]*)</g)].map((match) => match[1] ?? "");
}

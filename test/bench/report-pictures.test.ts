import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ContenderName, type Measurement, type Row } from "#bench/measurement.ts";
import { HEIGHT, PLOT, WIDTH } from "#bench/report/chart.ts";
import { drawLatencies } from "#bench/report/latency-picture.ts";
import { drawPictures } from "#bench/report/pictures.ts";
import { escapeXml, formatCoordinate, formatElement } from "#bench/report/svg.ts";
import { drawThroughput } from "#bench/report/throughput-picture.ts";
import { AT_ONCE, buildMeasurement, buildResults, buildRow } from "#test/bench/report-builders.ts";
import { SEED } from "#test/seed.ts";

const HUNDRED = buildRow("100-at-once", 100, { kind: "at-once" });
const WITHOUT_IDS = buildRow("500-at-once-without-ids", 500, { kind: "at-once" }, false);

describe("SVG", () => {
  test("escapes attributes and texts", () => {
    expect(formatElement("text", { x: 1.04, "data-of": `a"b` }, escapeXml("1 < 2 & 'so'"))).toBe(
      `<text x="1" data-of="a&#34;b">1 &#60; 2 &#38; &#39;so&#39;</text>`,
    );
  });

  test("rejects a coordinate that is not a number", () => {
    expect(() => formatCoordinate(Number.NaN)).toThrow("NaN");
    expect(() => formatCoordinate(Number.POSITIVE_INFINITY)).toThrow("Infinity");
  });
});

describe("the latencies of a row", () => {
  test("a line connects the ranks of its contender's latencies", () => {
    const three = buildRow("3-at-once", 3, { kind: "at-once" });
    const picture = drawLatencies(three, [
      buildMeasurement("run", { row: three.id, latenciesMs: [10, 20], missingNodes: 1 }),
    ]);
    // From 10 to 20 ms over the whole width. Each node is a third of the height; the third never came up.
    const third = (PLOT.bottom - PLOT.top) / 3;
    const heights = [PLOT.bottom - third, PLOT.bottom - 2 * third];
    expect(curvesIn(picture)).toEqual([
      `M${PLOT.left} ${PLOT.bottom}H${PLOT.left}V${heights[0]}H${PLOT.right}V${heights[1]}`,
    ]);
    expect(textsIn(picture)).toContain("p50 10 ms, not all came up");
  });

  test("draws less than a millisecond as one, because the axis has no 0", () => {
    const two = buildRow("2-there", 2, { kind: "there" });
    const picture = drawLatencies(two, [buildMeasurement("run", { row: two.id, latenciesMs: [0, 2] })]);
    const half = (PLOT.bottom + PLOT.top) / 2;
    expect(curvesIn(picture)).toEqual([
      `M${PLOT.left} ${PLOT.bottom}H${PLOT.left}V${half}H${PLOT.right}V${PLOT.top}`,
    ]);
    expect(textsIn(picture)).toEqual(expect.arrayContaining(["1 ms", "2 ms"]));
  });

  test("draws repetitions together, with the table's p50", () => {
    const picture = drawLatencies(HUNDRED, [
      buildMeasurement("run", { row: HUNDRED.id, up: 100, latencyMs: 100 }),
      buildMeasurement("run", { row: HUNDRED.id, up: 100, latencyMs: 300, repetition: 1 }),
    ]);
    expect(curvesIn(picture)).toHaveLength(1);
    expect(textsIn(picture)).toContain("p50 200 ms");
  });

  test("every contender has a line, a label at it and one in the legend", () => {
    const picture = drawLatencies(
      HUNDRED,
      ContenderName.options.map((contender) => buildMeasurement(contender, { row: HUNDRED.id, up: 100 })),
    );
    expect(curvesIn(picture)).toHaveLength(ContenderName.options.length);
    expect(textsIn(picture).filter((text) => text === "serverless-ccm on Lambda")).toHaveLength(2);
    expect(new Set(strokesIn(picture))).toHaveLength(ContenderName.options.length);
  });

  test("draws no picture if no node came up or the row was not measured", () => {
    const none = buildMeasurement("run", { up: 0, missingNodes: 1_000 });
    expect(drawLatencies(AT_ONCE, [none])).toBeUndefined();
    expect(drawLatencies(HUNDRED, [buildMeasurement("run")])).toBeUndefined();
  });

  test("a thousand nodes need no more bytes than a few hundred", () => {
    const spread = (count: number): number[] => Array.from({ length: count }, (_, index) => 100 + index);
    const sizeOf = (count: number): number =>
      drawLatencies(AT_ONCE, [buildMeasurement("run", { latenciesMs: spread(count) })])?.length ?? 0;
    expect(sizeOf(250)).toBeGreaterThan(2_000);
    expect(sizeOf(10_000)).toBeLessThan(sizeOf(250) * 1.2);
  });
});

describe("the throughput", () => {
  const rows = [HUNDRED, AT_ONCE, WITHOUT_IDS];
  const of = (row: Row, totalMs: number): Measurement =>
    buildMeasurement("run", { row: row.id, up: row.nodes, totalMs });

  test("covers nodes that join at once with provider IDs", () => {
    const picture = drawThroughput(
      buildResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), of(WITHOUT_IDS, 9_000)], rows),
    );
    // 100 and 500 nodes a second: the ends of the axis.
    expect(picture?.match(/<polyline points="([^"]*)"/)?.[1]).toMatch(
      new RegExp(`^[0-9.]+,${PLOT.bottom} [0-9.]+,${PLOT.top}$`),
    );
    expect(textsIn(picture)).toEqual(expect.arrayContaining(["100", "1,000", "200", "serverless-ccm run"]));
  });

  test("has bars from the minimum to the maximum", () => {
    const slow = { ...of(AT_ONCE, 10_000), repetition: 1 };
    const picture = drawThroughput(buildResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), slow], rows));
    expect(picture).toMatch(new RegExp(`y1="${PLOT.bottom}" x2="[0-9.]+" y2="${PLOT.top}" stroke="#0072b2"`));
  });

  test("omits contenders with a repetition in which no node came up", () => {
    const none = buildMeasurement("stock-defaults", { up: 0, missingNodes: 1_000 });
    const some = buildMeasurement("stock-tuned", { row: HUNDRED.id, up: 100 });
    const failed = buildMeasurement("stock-tuned", { up: 0, missingNodes: 1_000 });
    const picture = drawThroughput(
      buildResults([of(HUNDRED, 1_000), of(AT_ONCE, 2_000), none, some, failed], rows),
    );
    expect(textsIn(picture)).not.toContain("AWS CCM, defaults");
    expect(picture?.match(/<circle [^>]*r="4" fill="#e69f00"/g)).toHaveLength(2);
  });

  test("is not drawn for only one number of nodes", () => {
    expect(drawThroughput(buildResults([of(AT_ONCE, 1_000), of(WITHOUT_IDS, 1_000)], rows))).toBeUndefined();
  });

  test("moves overlapping names apart", () => {
    const alike = ContenderName.options.flatMap((contender) =>
      [HUNDRED, AT_ONCE].map((row) => ({ ...of(row, row.nodes), contender })),
    );
    const picture = drawThroughput(buildResults(alike, rows)) ?? "";
    const names = [...picture.matchAll(/<text x="664" y="([0-9.]+)">/g)].map((match) => Number(match[1]));
    const gaps = names
      .toSorted((a, b) => a - b)
      .map((height, index, all) => height - (all[index - 1] ?? -100));
    expect(names).toHaveLength(ContenderName.options.length);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(16);
    expect(Math.max(...names)).toBeLessThan(HEIGHT - 40);
  });
});

test("for any measurements, every picture is complete and reproducible", () => {
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
      const results = buildResults(
        measured.map(({ contender, ...rest }) => buildMeasurement(contender, rest)),
        [HUNDRED, AT_ONCE, WITHOUT_IDS],
      );
      const pictures = drawPictures(results);
      expect(drawPictures(structuredClone(results))).toEqual(pictures);
      for (const { svg } of pictures) {
        expect(svg).not.toMatch(/NaN|Infinity|undefined/);
        expect(outside(svg)).toEqual([]);
      }
    }),
    { seed: SEED },
  );
});

test("files have the names of rows, and never leave their folder", () => {
  const odd = buildRow("../../A row", 1_000, { kind: "there" });
  const files = drawPictures(buildResults([buildMeasurement("run", { row: odd.id })], [odd])).map(
    ({ file }) => file,
  );
  expect(files).toEqual(["latency--a-row.svg"]);
});

/** Returns the coordinates outside of a picture's edges. */
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

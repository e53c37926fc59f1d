import { describe, expect, test } from "vitest";
import type { Results } from "#bench/measurement.ts";
import { renderMarkdown } from "#bench/report/markdown.ts";
import { escapeMarkdown, formatMarkdownTable } from "#bench/report/markdown-table.ts";
import { drawPictures } from "#bench/report/pictures.ts";
import { judgeTargets, type Target } from "#bench/report/targets.ts";
import { formatTargets } from "#bench/report/targets-table.ts";
import { AT_ONCE, buildMeasurement, buildResults, buildRow, MACHINE } from "#test/bench/report-builders.ts";

const WITHOUT_IDS = buildRow("500-at-once-without-ids", 500, { kind: "at-once" }, false);

test("writes a table with escaped cells", () => {
  expect(formatMarkdownTable(["name", "a|b"], [["x_y", "1 <\n2"]])).toBe(
    ["| name | a\\|b |", "| --- | ---: |", "| x\\_y | 1 &lt; 2 |"].join("\n"),
  );
});

test("keeps outside text as text", () => {
  expect(escapeMarkdown("[a](b) `c` *d* \\ <img>")).toBe("\\[a\\](b) \\`c\\` \\*d\\* \\\\ &lt;img>");
});

describe("the page", () => {
  const results = buildResults(
    [
      buildMeasurement("floor", { totalMs: 1_900 }),
      buildMeasurement("run", { totalMs: 2_000, nakedNodes: 1, loadAverage: 0.1234 }),
      buildMeasurement("run", {
        repetition: 1,
        totalMs: 2_400,
        latencyMs: 700,
        cloudCalls: 12,
        loadAverage: 1.5,
      }),
    ],
    [AT_ONCE, WITHOUT_IDS],
  );

  test("has a line for each contender of a row: the median, and the range if there is one", () => {
    expect(tableUnder(results, "## 1,000 nodes at once")).toEqual([
      "|  | total | nodes/s | p50 | p99 | naked nodes | missing nodes | node writes per node | EC2 calls | of these throttled | 429s | CPU | kube-apiserver's CPU | memory, MiB | repetitions |",
      `| ${["---", ...Array.from({ length: 14 }, () => "---:")].join(" | ")} |`,
      "| floor | 1.9 s | 526 | 500 ms | 500 ms | 0 | 0 | 2 | 10 | 0 | 0 | 1 s | 2 s | 100 | 1 |",
      "| serverless-ccm run | 2.2 s (2–2.4) | 458 (417–500) | 600 ms (500–700) | 600 ms (500–700) | 0.5 (0–1) | 0 | 2 | 11 (10–12) | 0 | 0 | 1 s | 2 s | 100 | 2 |",
    ]);
  });

  test.each([
    ["the machine", "| processor | Some CPU @ 2.20GHz, 2 cores |"],
    ["the date", "| date | 2026-03-04 05:06 UTC |"],
    ["the versions", "| versions | node 24.21.0, kube-apiserver 1.36.3 |"],
    ["the load", "| load average before a repetition | 0.12 to 1.5 on 2 cores |"],
    ["a target that is not met", "| total time ÷ that of the floor | 1.16 × | ≤ 1.15 × | not met |"],
    ["a fault in one repetition", "| naked nodes, at worst | 1 | none | not met |"],
    ["a target that is not measured", "| not measured: no measurement of run in 5000-at-once |"],
    ["how many targets are met", "3 met, 2 not met, 14 not measured."],
    ["a picture by a relative link", "](pictures/latency-1000-at-once.svg)"],
    [
      "who is absent from a row",
      "- 1,000 nodes at once: floor with Events; AWS CCM, defaults; AWS CCM, tuned; serverless-ccm on Lambda",
    ],
    ["a row without anything", "## 500 nodes at once, without provider IDs\n\nNot measured."],
    ["the notes, as text", "- AWS CCM \\*was\\* not built"],
  ])("says %s", (_, expected) => {
    expect(page(results, ["AWS CCM *was* not\nbuilt"])).toContain(expected);
  });

  test("links exactly the existing pictures", () => {
    const links = [...page(results).matchAll(/\]\(([^)]*\.svg)\)/g)].map((match) => match[1]);
    expect(links).toEqual(drawPictures(results).map(({ file }) => `pictures/${file}`));
  });

  test("can be written without measurements", () => {
    expect(page(buildResults([]))).toContain("0 met, 0 not met, 19 not measured");
    expect(page(buildResults([]))).toContain("| load average before a repetition | – |");
  });

  test("a machine's name cannot end a cell", () => {
    const odd = { ...results, machine: { ...MACHINE, cpu: "A|B" } };
    expect(page(odd)).toContain("| processor | A\\|B, 2 cores |");
  });
});

describe("a number with its limit", () => {
  const target: Target = {
    row: AT_ONCE.id,
    metric: "totalMs",
    taken: "median",
    wanted: { kind: "at-most", limit: 1_150 },
  };
  test.each([
    [1_149.9, "1.15 s", "met"],
    [1_150.4, "1.1504 s", "not met"],
    [1_150.000_01, "1.15000001 s", "not met"],
    [1_200, "1.2 s", "not met"],
  ])("formats %d ms with as many digits as necessary", (totalMs, written, outcome) => {
    const verdicts = judgeTargets(buildResults([buildMeasurement("run", { totalMs })]), "run", [target]);
    expect(formatTargets(verdicts, [AT_ONCE]).split("\n").at(-1)).toBe(
      `| 1,000 nodes at once | total time | ${written} | ≤ 1.15 s | ${outcome} |`,
    );
  });
});

function page(results: Results, notes: readonly string[] = []): string {
  return renderMarkdown(results, notes, drawPictures(results));
}

function tableUnder(results: Results, heading: string): string[] {
  const lines = page(results).split("\n");
  const after = lines.slice(lines.indexOf(heading) + 2);
  return after.slice(0, after.indexOf(""));
}

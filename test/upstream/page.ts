import type { Judgement } from "#test/upstream/judge-rows.ts";
import type { UpstreamSuite } from "#test/upstream/suite.ts";

/** The page whose table has the last run of each suite. */
export const PAGE = new URL("../../docs/reference/upstream.md", import.meta.url);

/** A suite's line in the page's table. */
export interface PageLine {
  readonly suite: string;
  /** The Go package and its version. */
  readonly source: string;
  readonly counts: readonly [passed: string, explained: string, notRunnable: string];
  readonly date: string;
  readonly command: string;
}

/** Builds the line of a suite that passed. */
export function buildPageLine(
  { name, source, version }: UpstreamSuite,
  { passed, explained, notRunnable }: Judgement,
  now: Date,
): PageLine {
  return {
    suite: name,
    source: `\`${source}\` ${version}`,
    counts: [`${passed}`, `${explained}`, `${notRunnable}`],
    date: now.toISOString().slice(0, "2026-01-31".length),
    command: `\`npm run test:upstream -- ${name}\``,
  };
}

const HEAD = [
  "| suite | tests | passed | explained | not runnable | last run | command |",
  "|---|---|---:|---:|---:|---|---|",
];

/** Parses the table of the page. */
export function parsePageLines(page: string): PageLine[] {
  const { table } = splitPage(page);
  return table.map((line) => {
    const [suite = "", source = "", passed = "", explained = "", notRunnable = "", date = "", command = ""] =
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
    return { suite, source, counts: [passed, explained, notRunnable], date, command };
  });
}

/** Returns the page with these lines in place of those of the same suites; `order` sorts the suites. */
export function replacePageLines(page: string, lines: readonly PageLine[], order: readonly string[]): string {
  const { above, below } = splitPage(page);
  const bySuite = new Map([...parsePageLines(page), ...lines].map((line) => [line.suite, line]));
  const table = order.flatMap((suite) => bySuite.get(suite) ?? []).map(formatLine);
  return [...above, ...HEAD, ...table, ...below].join("\n");
}

function formatLine({ suite, source, counts, date, command }: PageLine): string {
  return `| ${[suite, source, ...counts, date, command].join(" | ")} |`;
}

function splitPage(page: string): { above: string[]; table: string[]; below: string[] } {
  const lines = page.split("\n");
  const head = lines.indexOf(HEAD[0] ?? "");
  if (head === -1) throw new Error(`docs/reference/upstream.md has no table with the head ${HEAD[0]}`);
  const rest = lines.slice(head + HEAD.length);
  const end = rest.findIndex((line) => !line.startsWith("|"));
  const length = end === -1 ? rest.length : end;
  return { above: lines.slice(0, head), table: rest.slice(0, length), below: rest.slice(length) };
}

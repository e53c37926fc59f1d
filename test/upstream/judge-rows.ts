import type { TestRow } from "#test/upstream/suite.ts";

/** How the rows of a suite count. */
export interface Judgement {
  readonly passed: number;
  /** Differences that a row of the pages about differences explains. */
  readonly explained: number;
  readonly notRunnable: number;
  /** What is wrong, one line each; empty if the suite passes. */
  readonly problems: readonly string[];
}

/**
 * Compares stock and ours. A difference fails unless a documented one explains it, and an explanation fails if
 * nothing differs or no page has it. `documented` holds the first cells of the tables about differences.
 */
export function judgeRows(rows: readonly TestRow[], documented: ReadonlySet<string>): Judgement {
  const issues = rows.map((row) => findIssue(row, documented));
  const right = rows.filter((_, index) => issues[index] === undefined);
  const ran = right.filter(({ notRunnable }) => notRunnable === undefined);
  return {
    passed: ran.filter(({ stock, ours }) => stock === ours).length,
    explained: ran.filter(({ stock, ours }) => stock !== ours).length,
    notRunnable: right.length - ran.length,
    problems: [
      ...(rows.length === 0 ? ["no test ran"] : []),
      ...listRepeated(rows).map((test) => `${test}: has two rows`),
      ...rows.flatMap(({ test }, index) =>
        issues[index] === undefined ? [] : [`${test}: ${issues[index]}`],
      ),
    ],
  };
}

function findIssue(
  { stock, ours, explainedBy, notRunnable }: TestRow,
  documented: ReadonlySet<string>,
): string | undefined {
  if (notRunnable !== undefined)
    return explainedBy === undefined ? undefined : `cannot run: remove "${explainedBy}"`;
  if (stock === ours)
    return explainedBy === undefined ? undefined : `does not differ: remove "${explainedBy}"`;
  if (explainedBy === undefined) return `stock ${stock}, ours ${ours}: no documented difference explains it`;
  return documented.has(explainedBy) ? undefined : `no page about differences has the row "${explainedBy}"`;
}

function listRepeated(rows: readonly TestRow[]): string[] {
  const byTest = Map.groupBy(rows, ({ test }) => test);
  return [...byTest].flatMap(([test, same]) => (same.length > 1 ? [test] : []));
}

/** Returns the first cells of all tables in a page of Markdown. */
export function listFirstCells(page: string): string[] {
  return page.split("\n").flatMap((line) => {
    const [, cell] = /^\| *([^|]*?) *\|/.exec(line) ?? [];
    return cell === undefined || cell === "" || /^:?-+:?$/.test(cell) ? [] : [cell];
  });
}

/** Returns the rows as a Markdown table. */
export function formatRows(rows: readonly TestRow[]): string {
  return [
    "| test | stock controller | serverless-ccm | explained by |",
    "|---|---|---|---|",
    ...rows.map(({ test, stock, ours, explainedBy, notRunnable }) => {
      const reason = notRunnable === undefined ? (explainedBy ?? "") : `not runnable: ${notRunnable}`;
      return `| ${test} | ${stock} | ${ours} | ${reason} |`;
    }),
  ].join("\n");
}

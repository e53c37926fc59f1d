import { formatCanonicalJson } from "#core/hash.ts";
import type { TestRow } from "#test/upstream/suite.ts";
import type { RecordedCases, RecordedTest } from "#test/upstream/tables/recorded-cases.ts";

/** The tables of one controller of a module. */
export interface ControllerTables {
  /** As in `npm run test:upstream -- NAME`. */
  readonly name: string;
  /** What is recorded of its tests. */
  readonly tests: readonly RecordedTest[];
  /** By test name, the first cell of the row in docs/explanation/differences*.md that explains a difference. */
  readonly explanations: Readonly<Record<string, string>>;
  /** Plays each case. */
  play(recorded: RecordedCases): Promise<ComparedCase[]>;
}

/** One case of a table upstream: what it expects, and what serverless-ccm did. */
export interface ComparedCase {
  /** The test with the case, such as `TestNeedsUpdate/If the Ports are different`. */
  readonly test: string;
  readonly expected: unknown;
  readonly observed: unknown;
}

/**
 * Returns the rows of a suite. The stock controller has passed each case, and ours passes if what it did is
 * equal to what the case expects. `explanations` are by test name. Throws if one of them names no case.
 */
export function buildRows(
  cases: readonly ComparedCase[],
  explanations: Readonly<Record<string, string>>,
): TestRow[] {
  const named = nameApart(cases);
  const unused = Object.keys(explanations).filter((name) => !named.some(({ test }) => test === name));
  if (unused.length > 0) throw new Error(`explanations of no case: ${unused.join("; ")}`);
  return named.map(({ test, expected, observed }): TestRow => {
    const explainedBy = explanations[test];
    const isEqual = formatCanonicalJson(expected) === formatCanonicalJson(observed);
    return {
      test,
      stock: PASSED,
      ours: isEqual ? PASSED : "differs",
      ...(explainedBy === undefined ? {} : { explainedBy }),
      ...(isEqual ? {} : { detail: describeDifference(expected, observed) }),
    };
  });
}

/** Returns the explanation of several cases of a test, for `buildRows`. */
export function explainCases(test: string, by: string, cases: readonly string[]): Record<string, string> {
  return Object.fromEntries(cases.map((name) => [`${test}/${name}`, by]));
}

const PASSED = "passed";

/** Numbers the later ones of several cases with one name, as `go test` does. */
function nameApart(cases: readonly ComparedCase[]): ComparedCase[] {
  const seen = new Map<string, number>();
  return cases.map((each) => {
    const earlier = seen.get(each.test) ?? 0;
    seen.set(each.test, earlier + 1);
    return earlier === 0 ? each : { ...each, test: `${each.test}#${String(earlier).padStart(2, "0")}` };
  });
}

function describeDifference(expected: unknown, observed: unknown): string {
  return `  expected ${formatCanonicalJson(expected)}\n  observed ${formatCanonicalJson(observed)}`;
}

import { styleText } from "node:util";
import type { NamedFinding } from "#cli/doctor/check.ts";
import type { CheckResult } from "#core/check-result.ts";

/**
 * Formats a line for each finding, and below a problem its remedy. There are no colours if the output is no
 * terminal.
 */
export function formatFindings(findings: readonly NamedFinding[]): readonly string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length));
  return findings.flatMap(({ check, outcome, message, remedy }) => {
    const line = `${styleText(COLOURS[outcome], outcome.padEnd(OUTCOME_WIDTH))}${check.padEnd(width)}  ${message}`;
    return remedy === undefined ? [line] : [line, `${" ".repeat(OUTCOME_WIDTH)}→ ${remedy}`];
  });
}

/** `skipped` and `warning` have seven letters. */
const OUTCOME_WIDTH = 9;

const COLOURS = { ok: "green", warning: "yellow", failed: "red", skipped: "gray" } as const satisfies Record<
  CheckResult["outcome"],
  string
>;

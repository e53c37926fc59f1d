import type { StepResult } from "#test/upgrade/steps.ts";

const COLUMNS: readonly (readonly [string, (result: StepResult) => string])[] = [
  ["relay", ({ relay }) => relay],
  ["functions", ({ functions }) => functions],
  ["nodes that came up", ({ up }) => String(up)],
  ["naked", ({ naked }) => String(naked)],
  ["writes on these nodes", ({ writesOnThem }) => String(writesOnThem)],
  ["writes on older nodes", ({ writesOnOthers }) => String(writesOnOthers)],
  ["rejected writes", ({ refused }) => String(refused)],
  ["pending deletion completed", ({ carriedOn }) => carriedOn],
  ["invocations", ({ invocations }) => String(invocations)],
  ["failed invocations", ({ failed }) => String(failed)],
  ["rejected events", ({ refusedEvents }) => String(refusedEvents)],
  ["errors in the log", ({ errors }) => String(errors)],
];

/** Returns the steps as a Markdown table. */
export function formatSteps(results: readonly StepResult[]): string {
  const lines = [COLUMNS.map(([title]) => title), COLUMNS.map(() => "---")];
  for (const result of results) lines.push(COLUMNS.map(([, cell]) => cell(result)));
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Returns the problems, one line each. */
export function checkSteps(results: readonly StepResult[], nodes: number): string[] {
  return results.flatMap((result) => {
    const { up, naked, writesOnThem, writesOnOthers, refused, carriedOn } = result;
    const { invocations, failed, refusedEvents, errors } = result;
    const expected: readonly (readonly [string, boolean])[] = [
      [`${up} of ${nodes} nodes came up`, up === nodes],
      [`${naked} nodes were naked`, naked === 0],
      [`${writesOnThem} writes for ${nodes} nodes`, writesOnThem === 2 * nodes || result.shared === true],
      [`${writesOnOthers} writes on older nodes`, writesOnOthers === 0],
      [`${refused} writes were rejected`, refused === 0 || result.shared === true],
      [`the pending deletion was completed: ${carriedOn}`, carriedOn === "yes" || carriedOn === "–"],
      ["nothing was invoked", invocations > 0],
      [`${failed} invocations failed`, failed === 0],
      // A cluster that leaves a stage is unknown to its functions while its relay still sends its pending
      // events.
      [`${refusedEvents} events were rejected`, refusedEvents === 0 || result.shared === true],
      [`${errors} errors in the log`, errors === 0],
    ];
    const where = `relay ${result.relay}, functions ${result.functions}`;
    return expected.filter(([, holds]) => !holds).map(([what]) => `${where}: ${what}`);
  });
}

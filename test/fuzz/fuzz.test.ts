import { beforeAll, describe, expect, it } from "vitest";
import type { Controller } from "#core/controller.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import { FUZZED_CONTROLLERS } from "#test/fuzz/fuzzed-controllers.ts";
import { ONCE_BROKEN } from "#test/fuzz/once-broken.ts";
import { PLANTED_DEFECTS } from "#test/fuzz/planted-defects.ts";
import { type FuzzResult, fuzz, runSteps } from "#test/fuzz/run-steps.ts";
import { formatStep } from "#test/fuzz/steps.ts";
import { SEED } from "#test/seed.ts";

/** Seeds that have found a defect stay, each with as many steps as it needed. */
const RUNS = [
  { seed: SEED, steps: 6_000 },
  { seed: 1_342_176_685, steps: 4_500 },
];
/** A fuzzer that needs more steps to find a defect is too weak for it. */
const STEPS_FOR_A_DEFECT = 5_000;

let controllers: readonly Controller[];
beforeAll(async () => {
  controllers = await loadControllers(FUZZED_CONTROLLERS);
});

describe("random steps of nodes, cloud and faults", () => {
  it.each(RUNS)("break no invariant in $steps steps (seed $seed)", { timeout: 1_200_000 }, async (run) => {
    const result = await fuzz({ controllers, ...run });
    if (result.kind === "failed") expect.fail(told(result, run.steps));
    expect(result.steps).toBe(run.steps);
  });
});

describe("a defect found earlier stays fixed", () => {
  it.each(ONCE_BROKEN)("$title", async ({ steps, chance = 1 }) => {
    await expect(runSteps({ controllers }, steps, chance)).resolves.toMatchObject({});
  });
});

describe("finds a planted defect", () => {
  it.each(PLANTED_DEFECTS)("$title", { timeout: 1_200_000 }, async (planted) => {
    const { seed = 1 } = planted;
    const result = await fuzz({ controllers, planted, steps: STEPS_FOR_A_DEFECT, seed, shrinkMs: 0 });
    expect(result.kind === "failed" ? result.broken : "nothing").toMatch(planted.found);
  });
});

function told({ seed, found, broken, steps }: Extract<FuzzResult, { kind: "failed" }>, of: number): string {
  return [...steps.map(formatStep), broken, found, `npm run test:fuzz -- --steps ${of} --seed ${seed}`].join(
    "\n",
  );
}

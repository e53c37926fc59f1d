import { beforeAll, describe, expect, it } from "vitest";
import type { Controller } from "#core/controller.ts";
import { CONTROLLER_NAMES, loadControllers } from "#functions/parts/controllers.ts";
import { ONCE_BROKEN } from "#test/fuzz/once-broken.ts";
import { PLANTED_DEFECTS } from "#test/fuzz/planted-defects.ts";
import { type FuzzResult, fuzz, runSteps } from "#test/fuzz/run-steps.ts";
import { stepLine } from "#test/fuzz/steps.ts";

/** Those about nodes; the csr-approver has no part in this. */
const NAMES = CONTROLLER_NAMES.filter((name) => name !== "csr-approver");
const STEPS = 10_000;
/** Where a defect is not found within so many, the fuzzer is too weak for it. */
const STEPS_FOR_A_DEFECT = 5_000;

let controllers: readonly Controller[];
beforeAll(async () => {
  controllers = await loadControllers(NAMES);
});

describe("random steps of nodes, cloud and faults", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  it(`break nothing in ${STEPS} of them (seed ${seed})`, { timeout: 1_200_000 }, async () => {
    const result = await fuzz({ controllers, steps: STEPS, seed });
    if (result.kind === "failed") expect.fail(told(result));
    expect(result.steps).toBe(STEPS);
  });
});

describe("what was broken once is not", () => {
  it.each(ONCE_BROKEN)("$title", async ({ steps }) => {
    await expect(runSteps({ controllers }, steps, 1)).resolves.toMatchObject({});
  });
});

describe("a planted defect is found", () => {
  it.each(PLANTED_DEFECTS)("$title", { timeout: 1_200_000 }, async (planted) => {
    const result = await fuzz({ controllers, planted, steps: STEPS_FOR_A_DEFECT, seed: 1, shrinkMs: 0 });
    expect(result.kind === "failed" ? result.broken : "nothing").toMatch(planted.found);
  });
});

function told({ seed, broken, steps }: Extract<FuzzResult, { kind: "failed" }>): string {
  return [...steps.map(stepLine), broken, `npm run test:fuzz -- --steps ${STEPS} --seed ${seed}`].join("\n");
}

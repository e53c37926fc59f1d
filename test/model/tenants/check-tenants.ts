import fc from "fast-check";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createTenantHistoryArbitrary, describeTenantStep, type TenantStep } from "./history.ts";
import { runTenants, type TenantOutcome } from "./run-tenants.ts";
import type { TenantScenario } from "./tenant-scenarios.ts";

/** Steps of each history. */
export const TENANT_STEPS = 200;

/** A history in which the hostile tenant reached a resource of the victim. */
export interface TenantFailure {
  readonly scenario: string;
  readonly seed: number;
  /** The fewest steps: none can be removed. */
  readonly steps: readonly TenantStep[];
  readonly outcome: TenantOutcome;
}

/**
 * Runs one history for each seed, and shortens the first one that breaks a property. `maxRuns` limits the
 * number of shorter histories.
 */
export async function checkTenants(
  scenario: TenantScenario,
  seeds: Iterable<number>,
  { maxRuns = 400 }: { readonly maxRuns?: number } = {},
): Promise<TenantFailure | undefined> {
  for (const seed of seeds) {
    const [steps] = fc.sample(createTenantHistoryArbitrary(TENANT_STEPS), { seed, numRuns: 1 });
    if (steps === undefined) throw new Error(`the seed ${seed} makes no history`);
    const outcome = await outcomeOf(scenario, steps);
    if (outcome.faults.length === 0) continue;
    const fewest = await shrink(scenario, steps, { kind: kindOf(outcome), maxRuns });
    return { scenario: scenario.name, seed, steps: fewest, outcome: await outcomeOf(scenario, fewest) };
  }
  return undefined;
}

/** Formats a failure: the seed, the shrunk history, the requests, the problems, and how to run it again. */
export function describeTenantFailure({ scenario, seed, steps, outcome }: TenantFailure): string {
  return [
    `${scenario}: in the history of seed ${seed} the hostile tenant reaches the victim. The fewest steps that do:`,
    ...steps.map((step) => `  ${describeTenantStep(step)}`),
    "What was done:",
    ...outcome.log.slice(-60).map((line) => `  ${line}`),
    "What is wrong:",
    ...outcome.faults.map((fault) => `  ${fault}`),
    `Again: npm run test:model -- --tenants --cloud ${scenario} --seed ${seed}`,
  ].join("\n");
}

async function outcomeOf(scenario: TenantScenario, steps: readonly TenantStep[]): Promise<TenantOutcome> {
  try {
    return await runTenants(scenario, steps);
  } catch (error) {
    return { faults: [`threw: ${getErrorMessage(error)}`], log: [], hostileChanges: 0, victimChanges: 0 };
  }
}

/** Returns the first fault without its subject: a shorter history must fail in the same way. */
function kindOf({ faults: [first] }: TenantOutcome): string | undefined {
  return first?.replace(/: .*/s, "").replaceAll(/\d+/g, "N");
}

/** Removes ever smaller parts of the history while the rest still fails. */
async function shrink(
  scenario: TenantScenario,
  steps: readonly TenantStep[],
  { kind, maxRuns }: { readonly kind: string | undefined; readonly maxRuns: number },
): Promise<readonly TenantStep[]> {
  let fewest = steps;
  let runs = 0;
  for (let size = Math.ceil(steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < fewest.length && runs < maxRuns; ) {
      const rest = fewest.toSpliced(from, size);
      runs += 1;
      if (kindOf(await outcomeOf(scenario, rest)) === kind) fewest = rest;
      else from += size;
    }
  }
  return fewest;
}

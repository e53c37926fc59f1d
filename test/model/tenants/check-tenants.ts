import fc from "fast-check";
import { messageOf } from "#core/message-of.ts";
import { anyTenantHistory, describeTenantStep, type TenantStep } from "./history.ts";
import { runTenants, type TenantOutcome } from "./run-tenants.ts";
import type { TenantScenario } from "./tenant-scenarios.ts";

/** Steps of each history. */
export const TENANT_STEPS = 200;

/** A history in which the hostile tenant reached something of the victim's. */
export interface TenantFailure {
  readonly scenario: string;
  readonly seed: number;
  /** No step can be left out. */
  readonly steps: readonly TenantStep[];
  readonly outcome: TenantOutcome;
}

/** Runs one history for each seed, and makes the first one shorter that breaks a property; `maxRuns` bounds how many shorter ones are tried. */
export async function checkTenants(
  scenario: TenantScenario,
  seeds: Iterable<number>,
  { maxRuns = 400 }: { readonly maxRuns?: number } = {},
): Promise<TenantFailure | undefined> {
  for (const seed of seeds) {
    const [steps] = fc.sample(anyTenantHistory(TENANT_STEPS), { seed, numRuns: 1 });
    if (steps === undefined) throw new Error(`the seed ${seed} makes no history`);
    const outcome = await outcomeOf(scenario, steps);
    if (outcome.faults.length === 0) continue;
    const fewest = await shrink(scenario, steps, { kind: kindOf(outcome), maxRuns });
    return { scenario: scenario.name, seed, steps: fewest, outcome: await outcomeOf(scenario, fewest) };
  }
  return undefined;
}

/** A failure as it is printed: the seed, the shrunk history, what was done, what is wrong, and how it is run again. */
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
    return { faults: [`threw: ${messageOf(error)}`], log: [], hostileChanges: 0, victimChanges: 0 };
  }
}

/** The first fault without what it is about: a shorter history has to fail in the same way. */
function kindOf({ faults: [first] }: TenantOutcome): string | undefined {
  return first?.replace(/: .*/s, "").replaceAll(/\d+/g, "N");
}

/** Leaves out ever smaller parts of the history for as long as the rest still fails. */
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

import fc from "fast-check";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { createHistoryArbitrary, describeStep, type HistoryOptions, type Step } from "./history.ts";
import { type Outcome, runHistory } from "./run-history.ts";
import type { Scenario } from "./scenario.ts";

/** A history that breaks a property. */
export interface Failure {
  readonly scenario: string;
  readonly seed: number;
  /** The fewest and simplest steps that were found to break a property. */
  readonly steps: readonly Step[];
  readonly outcome: Outcome;
}

export interface CheckOptions extends HistoryOptions {
  readonly seeds: Iterable<number>;
  /**
   * Milliseconds after which shortening stops. A history that is running then continues for a while in the
   * background.
   */
  readonly shrinkMs?: number;
  readonly onSeed?: (seed: number) => void;
}

/** Runs one history for each seed, and shortens the first one that breaks a property. */
export async function checkSeeds(scenario: Scenario, options: CheckOptions): Promise<Failure | undefined> {
  const { seeds, shrinkMs = 60_000, onSeed } = options;
  const history = createHistoryArbitrary(scenario.weights, options);
  for (const seed of seeds) {
    const [steps] = fc.sample(history, { seed, numRuns: 1 });
    if (steps === undefined) throw new Error(`the seed ${seed} makes no history`);
    const outcome = await outcomeOf(scenario, steps);
    onSeed?.(seed);
    if (outcome.faults.length === 0) continue;
    const fewer = shrinkMs === 0 ? steps : await shrink(scenario, options, seed, shrinkMs);
    return { scenario: scenario.name, seed, steps: fewer, outcome: await outcomeOf(scenario, fewer) };
  }
  return undefined;
}

/**
 * Formats a failure: the seed, the shrunk history, the actors' requests, the problems at rest, and how to run
 * it again.
 */
export function describeFailure(
  { scenario, seed, steps, outcome }: Failure,
  flags: readonly string[] = [],
): string {
  return [
    `${scenario}: the history of seed ${seed} breaks a property. The fewest steps that do:`,
    ...steps.map((step) => `  ${describeStep(step)}`),
    "What the actors did:",
    ...outcome.log.map((line) => `  ${line}`),
    "What is wrong:",
    ...outcome.faults.map((fault) => `  ${fault}`),
    `Again: npm run test:model -- ${["--cloud", scenario, "--seed", seed, ...flags].join(" ")}`,
  ].join("\n");
}

/** Any error in a history is a fault of that history and does not end the run. */
async function outcomeOf(scenario: Scenario, steps: readonly Step[]): Promise<Outcome> {
  try {
    return await runHistory(scenario, steps);
  } catch (error) {
    return { faults: [`threw: ${getErrorMessage(error)}`], log: [], invocations: 0, cloudChanges: 0 };
  }
}

/** fast-check shrinks the history: it removes steps and simplifies the rest. */
async function shrink(
  scenario: Scenario,
  options: HistoryOptions,
  seed: number,
  limitMs: number,
): Promise<readonly Step[]> {
  const property = fc.asyncProperty(createHistoryArbitrary(scenario.weights, options), async (steps) => {
    const { faults } = await outcomeOf(scenario, steps);
    if (faults.length > 0) throw new Error(faults.join("\n"));
  });
  const limit = Number.isFinite(limitMs) ? { interruptAfterTimeLimit: limitMs } : {};
  const { counterexample } = await fc.check(property, { seed, numRuns: 1, ...limit });
  const [steps] = counterexample ?? [];
  if (steps === undefined)
    throw new Error(`the history of seed ${seed} fails once and not again: it is not deterministic`);
  return steps;
}

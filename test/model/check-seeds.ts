import fc from "fast-check";
import { messageOf } from "#core/message-of.ts";
import { anyHistory, describeStep, type HistoryOptions, type Step } from "./history.ts";
import { type Outcome, runHistory } from "./run-history.ts";
import type { Scenario } from "./scenario.ts";

/** A history that breaks a property. */
export interface Failure {
  readonly scenario: string;
  readonly seed: number;
  /** The fewest and simplest steps that were found to break one. */
  readonly steps: readonly Step[];
  readonly outcome: Outcome;
}

export interface CheckOptions extends HistoryOptions {
  readonly seeds: Iterable<number>;
  /** Milliseconds after which a history is not made shorter any more; the one that runs then goes on for a while beside what comes next. */
  readonly shrinkMs?: number;
  readonly onSeed?: (seed: number) => void;
}

/** Runs one history for each seed, and makes the first one shorter that breaks a property. */
export async function checkSeeds(scenario: Scenario, options: CheckOptions): Promise<Failure | undefined> {
  const { seeds, shrinkMs = 60_000, onSeed } = options;
  const history = anyHistory(scenario.weights, options);
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

/** A failure as it is printed: the seed, the shrunk history, what the actors did, what is wrong at rest, and how it is run again. */
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

/** Whatever goes wrong in a history is a fault of it, not an end of the run. */
async function outcomeOf(scenario: Scenario, steps: readonly Step[]): Promise<Outcome> {
  try {
    return await runHistory(scenario, steps);
  } catch (error) {
    return { faults: [`threw: ${messageOf(error)}`], log: [], invocations: 0, cloudChanges: 0 };
  }
}

/** The shrinking is fast-check's own: it leaves out steps and makes those that are left simpler. */
async function shrink(
  scenario: Scenario,
  options: HistoryOptions,
  seed: number,
  limitMs: number,
): Promise<readonly Step[]> {
  const property = fc.asyncProperty(anyHistory(scenario.weights, options), async (steps) => {
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

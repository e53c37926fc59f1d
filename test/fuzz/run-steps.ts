import fc from "fast-check";
import type { Controller } from "#core/controller.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findFewestSteps } from "#test/fuzz/fewest-steps.ts";
import { performStep } from "#test/fuzz/perform-step.ts";
import type { PlantedDefect } from "#test/fuzz/planted-defects.ts";
import { checkAtRest } from "#test/fuzz/quiescence.ts";
import { anyStep, formatStep, SLOTS, type Step } from "#test/fuzz/steps.ts";
import { createWorld } from "#test/fuzz/world.ts";

/** Steps of one run, from an empty world to its rest. */
export const STEPS_PER_RUN = 500;

/** The result of a fuzz run. */
export type FuzzResult =
  | { readonly kind: "passed"; readonly steps: number; readonly invocations: number }
  | {
      readonly kind: "failed";
      readonly seed: number;
      /** The random seed of the world in which it broke. */
      readonly chance: number;
      /** The invariant broken by all steps of the run. */
      readonly found: string;
      /** The invariant broken by the fewest steps; it may be another one. */
      readonly broken: string;
      readonly steps: readonly Step[];
    };

export interface FuzzOptions {
  readonly planted?: PlantedDefect | undefined;
  readonly controllers: readonly Controller[];
  readonly steps: number;
  readonly seed: number;
  /** Milliseconds for the search for fewer steps. */
  readonly shrinkMs?: number;
  readonly onRun?: (steps: number) => void;
}

/** Performs this many random steps in separate runs, and stops at the first broken invariant. */
export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { steps, seed } = options;
  let taken = 0;
  let invocations = 0;
  const list = fc.array(anyStep, { minLength: STEPS_PER_RUN, maxLength: STEPS_PER_RUN, size: "max" });
  const details = await fc.check(
    fc.asyncProperty(list, fc.nat(), async (run, chance) => {
      invocations += (await runSteps(options, run, chance)).invocations;
      taken += run.length;
      options.onRun?.(taken);
    }),
    // The search for fewer steps runs below, with its own time limit.
    { seed, numRuns: Math.max(1, Math.ceil(steps / STEPS_PER_RUN)), endOnFailure: true },
  );
  if (!details.failed) return { kind: "passed", steps: taken, invocations };
  const [run = [], chance = 0] = details.counterexample ?? [];
  const found = getErrorMessage(details.errorInstance);
  let broken = found;
  const fails = async (fewer: readonly Step[]): Promise<boolean> => {
    const said = await runSteps(options, fewer, chance).then(() => undefined, getErrorMessage);
    broken = said ?? broken;
    return said !== undefined;
  };
  const fewest = await findFewestSteps(run, fails, options.shrinkMs ?? 60_000);
  return { kind: "failed", seed, chance, found, broken, steps: fewest };
}

/** Performs these steps in a new world; rejects with the broken invariant and the step before it. */
export async function runSteps(
  { controllers, planted }: Pick<FuzzOptions, "controllers" | "planted">,
  steps: readonly Step[],
  chance: number,
): Promise<{ readonly invocations: number }> {
  const world = await createWorld({
    controllers: controllers.map((controller) => planted?.controller?.(controller) ?? controller),
    places: SLOTS,
    random: seededRandom(chance),
    invoker: planted?.invoker,
    user: planted?.user,
  });
  try {
    await world.clock.advance(1_000);
    for (const [index, step] of steps.entries()) {
      await performStep(world, step);
      await world.clock.advance(1);
      if (world.violations.length > 0)
        throw new Error(`after step ${index + 1}, ${formatStep(step)}: ${world.violations.join("; ")}`);
    }
    const faults = [...(await checkAtRest(world)), ...world.violations];
    if (faults.length > 0) throw new Error(faults.join("; "));
    return { invocations: world.invocations.count() };
  } finally {
    await world.close();
  }
}

/** Mulberry32: small, and equal on every platform. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

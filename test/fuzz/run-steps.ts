import fc from "fast-check";
import type { Controller } from "#core/controller.ts";
import { messageOf } from "#core/message-of.ts";
import { fewestSteps } from "#test/fuzz/fewest-steps.ts";
import { performStep } from "#test/fuzz/perform-step.ts";
import type { PlantedDefect } from "#test/fuzz/planted-defects.ts";
import { faultsAtRest } from "#test/fuzz/quiescence.ts";
import { anyStep, SLOTS, type Step, stepLine } from "#test/fuzz/steps.ts";
import { createWorld } from "#test/fuzz/world.ts";

/** How many steps are taken from an empty world to its rest. */
export const STEPS_PER_RUN = 500;

/** What a fuzz run came to. */
export type FuzzResult =
  | { readonly kind: "passed"; readonly steps: number; readonly invocations: number }
  | {
      readonly kind: "failed";
      readonly seed: number;
      /** Of the world in which it broke. */
      readonly chance: number;
      /** By all steps of the run … */
      readonly found: string;
      /** … and by the fewest that still break something, which may be something else. */
      readonly broken: string;
      readonly steps: readonly Step[];
    };

export interface FuzzOptions {
  readonly planted?: PlantedDefect | undefined;
  readonly controllers: readonly Controller[];
  readonly steps: number;
  readonly seed: number;
  /** Milliseconds that looking for fewer steps may take. */
  readonly shrinkMs?: number;
  readonly onRun?: (steps: number) => void;
}

/** Takes so many random steps, in runs of their own, and stops at the first that breaks what always holds. */
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
    // Fewer steps are looked for below, within a time of their own.
    { seed, numRuns: Math.max(1, Math.ceil(steps / STEPS_PER_RUN)), endOnFailure: true },
  );
  if (!details.failed) return { kind: "passed", steps: taken, invocations };
  const [run = [], chance = 0] = details.counterexample ?? [];
  const found = messageOf(details.errorInstance);
  let broken = found;
  const fails = async (fewer: readonly Step[]): Promise<boolean> => {
    const said = await runSteps(options, fewer, chance).then(() => undefined, messageOf);
    broken = said ?? broken;
    return said !== undefined;
  };
  const fewest = await fewestSteps(run, fails, options.shrinkMs ?? 60_000);
  return { kind: "failed", seed, chance, found, broken, steps: fewest };
}

/** Takes these steps in a world of their own; rejects with what was broken, and after which step. */
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
        throw new Error(`after step ${index + 1}, ${stepLine(step)}: ${world.violations.join("; ")}`);
    }
    const faults = [...(await faultsAtRest(world)), ...world.violations];
    if (faults.length > 0) throw new Error(faults.join("; "));
    return { invocations: world.invocations.count() };
  } finally {
    await world.close();
  }
}

/** Mulberry32: small, and the same everywhere. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

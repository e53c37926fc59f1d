import type { Build } from "#test/upgrade/builds.ts";
import { playJoining, type StepResult } from "#test/upgrade/steps.ts";
import {
  isFollowed,
  type StageOfFunctions,
  startVersionFunctions,
  startVersionRelay,
} from "#test/upgrade/versions.ts";
import { type World, writeClusters } from "#test/upgrade/world.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** Two stages, running or not yet started, and the clusters of the first. */
export interface CanaryOptions {
  readonly stage: StageOfFunctions;
  readonly canary: StageOfFunctions;
  /** The first one moves to the canary and back. */
  readonly worlds: readonly [World, World];
  readonly today: Build;
  /** The version of the first stage. */
  readonly before: Build;
  readonly nodes: number;
}

/**
 * Moves one cluster to a stage of the new version and back, while its nodes join; the other cluster stays.
 * Each time the cluster is in the files of both stages for a while: operators remove it from the old
 * stage only when the new one follows it.
 */
export async function playCanary(options: CanaryOptions): Promise<StepResult[]> {
  const { stage, canary, worlds, today, before, nodes } = options;
  const [moving, staying] = worlds;
  const names = { stage: `${before.name}, then ${today.name}`, back: `${today.name}, then ${before.name}` };
  await writeClusters(stage.clustersFile, moving, staying);
  await waitUntilTrue("the first stage to follow both", () => isFollowed(stage, staying.entry.name), 60_000);
  await writeClusters(canary.clustersFile, moving);
  const functions = await startVersionFunctions(today, canary);
  const relay = await startVersionRelay(today, canary);
  try {
    const over = await playJoining(
      [stage, canary],
      moving,
      { relay: names.stage, functions: names.stage },
      nodes,
      async () => {
        await writeClusters(stage.clustersFile, staying);
        await waitUntilTrue(
          "the first stage to leave it",
          async () => !(await isFollowed(stage, moving.entry.name)),
          60_000,
        );
      },
    );
    const alone = await playJoining([canary], moving, { relay: today.name, functions: today.name }, nodes);
    const beside = await playJoining([stage], staying, { relay: before.name, functions: before.name }, nodes);
    const back = await playJoining(
      [stage, canary],
      moving,
      { relay: names.back, functions: names.back },
      nodes,
      async () => {
        await writeClusters(stage.clustersFile, moving, staying);
        await waitUntilTrue(
          "the first stage to follow it",
          () => isFollowed(stage, moving.entry.name),
          60_000,
        );
        await relay.stop();
      },
    );
    return [{ ...over, shared: true }, alone, beside, { ...back, shared: true }];
  } finally {
    await relay.stop();
    await functions.stop();
  }
}

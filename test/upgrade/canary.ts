import { untilTrue } from "#test/until-true.ts";
import type { Build } from "#test/upgrade/builds.ts";
import { playJoining, type StepResult } from "#test/upgrade/steps.ts";
import { isFollowed, type StageOfFunctions, startFunctionsOf, startRelayOf } from "#test/upgrade/versions.ts";
import { type World, writeClusters } from "#test/upgrade/world.ts";

/** Two stages that run already or are to, and the clusters of the first. */
export interface CanaryOptions {
  readonly stage: StageOfFunctions;
  readonly canary: StageOfFunctions;
  /** The first one goes over to the canary, and back. */
  readonly worlds: readonly [World, World];
  readonly today: Build;
  /** What the first stage runs. */
  readonly before: Build;
  readonly nodes: number;
}

/**
 * One cluster goes over to a stage of the new version, while its nodes join, and back; the other stays where it is. Each time it is in the
 * files of both stages for a while, as whoever moves it leaves it in the old one until the new one follows it.
 */
export async function playCanary(options: CanaryOptions): Promise<StepResult[]> {
  const { stage, canary, worlds, today, before, nodes } = options;
  const [moving, staying] = worlds;
  const names = { stage: `${before.name}, then ${today.name}`, back: `${today.name}, then ${before.name}` };
  await writeClusters(stage.clustersFile, moving, staying);
  await untilTrue("the first stage to follow both", () => isFollowed(stage, staying.entry.name), 60_000);
  await writeClusters(canary.clustersFile, moving);
  const functions = await startFunctionsOf(today, canary);
  const relay = await startRelayOf(today, canary);
  try {
    const over = await playJoining(
      [stage, canary],
      moving,
      { relay: names.stage, functions: names.stage },
      nodes,
      async () => {
        await writeClusters(stage.clustersFile, staying);
        await untilTrue(
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
        await untilTrue("the first stage to follow it", () => isFollowed(stage, moving.entry.name), 60_000);
        await relay.stop();
      },
    );
    return [{ ...over, shared: true }, alone, beside, { ...back, shared: true }];
  } finally {
    await relay.stop();
    await functions.stop();
  }
}

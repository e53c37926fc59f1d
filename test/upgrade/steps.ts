import type { DeletionState } from "#core/node-lifecycle/state.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import type { Build } from "#test/upgrade/builds.ts";
import {
  errorsOfStage,
  exchangesOfStage,
  type Running,
  type StageOfFunctions,
  startFunctionsOf,
  startRelayOf,
} from "#test/upgrade/versions.ts";
import { untilMissed, type World } from "#test/upgrade/world.ts";

/** Who runs what at the moment. */
export interface Versions {
  relay: Running | undefined;
  functions: Running | undefined;
}

/** What became of one step; a row of the table. */
export interface StepResult {
  readonly relay: string;
  readonly functions: string;
  /** Of those that joined: all are up, or it would have failed. */
  readonly up: number;
  readonly naked: number;
  readonly writesOnThem: number;
  /** On nodes that others had initialized: none is needed. */
  readonly writesOnOthers: number;
  readonly refused: number;
  /** A deletion that the versions before had begun was brought to its end, from the moment that they wrote down. */
  readonly carriedOn: string;
  readonly invocations: number;
  readonly failed: number;
  /** Events that a function refused whole. */
  readonly refusedEvents: number;
  readonly errors: number;
  /** Two stages had the cluster for a while: each may have written first. */
  readonly shared?: boolean;
  /** What was written down of the deletion that had begun. */
  readonly state?: DeletionState;
}

/**
 * One step: a deletion begins under the versions there are, these are changed to the given ones, the deletion comes to its end, another
 * machine ends, and nodes join.
 */
export async function playStep(
  stage: StageOfFunctions,
  world: World,
  versions: Versions,
  next: { readonly relay: Build; readonly functions: Build },
  nodes: number,
): Promise<StepResult> {
  const [lost, ended] = present(world);
  const begun = lost === undefined ? undefined : { node: lost, since: await begin(world, lost) };
  const state = await world.state();
  const names = { relay: next.relay.name, functions: next.functions.name };
  let carriedOn = "–";
  const result = await playJoining([stage], world, names, nodes, undefined, async () => {
    await change(stage, versions, next);
    if (begun !== undefined) carriedOn = await carryOn(world, begun);
    if (ended !== undefined) {
      world.terminate(ended);
      await world.untilDeleted(ended);
    }
  });
  return { ...result, carriedOn, ...(state === undefined ? {} : { state }) };
}

/** Nodes join, after what comes first and while something else happens; what became of them, and of all that was sent meanwhile. */
export async function playJoining(
  stages: readonly StageOfFunctions[],
  world: World,
  names: { readonly relay: string; readonly functions: string },
  nodes: number,
  meanwhile: () => Promise<void> = async () => undefined,
  first: () => Promise<void> = async () => undefined,
): Promise<StepResult> {
  const before = await countsOf(stages, world);
  await first();
  const [half, rest] = [Math.floor(nodes / 2), Math.ceil(nodes / 2)];
  const [some, , others] = await Promise.all([world.join(half), meanwhile(), world.join(rest)]);
  const joined = new Set([...some, ...others]);
  // What follows the last patch: the report, and its line in the log.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const records = (await world.plane.record()).slice(before.requests);
  const writes = records.filter(
    ({ user, verb, resource }) => OUR_USERS.includes(user) && verb === "patch" && resource === "nodes",
  );
  const exchanges = (await Promise.all(stages.map(exchangesOfStage))).flat();
  const ours = exchanges.filter(
    ({ event }) => event["cluster"] === world.entry.name && !before.events.has(event["id"]),
  );
  const errors = (await Promise.all(stages.map(errorsOfStage))).flat().length;
  return {
    ...names,
    up: joined.size,
    naked: [...world.history.records.values()].filter(({ name, naked }) => naked && joined.has(name)).length,
    writesOnThem: writes.filter(({ name = "" }) => joined.has(name)).length,
    writesOnOthers: writes.filter(({ name = "" }) => !joined.has(name)).length,
    refused: writes.filter(({ code }) => code >= 400).length,
    carriedOn: "–",
    invocations: ours.length,
    failed: ours.filter(({ report }) => report === undefined).length,
    refusedEvents: ours.filter(({ report }) => report !== undefined && isRefusal(report)).length,
    errors: errors - before.errors,
  };
}

/** Two nodes that are up: one whose machine is lost, and one whose machine ends. */
function present(world: World): readonly [string | undefined, string | undefined] {
  const up = [...world.history.records.values()].filter(
    ({ schedulableAt, deleted }) => schedulableAt !== undefined && !deleted,
  );
  // The youngest: what has long not been Ready is looked at once a minute.
  return [up.at(-1)?.name, up.at(-2)?.name];
}

async function begin(world: World, node: string): Promise<string> {
  world.lose(node);
  return untilMissed(world, node);
}

async function countsOf(
  stages: readonly StageOfFunctions[],
  world: World,
): Promise<{ readonly requests: number; readonly events: ReadonlySet<unknown>; readonly errors: number }> {
  const exchanges = (await Promise.all(stages.map(exchangesOfStage))).flat();
  return {
    requests: (await world.plane.record()).length,
    events: new Set(exchanges.map(({ event }) => event["id"])),
    errors: (await Promise.all(stages.map(errorsOfStage))).flat().length,
  };
}

/** Functions first and relay first are both tried, each as it is done in a deployment: under the other, which goes on. */
async function change(
  stage: StageOfFunctions,
  versions: Versions,
  next: { readonly relay: Build; readonly functions: Build },
): Promise<void> {
  if (versions.functions?.build !== next.functions) {
    await versions.functions?.stop();
    versions.functions = await startFunctionsOf(next.functions, stage);
  }
  if (versions.relay?.build !== next.relay) {
    await versions.relay?.stop();
    versions.relay = await startRelayOf(next.relay, stage);
  }
}

/** Waits for the end of a deletion; whether it counted from when the versions before had first missed the machine. */
async function carryOn(
  world: World,
  begun: { readonly node: string; readonly since: string },
): Promise<string> {
  const uid = world.uidOf(begun.node);
  const seen = new Set([begun.since]);
  let isOver = false;
  const over = world.untilDeleted(begun.node).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const first = (await world.state())?.absences[uid]?.first;
    if (first !== undefined) seen.add(first);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await over;
  return seen.size === 1 ? "yes" : `begun anew, ${seen.size - 1} times`;
}

/** Functions refuse a whole event where they do not understand it, or the cluster's entry differs. */
function isRefusal(report: Readonly<Record<string, unknown>>): boolean {
  const objects = report["objects"] as readonly { readonly because: { readonly code: string } }[];
  return objects.some(({ because }) => REFUSALS.includes(because.code));
}

const REFUSALS = ["ClusterConfigurationDiffers", "UnknownCluster", "ClustersUnreadable"];

import type { DeletionState } from "#core/node-lifecycle/state.ts";
import { OUR_USERS } from "#emulators/harness/control-plane.ts";
import type { Build } from "#test/upgrade/builds.ts";
import {
  listErrors,
  listExchanges,
  type Running,
  type StageOfFunctions,
  startVersionFunctions,
  startVersionRelay,
} from "#test/upgrade/versions.ts";
import { type World, waitUntilMissed } from "#test/upgrade/world.ts";

/** The versions that run at the moment. */
export interface Versions {
  relay: Running | undefined;
  functions: Running | undefined;
}

/** The result of one step: a row of the table. */
export interface StepResult {
  readonly relay: string;
  readonly functions: string;
  /** Of the nodes that joined; the step fails unless all are up. */
  readonly up: number;
  readonly naked: number;
  readonly writesOnThem: number;
  /** Writes on nodes that other versions had initialized; none is needed. */
  readonly writesOnOthers: number;
  readonly refused: number;
  /** Whether a deletion of the earlier versions was completed, counted from their stored time. */
  readonly carriedOn: string;
  readonly invocations: number;
  readonly failed: number;
  /** Events that a function rejected as a whole. */
  readonly refusedEvents: number;
  readonly errors: number;
  /** Two stages served the cluster for a while, and each may have written first. */
  readonly shared?: boolean;
  /** The stored state of the deletion that had begun. */
  readonly state?: DeletionState;
}

/**
 * Plays one step. A deletion begins under the present versions, they change to the given ones, the deletion
 * completes, another machine ends, and nodes join.
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

/**
 * Adds nodes after `first` and during another action. Returns the results for the nodes and for all
 * invocations in that time.
 */
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
  // Waits for the report after the last patch, and for its line in the log.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const records = (await world.plane.record()).slice(before.requests);
  const writes = records.filter(
    ({ user, verb, resource }) => OUR_USERS.includes(user) && verb === "patch" && resource === "nodes",
  );
  const exchanges = (await Promise.all(stages.map(listExchanges))).flat();
  const ours = exchanges.filter(
    ({ event }) => event["cluster"] === world.entry.name && !before.events.has(event["id"]),
  );
  const errors = (await Promise.all(stages.map(listErrors))).flat().length;
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

/** Returns two nodes that are up: one whose machine will be lost, and one whose machine will end. */
function present(world: World): readonly [string | undefined, string | undefined] {
  const up = [...world.history.records.values()].filter(
    ({ schedulableAt, deleted }) => schedulableAt !== undefined && !deleted,
  );
  // The youngest: a node that has long not been Ready is resynced once a minute.
  return [up.at(-1)?.name, up.at(-2)?.name];
}

async function begin(world: World, node: string): Promise<string> {
  world.lose(node);
  return waitUntilMissed(world, node);
}

async function countsOf(
  stages: readonly StageOfFunctions[],
  world: World,
): Promise<{ readonly requests: number; readonly events: ReadonlySet<unknown>; readonly errors: number }> {
  const exchanges = (await Promise.all(stages.map(listExchanges))).flat();
  return {
    requests: (await world.plane.record()).length,
    events: new Set(exchanges.map(({ event }) => event["id"])),
    errors: (await Promise.all(stages.map(listErrors))).flat().length,
  };
}

/**
 * Tests both orders, functions first and relay first. Each changes under the other, which keeps running, as
 * in a deployment.
 */
async function change(
  stage: StageOfFunctions,
  versions: Versions,
  next: { readonly relay: Build; readonly functions: Build },
): Promise<void> {
  if (versions.functions?.build !== next.functions) {
    await versions.functions?.stop();
    versions.functions = await startVersionFunctions(next.functions, stage);
  }
  if (versions.relay?.build !== next.relay) {
    await versions.relay?.stop();
    versions.relay = await startVersionRelay(next.relay, stage);
  }
}

/**
 * Waits for the end of a deletion. Returns whether it counted from the time when the earlier versions first
 * missed the machine.
 */
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

/** Functions reject a whole event if they do not understand it or the cluster's entry differs. */
function isRefusal(report: Readonly<Record<string, unknown>>): boolean {
  const objects = report["objects"] as readonly { readonly because: { readonly code: string } }[];
  return objects.some(({ because }) => REFUSALS.includes(because.code));
}

const REFUSALS = ["ClusterConfigurationDiffers", "UnknownCluster", "ClustersUnreadable"];

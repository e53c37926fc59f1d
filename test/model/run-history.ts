import { LOAD_BALANCER_ANNOTATION, TAGS_LABEL } from "#core/contracts.ts";
import { type ModelCloud, SHARED } from "./cloud.ts";
import {
  ACTORS,
  describeStep,
  getMachine,
  MACHINE_COUNT,
  NODE_COUNT,
  SERVICE_NAMES,
  type ServiceSpec,
  type Step,
} from "./history.ts";
import { comeToRest } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { createWorld, type World } from "./world.ts";

/** The result of one history. */
export interface Outcome {
  /** The broken properties; empty if all hold. */
  readonly faults: readonly string[];
  /** The actors' requests, one line each. */
  readonly log: readonly string[];
  readonly invocations: number;
  /** Changes of the cloud that were carried out, from the first step to the end. */
  readonly cloudChanges: number;
}

/** The default duration of a request. */
const LATENCY_MS = 40;

/** Longer than any request is in transit, and shorter than the ten minutes between two audits. */
const REST_LIMIT_MS = 8 * 60_000;

/**
 * The most changes of the cloud on the way to rest, for each resource that exists at the history's end and
 * each desired one. A resource is created or changed, and the one in its place is deleted. Requests in
 * transit count, too.
 */
const CHANGES_PER_THING = 6;
const CHANGES_AT_REST = 20;

/** Runs a history from an empty cluster to its rest, and checks the properties. */
export async function runHistory(scenario: Scenario, steps: readonly Step[]): Promise<Outcome> {
  const world = await createWorld(scenario);
  const player = await createPlayer(world);
  await player.begin();
  for (const step of steps) {
    await world.clock.advance(step.afterMs);
    await player.play(step);
  }
  world.network.note("history ends");
  const left = (await stateOf(world)).cloud.length;
  const changesBefore = countCloudChanges(world);
  const reacted = await comeToRest(world, "react", REST_LIMIT_MS);
  const afterReaction = await stateOf(world);
  world.network.note("audit");
  const audited = await comeToRest(world, "audit", REST_LIMIT_MS);
  const afterAudit = await stateOf(world);
  const changesUntilRest = world.network.changes();
  const again = await comeToRest(world, "audit", REST_LIMIT_MS);
  const cloudChanges = countCloudChanges(world) - changesBefore;
  const foreign = await world.cloud.foreign();
  const lost = player.expectedForeign().filter((line) => !foreign.includes(line));
  const expected = await referenceOf(world, player.conditions);
  const bound = CHANGES_AT_REST + CHANGES_PER_THING * (left + expected.cloud.length);
  return {
    faults: [
      ...(reacted.unrest === undefined ? [] : [`never at rest: ${reacted.unrest}`]),
      // Only an audit can find manual changes of the load balancer itself, and late writes for a node that
      // has returned.
      ...(player.isDrifted() ? [] : differences("without an audit", afterReaction, expected)),
      ...(audited.unrest === undefined ? [] : [`the audit never ends: ${audited.unrest}`]),
      ...differences("after an audit", afterAudit, expected),
      ...(world.network.changes() > changesUntilRest ? ["a second audit changes something"] : []),
      ...(cloudChanges > bound
        ? [`${cloudChanges} changes of the cloud on the way to rest, more than ${bound}`]
        : []),
      ...lost.map((line) => `something of others was changed: ${line}`),
      ...world.violations,
    ],
    log: world.network.log,
    invocations: reacted.invocations + audited.invocations + again.invocations,
    cloudChanges: countCloudChanges(world),
  };
}

function countCloudChanges({ network: { counts } }: World): number {
  return counts.get("cloud change") ?? 0;
}

interface State {
  readonly cloud: readonly string[];
  readonly objects: readonly string[];
}

async function stateOf({ cloud, cluster, scenario }: World): Promise<State> {
  const view = await cluster.view();
  return { cloud: await cloud.outline(view), objects: scenario.describe(view, cloud) };
}

function differences(when: string, actual: State, expected: State): string[] {
  return (["cloud", "objects"] as const).flatMap((part) => [
    ...expected[part]
      .filter((line) => !actual[part].includes(line))
      .map((line) => `missing ${when}: ${line}`),
    ...actual[part]
      .filter((line) => !expected[part].includes(line) && !line.startsWith(SHARED))
      .map((line) => `unexpected ${when}: ${line}`),
  ]);
}

/**
 * Returns what a single fresh actor creates for the same objects in a fresh cloud with the same foreign
 * resources.
 */
async function referenceOf(world: World, conditions: Player["conditions"]): Promise<State> {
  const view = await world.cluster.view();
  const { controller, referenceController = controller } = world.scenario;
  const { createCluster: _, ...scenario } = world.scenario;
  const fresh = await createWorld({ ...scenario, controller: referenceController });
  for (const condition of conditions) await condition(fresh.cloud);
  for (const node of view.nodes) await fresh.cluster.create("nodes", asCreated(node), node.metadata.uid);
  for (const service of view.services)
    if (service.metadata.deletionTimestamp === undefined)
      await fresh.cluster.create("services", asCreated(service), service.metadata.uid);
  const { unrest } = await comeToRest(fresh, "react", REST_LIMIT_MS);
  if (unrest !== undefined) throw new Error(`a single fresh actor does not come to rest: ${unrest}`);
  if (fresh.violations.length > 0) throw new Error(`a single fresh actor: ${fresh.violations.join("; ")}`);
  return stateOf(fresh);
}

/** Returns the object as its user wrote it, without fields from controllers. */
function asCreated({ metadata, spec }: { readonly metadata: object; readonly spec?: object }): object {
  const {
    name,
    namespace,
    labels = {},
    annotations = {},
  } = metadata as {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  const { [LOAD_BALANCER_ANNOTATION]: _, ...theirs } = annotations;
  const { [TAGS_LABEL]: _label, ...theirLabels } = labels;
  return { metadata: { name, namespace, labels: theirLabels, annotations: theirs }, spec };
}

interface Player {
  /** Adds the objects that exist from the start. */
  begin(): Promise<void>;
  play(step: Step): Promise<void>;
  /** Puts a fresh cloud under the same conditions. */
  readonly conditions: readonly ((cloud: ModelCloud) => unknown)[];
  expectedForeign(): readonly string[];
  isDrifted(): boolean;
}

async function createPlayer(world: World): Promise<Player> {
  const { cluster, cloud, clock, network, scenario } = world;
  const foreign: number[] = [];
  const conditions: ((cloud: ModelCloud) => unknown)[] = [];
  const busy = new Map<string, number>();
  const known = new Set<number>();
  let uids = 0;
  let drifted = false;
  let expectedForeign = await cloud.foreign();

  const nextUid = (): string => {
    uids += 1;
    return `${String(uids).padStart(8, "0")}-0000-4000-8000-000000000000`;
  };
  const nameOf = (service: number): string => SERVICE_NAMES[service] ?? "web";

  async function invoke(step: Extract<Step, { do: "invoke" }>): Promise<void> {
    const actor = ACTORS[step.actor] ?? "A";
    const view = await cluster.view(clock.now() - step.lagMs);
    const relatedView = await cluster.view(clock.now() - step.relatedLagMs);
    const wanted = step.service === undefined ? undefined : nameOf(step.service);
    const uids = view.services.flatMap(({ metadata: { name, uid } }) =>
      (wanted === undefined || wanted === name) && !busy.has(`${actor} ${uid}`) ? [uid] : [],
    );
    // One actor has an object in flight at most once.
    const keys = (scenario.controller.only === undefined ? uids : [""]).map((uid) => `${actor} ${uid}`);
    if (keys.length === 0 || keys.some((key) => busy.has(key))) return;
    for (const key of keys) busy.set(key, clock.now());
    const { reason, fates } = step;
    void world
      .invoke({ ...{ actor, reason, view, relatedView, uids, fates }, latencyMs: LATENCY_MS })
      .catch((error: unknown) => world.violations.push(`${actor} threw ${String(error)}`))
      .finally(() => {
        for (const key of keys) busy.delete(key);
      });
  }

  return {
    conditions,
    expectedForeign: () => expectedForeign,
    isDrifted: () => drifted,
    async begin() {
      if (scenario.hasLastingNode !== true) return;
      const providerID = cloud.providerIDs[MACHINE_COUNT] ?? "";
      await cluster.create("nodes", nodeOf("lasting", NODE_COUNT, providerID), nextUid());
    },
    async play(step) {
      if (step.do !== "invoke") network.note(`user: ${describeStep(step)}`);
      switch (step.do) {
        case "create Service": {
          const { services } = await cluster.view();
          const name = nameOf(step.service);
          if (services.some(({ metadata }) => metadata.name === name)) return;
          await cluster.create("services", serviceOf(name, step.service, step.spec, scenario), nextUid());
          return;
        }
        case "edit Service":
          return cluster.merge("services", nameOf(step.service), { spec: specOf(step.service, step.spec) });
        case "make ClusterIP": {
          const annotations = step.dropAnnotation ? { [LOAD_BALANCER_ANNOTATION]: null } : {};
          const spec = { type: "ClusterIP", loadBalancerSourceRanges: null };
          return cluster.merge("services", nameOf(step.service), { metadata: { annotations }, spec });
        }
        case "make LoadBalancer":
          return cluster.merge("services", nameOf(step.service), { spec: { type: "LoadBalancer" } });
        case "drop annotation": {
          const annotations = { [LOAD_BALANCER_ANNOTATION]: null };
          return cluster.merge("services", nameOf(step.service), { metadata: { annotations } });
        }
        case "delete Service":
          return cluster.remove("services", nameOf(step.service));
        case "add node": {
          const name = `node-${step.node}`;
          const { nodes } = await cluster.view();
          if (nodes.some(({ metadata }) => metadata.name === name)) return;
          const machine = getMachine(step);
          const isBusy = busy.size > 0 || network.inTransit() > 0;
          if (scenario.auditFindsLate === true && known.has(machine) && isBusy) drifted = true;
          known.add(machine);
          const providerID = cloud.providerIDs[machine] ?? "";
          await cluster.create("nodes", nodeOf(name, step.node, providerID), nextUid());
          return;
        }
        case "end machine": {
          const machine = getMachine(step);
          cloud.endMachine?.(machine);
          expectedForeign = await cloud.foreign();
          conditions.push((fresh) => fresh.endMachine?.(machine));
          return;
        }
        case "remove node":
          return cluster.remove("nodes", `node-${step.node}`);
        case "exclude node": {
          const key = "node.kubernetes.io/exclude-from-external-load-balancers";
          const labels = { [key]: step.isExcluded ? "true" : null };
          return cluster.merge("nodes", `node-${step.node}`, { metadata: { labels } });
        }
        case "add foreign": {
          if (foreign.includes(step.number)) return;
          foreign.push(step.number);
          await cloud.addForeign(step.number);
          conditions.push((fresh) => fresh.addForeign(step.number));
          expectedForeign = await cloud.foreign();
          return;
        }
        case "drift": {
          const what = await cloud.drift(step.number);
          if (what === undefined) return;
          drifted = true;
          network.note(`another user ${what}`);
          return;
        }
        case "invoke":
          return invoke(step);
      }
    },
  };
}

function serviceOf(name: string, number: number, spec: ServiceSpec, { annotations = {} }: Scenario): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations },
    spec: {
      ...{ type: "LoadBalancer", clusterIP: `10.0.0.${10 + number}`, externalTrafficPolicy: "Cluster" },
      ...specOf(number, spec),
    },
  };
}

/** Derives node ports from the Service and the port, so that an edit changes only its own fields. */
function specOf(service: number, { ports, isMoved, ranges }: ServiceSpec): object {
  return {
    ports: ports.map((port, index) => {
      const nodePort = 30_000 + service * 100 + index * 10 + (isMoved ? 5 : 0);
      return { name: `port-${port}`, protocol: "TCP", port, targetPort: port, nodePort };
    }),
    loadBalancerSourceRanges: ranges.length === 0 ? null : ranges,
  };
}

function nodeOf(name: string, number: number, providerID: string): object {
  const podCIDR = `100.64.${number}.0/24`;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: {} },
    spec: { providerID, podCIDR, podCIDRs: [podCIDR] },
  };
}

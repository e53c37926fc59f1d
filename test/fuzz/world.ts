import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { findResource } from "#emulators/api-server/resources.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS, type ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createDeletions } from "#test/fuzz/deletions.ts";
import { createInProcessApi, type InProcessApi } from "#test/fuzz/in-process-api.ts";
import { createInProcessEc2, type InProcessEc2, REGION } from "#test/fuzz/in-process-ec2.ts";
import { createInvocations, type Invocations } from "#test/fuzz/invocations.ts";
import { createOtherWriters, type OtherWriters } from "#test/fuzz/kubelet-writes.ts";
import { checkWrite, getReadyStatus, isReady, parseNode } from "#test/fuzz/our-writes.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

/** One cluster with its cloud, relays and functions, in this process and on one clock, and the invariants. */
export interface World {
  readonly clock: ManualClock;
  readonly api: InProcessApi;
  readonly cloud: InProcessEc2;
  readonly others: OtherWriters;
  readonly invocations: Invocations;
  readonly places: Place[];
  /** When the cloud forgot terminated instances, by id. */
  readonly forgottenMs: Map<string, number>;
  /**
   * Writes of other clients to a node, each after a number of our writes and right after the last of them.
   */
  readonly meanwhile: Meanwhile[];
  /** Whether a controller deletes nodes of missing machines. */
  readonly deletes: boolean;
  /** The invariants broken so far. */
  readonly violations: readonly string[];
  /** Returns the number of timers that have not fired. */
  timers(): number;
  relays(): readonly Relay[];
  /** Kills a relay at any moment; with `on`, starts another in its place. */
  restart(which: "first" | "second", on: boolean): Promise<void>;
  violate(what: string): void;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly controllers: readonly Controller[];
  readonly places: number;
  /** The source of all randomness in the world. */
  readonly random: () => number;
  /** Wraps the calls between relays and functions, for planted defects. */
  readonly invoker?: ((invoker: Invoker) => Invoker) | undefined;
  /** The user of the functions; by default each signs in as itself. */
  readonly user?: ControlPlaneUser | undefined;
}

/** An action of others right after one of our writes. */
export interface Meanwhile {
  /** The number of our writes to wait for. */
  writes: number;
  readonly act: (name: string) => void;
}

/** A machine's place: its present instance, if any, and the cloud's forced answers about it. */
export interface Place {
  instance: Ec2Instance | undefined;
  /** The period in which the cloud hides an existing instance. */
  hiddenFromMs: number;
  hiddenUntilMs: number;
  /** Whether the cloud has never shown it. */
  isNewborn: boolean;
  nodeName: string | undefined;
  /** When the instance began to run, if it ever had another state. */
  runsSinceMs: number;
}

/** The shortest time between two "not found" answers. */
const GRACE_MS = 30_000;

/** How long an older answer may still take effect after the cloud shows an instance again. */
const ANSWERS_LIVE_MS = 120_000;

/** Creates a world with one relay and no nodes. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const { controllers, places, random, invoker = (given) => given } = options;
  const manual = createManualClock();
  let timers = 0;
  // Counts pending timers, which must not grow with the number of steps.
  const clock: ManualClock = {
    ...manual,
    after(delayMs, callback) {
      timers += 1;
      let isOver = false;
      const over = (): void => {
        if (!isOver) timers -= 1;
        isOver = true;
      };
      const cancel = manual.after(delayMs, () => {
        over();
        callback();
      });
      return () => {
        over();
        cancel();
      };
    },
  };
  const violations: string[] = [];
  const violate = (what: string): void => void violations.push(what);
  const api = createInProcessApi(clock);
  const cloud = createInProcessEc2(clock, () => 5 + 60 * random());
  const cluster = Cluster.parse({
    name: "tenant-a",
    server: "https://in-process",
    cloud: { provider: "aws", region: REGION, vpc: DEFAULT_VPC_ID },
    controllers: controllers.map(({ name }) => name),
  });
  const aws = createAwsCloud(AwsCloudConfig.parse(cluster.cloud), {
    clusterName: cluster.name,
    ec2: cloud.ec2,
    sleep: (delayMs, signal) => pause(clock, delayMs, signal),
    now: () => clock.now(),
    wallClock: () => clock.wallTime().getTime(),
  });
  const configMaps = findResource("configmaps");
  if (configMaps === undefined) throw new Error("the embedded API server has no ConfigMaps");
  api.context.store.put(configMaps, "kube-system/serverless-ccm", STATE);
  const invocations = createInvocations({
    cluster,
    controllers,
    cloud: aws,
    transportOf: ({ functionName }) => api.transport(options.user ?? userOfFunction(functionName)),
    clock,
    latencyMs: () => 1 + 30 * random(),
    violated: violate,
  });
  let uids = 0;
  const others = createOtherWriters(api, () => {
    uids += 1;
    return `00000000-0000-4000-8000-${String(uids).padStart(12, "0")}`;
  });
  const world = Array.from({ length: places }, (): Place => createPlace());
  const forgottenMs = new Map<string, number>();
  const meanwhile: Meanwhile[] = [];
  watchOurWrites({ api, others, places: world, forgottenMs, clock, violate, meanwhile });

  let lives = 0;
  const start = (which: string): Relay => {
    lives += 1;
    return startRelay({
      clusters: [{ cluster, transport: api.transport(CONTROL_PLANE_USERS.relay) }],
      invoker: invoker(invocations.invoker(`${which} relay in life ${lives}`)),
      identity: `fuzz${lives}`,
      nodeStatusUpdateFrequencySeconds: 300,
      watches: controllers,
      clock,
      random,
    });
  };
  const relays = new Map<string, Relay>([["first", start("first")]]);
  return {
    clock,
    api,
    cloud,
    others,
    invocations,
    places: world,
    forgottenMs,
    meanwhile,
    deletes: controllers.some(({ name }) => name === nodeLifecycleWatch.name),
    violations,
    violate,
    timers: () => timers,
    relays: () => [...relays.values()],
    restart: async (which, on) => {
      const old = relays.get(which);
      relays.delete(which);
      const closing = old?.close();
      if (on) relays.set(which, start(which));
      await clock.advance(0);
      await closing;
    },
    close: async () => {
      const closing = Promise.all([...relays.values()].map((relay) => relay.close()));
      await clock.advance(0);
      await closing;
      await aws.close();
    },
  };
}

/** The ConfigMap of infra/state. */
const STATE: StoredObject = {
  metadata: {
    namespace: "kube-system",
    name: "serverless-ccm",
    uid: "uid-of-state",
    resourceVersion: "",
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
};

function userOfFunction(name: string): ControlPlaneUser {
  const user = Object.entries(CONTROL_PLANE_USERS).find(([key]) => key === name)?.[1];
  if (user === undefined) throw new Error(`the function ${name} has no identity`);
  return user;
}

export function createPlace(): Place {
  return {
    instance: undefined,
    hiddenFromMs: Number.NEGATIVE_INFINITY,
    hiddenUntilMs: Number.NEGATIVE_INFINITY,
    isNewborn: false,
    nodeName: undefined,
    runsSinceMs: Number.NEGATIVE_INFINITY,
  };
}

/**
 * Whether the machine of that name has been running and visible for so long that no other answer is still in
 * use.
 */
function isShown({ instance, runsSinceMs, hiddenUntilMs }: Place, name: string, nowMs: number): boolean {
  const isRunning = instance?.state === "running" && instance.privateDnsName === name;
  return isRunning && nowMs - Math.max(runsSinceMs, hiddenUntilMs) > ANSWERS_LIVE_MS;
}

interface Watched {
  readonly api: InProcessApi;
  readonly others: OtherWriters;
  readonly places: readonly Place[];
  readonly forgottenMs: ReadonlyMap<string, number>;
  readonly clock: Clock;
  readonly violate: (what: string) => void;
  readonly meanwhile: Meanwhile[];
}

/** Checks each of our writes when it is carried out. */
function watchOurWrites(watched: Watched): void {
  const { api, others, places, forgottenMs, clock, violate, meanwhile } = watched;
  const deletions = createDeletions();
  api.context.store.subscribe((change) => {
    if (others.writing || change.version.resource.name !== "nodes") return;
    for (const fault of checkWrite(change)) violate(fault);
    const { name } = change.version.object.metadata;
    const [next] = meanwhile;
    if (next !== undefined && next.writes === 0) {
      meanwhile.shift();
      // Runs after all watchers have received this write, and before the next write.
      queueMicrotask(() => next.act(name));
    } else if (next !== undefined) next.writes -= 1;
    if (change.type !== "DELETED" || change.previous === undefined) return;
    const node = parseNode(change.previous.object);
    if (isReady(node)) violate(`${name} was deleted although it is Ready`);
    const nowMs = clock.now();
    const successor = getReadyStatus(node) === "False" && places.find((each) => isShown(each, name, nowMs));
    if (successor && !node.providerID?.endsWith(`/${successor.instance?.id}`))
      violate(`${name} was deleted although the kubelet of ${successor.instance?.id} reports in it`);
    const place = places.find(({ instance }) => node.providerID?.endsWith(`/${instance?.id}`));
    const state = place?.instance?.state;
    if (state === "terminated") return;
    const endedMs = forgottenMs.get(node.providerID?.split("/").at(-1) ?? "");
    // Before the cloud forgot it, every read showed it as terminated.
    if (endedMs !== undefined && nowMs - endedMs <= ANSWERS_LIVE_MS) return;
    // The list no longer contains the deleted node.
    for (const broken of deletions.add({ atMs: nowMs, name, nodes: others.nodes().length + 1 }))
      violate(broken);
    if (place === undefined || state === undefined) return;
    const { hiddenFromMs, hiddenUntilMs, isNewborn } = place;
    if (isNewborn && nowMs < hiddenUntilMs)
      violate(`${name} was deleted before the cloud had shown its instance`);
    else if (nowMs - hiddenUntilMs > ANSWERS_LIVE_MS)
      violate(`${name} was deleted although the cloud shows its instance as ${state}`);
    else if (nowMs - hiddenFromMs < GRACE_MS)
      violate(`${name} was deleted ${nowMs - hiddenFromMs} ms after its instance was last to be seen`);
  });
}

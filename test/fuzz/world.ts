import { createAwsCloud } from "#clouds/aws/cloud.ts";
import { AwsCloudConfig } from "#clouds/aws/kind.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { Invoker } from "#delivery/invoker.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import { resourceNamed } from "#emulators/api-server/resources.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS, type ControlPlaneUser } from "#emulators/harness/control-plane.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createDeletions } from "#test/fuzz/deletions.ts";
import { createInProcessApi, type InProcessApi } from "#test/fuzz/in-process-api.ts";
import { createInProcessEc2, type InProcessEc2, REGION } from "#test/fuzz/in-process-ec2.ts";
import { createInvocations, type Invocations } from "#test/fuzz/invocations.ts";
import { createOtherWriters, type OtherWriters } from "#test/fuzz/kubelet-writes.ts";
import { faultsOfWrite, isReady, readyStatus, seen } from "#test/fuzz/our-writes.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";

/** One cluster with its cloud, its relays and its functions, all in this process and on one clock, and what may never be. */
export interface World {
  readonly clock: ManualClock;
  readonly api: InProcessApi;
  readonly cloud: InProcessEc2;
  readonly others: OtherWriters;
  readonly invocations: Invocations;
  readonly places: Place[];
  /** When the cloud forgot instances that it had shown as terminated, by their ids. */
  readonly forgottenMs: Map<string, number>;
  /** What somebody does to a node once so many of our writes were carried out, and so right after the last of them. */
  readonly meanwhile: Meanwhile[];
  /** Whether one of its controllers deletes nodes whose machine is gone. */
  readonly deletes: boolean;
  /** What was broken so far. */
  readonly violations: readonly string[];
  /** Timers that have not fired: what waits anywhere. */
  timers(): number;
  relays(): readonly Relay[];
  /** Kills a relay, whatever it waits for; with `on`, another is started in its place. */
  restart(which: "first" | "second", on: boolean): Promise<void>;
  violate(what: string): void;
  close(): Promise<void>;
}

/** What a world is made of. */
export interface WorldOptions {
  readonly controllers: readonly Controller[];
  readonly places: number;
  /** All the chance there is in it. */
  readonly random: () => number;
  /** Between relays and functions, for defects that are planted there. */
  readonly invoker?: ((invoker: Invoker) => Invoker) | undefined;
  /** Whom functions sign in as; as themselves without it. */
  readonly user?: ControlPlaneUser | undefined;
}

/** Something that others do right after a write of ours. */
export interface Meanwhile {
  /** How many of our writes it lets pass. */
  writes: number;
  readonly act: (name: string) => void;
}

/** A machine's place: the instance that is there now, if there is one, and what the cloud was made to say of it. */
export interface Place {
  instance: Ec2Instance | undefined;
  /** From when until when the cloud hides, or hid, an instance that exists. */
  hiddenFromMs: number;
  hiddenUntilMs: number;
  /** Whether the cloud has never shown it. */
  isNewborn: boolean;
  nodeName: string | undefined;
  /** Since when the instance runs, where it was ever anything else. */
  runsSinceMs: number;
}

/** The least time between two answers that there is no such instance. */
const GRACE_MS = 30_000;

/** How long after the cloud began to show an instance again an answer of before may still be acted on. */
const ANSWERS_LIVE_MS = 120_000;

/** Makes a world with one relay, and nothing in it yet. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const { controllers, places, random, invoker = (given) => given } = options;
  const manual = createManualClock();
  let timers = 0;
  // Counts what waits, which must not grow with the number of steps.
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
  const configMaps = resourceNamed("configmaps");
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
  const world = Array.from({ length: places }, (): Place => emptyPlace());
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

/** The ConfigMap that infra/state makes. */
const STATE: StoredObject = {
  metadata: {
    namespace: "kube-system",
    name: "serverless-ccm",
    uid: "uid-of-state",
    resourceVersion: "",
    creationTimestamp: "2025-01-01T00:00:00Z",
  },
};

/** As the function signs in. */
function userOfFunction(name: string): ControlPlaneUser {
  const user = Object.entries(CONTROL_PLANE_USERS).find(([key]) => key === name)?.[1];
  if (user === undefined) throw new Error(`the function ${name} has no identity`);
  return user;
}

/** A place with nothing in it. */
export function emptyPlace(): Place {
  return {
    instance: undefined,
    hiddenFromMs: Number.NEGATIVE_INFINITY,
    hiddenUntilMs: Number.NEGATIVE_INFINITY,
    isNewborn: false,
    nodeName: undefined,
    runsSinceMs: Number.NEGATIVE_INFINITY,
  };
}

/** Whether the machine of that name has been running and to be seen for so long that no answer knows better. */
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

/** Looks at every write that is not others', as it is carried out. */
function watchOurWrites(watched: Watched): void {
  const { api, others, places, forgottenMs, clock, violate, meanwhile } = watched;
  const deletions = createDeletions();
  api.context.store.subscribe((change) => {
    if (others.writing || change.version.resource.name !== "nodes") return;
    for (const fault of faultsOfWrite(change)) violate(fault);
    const { name } = change.version.object.metadata;
    const [next] = meanwhile;
    if (next !== undefined && next.writes === 0) {
      meanwhile.shift();
      // After everybody has heard of this write, and before the next can be on its way.
      queueMicrotask(() => next.act(name));
    } else if (next !== undefined) next.writes -= 1;
    if (change.type !== "DELETED" || change.previous === undefined) return;
    const node = seen(change.previous.object);
    if (isReady(node)) violate(`${name} was deleted although it is Ready`);
    const nowMs = clock.now();
    const successor = readyStatus(node) === "False" && places.find((each) => isShown(each, name, nowMs));
    if (successor && !node.providerID?.endsWith(`/${successor.instance?.id}`))
      violate(`${name} was deleted although the kubelet of ${successor.instance?.id} reports in it`);
    const place = places.find(({ instance }) => node.providerID?.endsWith(`/${instance?.id}`));
    const state = place?.instance?.state;
    if (state === "terminated") return;
    const endedMs = forgottenMs.get(node.providerID?.split("/").at(-1) ?? "");
    // It was shown as terminated to whoever asked before the cloud forgot it.
    if (endedMs !== undefined && nowMs - endedMs <= ANSWERS_LIVE_MS) return;
    // The deleted one is out of the list already.
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

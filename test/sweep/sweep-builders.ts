import { Cluster } from "#config/cluster.ts";
import type { Event } from "#core/event.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { isAuditTurn, toMinute } from "#sweep/select.ts";
import {
  type ClusterSweep,
  createSweepTurns,
  type SweepDependencies,
  type SweepTime,
  sweepCluster,
  sweepTouched,
} from "#sweep/sweep-cluster.ts";
import type { TouchedObjects } from "#sweep/touched.ts";
import { buildStatus, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeCluster } from "#test/relay/fake-cluster.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/serverless-ccm-relay";

/** A cluster in memory with a Lease, and functions that take what a sweep brings. */
export interface SweptWorld {
  readonly nodes: FakeApi;
  readonly requests: string[];
  readonly services: FakeApi;
  readonly namespaces: FakeApi;
  readonly requestsOfLists: FakeApi;
  readonly events: Event[];
  readonly clock: ManualClock;
  /** How a GET of the Lease is answered. */
  lease: (now: Date) => Partial<ApiResponse> | Promise<ApiResponse>;
  invoke: Invoker["invoke"];
  readonly transport: Transport;
  cluster: Cluster;
  sweep(time?: Partial<SweepTime>): Promise<ClusterSweep>;
  /** Looks at touched objects. */
  look(touched: TouchedObjects, time?: Partial<SweepTime>): Promise<ClusterSweep>;
  stop: Stop | undefined;
}

/** A cluster of an entry that says no more than it must. */
export function buildCluster(name: string, more: object = {}): Cluster {
  const cloud = { provider: "memory", instancesFile: "/none" };
  const controllers = ["cloud-node-controller"];
  return Cluster.parse({ name, server: "https://fake.invalid", cloud, controllers, ...more });
}

/** The answer to a GET of a Lease that was renewed so long ago. */
export function createLeaseAnswer(ms: number): (now: Date) => Partial<ApiResponse> {
  return (now) => {
    const renewTime = new Date(now.getTime() - ms).toISOString();
    return { body: JSON.stringify({ spec: { holderIdentity: "serverless-ccm-relay", renewTime } }) };
  };
}

/** Returns a minute with or without an audit, for a cluster with a fresh Lease. */
export function findMinute(cluster: string, isAudit: boolean, fromMs: number): number {
  let minute = toMinute(fromMs);
  while (isAuditTurn(cluster, minute) !== isAudit) minute += 1;
  return minute;
}

/** A world in which the Lease is missing, and each invocation is a fault of the test until `invoke` is set. */
export function createSweptWorld(
  options: { readonly watches?: readonly Watch[]; readonly entry?: object } = {},
): SweptWorld {
  const { transport, collections } = createFakeCluster(
    "nodes",
    "certificatesigningrequests",
    "services",
    "namespaces",
  );
  const clock = createManualClock();
  const world: SweptWorld = {
    nodes: collections.nodes,
    services: collections.services,
    namespaces: collections.namespaces,
    requestsOfLists: collections.certificatesigningrequests,
    ...{ requests: [], events: [], clock },
    lease: () => buildStatus(404, "NotFound", "not found"),
    invoke: async () => ({ kind: "failed", code: "Denied", message: "no function", settleMs: 0 }),
    cluster: buildCluster("one", options.entry),
    transport: { ...transport, send },
    stop: undefined,
    sweep: (time = {}) => sweepCluster(world.cluster, dependencies, { ...buildTime(), ...time }),
    look: (touched, time = {}) =>
      sweepTouched(world.cluster, touched, dependencies, { ...buildTime(), ...time }),
  };
  const dependencies: SweepDependencies = {
    clock,
    invoker: {
      invoke(event, signal) {
        world.events.push(structuredClone(event));
        return world.invoke(event, signal);
      },
    },
    api: async () => world.transport,
    readStop: async () => world.stop,
    random: () => 0.5,
    identity: "test",
    turns: createSweepTurns(clock),
    watches: options.watches,
  };
  function buildTime(): SweepTime {
    return { minute: toMinute(clock.wallTime().getTime()), signal: new AbortController().signal };
  }
  async function send(request: ApiRequest): Promise<ApiResponse> {
    world.requests.push(`${request.method} ${request.path.split("?")[0]}`);
    if (request.method !== "GET")
      throw new Error(`a sweep has no right to ${request.method} ${request.path}`);
    if (request.path !== LEASE) return transport.send(request);
    return { status: 200, headers: {}, body: "", ...(await world.lease(clock.wallTime())) };
  }
  return world;
}

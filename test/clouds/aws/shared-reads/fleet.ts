import { createInProcessFunctions } from "#cli/run/in-process-functions.ts";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import type { AwsCloudConfig } from "#clouds/aws/config.ts";
import { createSharingLoader } from "#clouds/aws/shared-reads/sharing-loader.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { findResource } from "#emulators/api-server/resources.ts";
import { createObject } from "#emulators/api-server/write.ts";
import { DEFAULT_VPC_ID } from "#emulators/ec2/build-instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause } from "#kube/follow/clock.ts";
import { startRelay } from "#relay/relay.ts";
import { createInProcessApi } from "#test/fuzz/in-process-api.ts";
import { createInProcessEc2, REGION, toCloudClocks } from "#test/fuzz/in-process-ec2.ts";
import { createVirtualClock } from "#test/model/virtual-clock.ts";

/** Clusters of one account that come back together, and the nodes that join them. */
export interface FleetOptions {
  readonly clusters: number;
  readonly nodes: number;
  /** The nodes among them that wait at the start, in all clusters alike. */
  readonly waiting: number;
  /** The time over which the others join. */
  readonly overMs: number;
  /** Whether the clusters' clouds share reads, as in `run`; otherwise each reads for itself. */
  readonly shares: boolean;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** What EC2 and the nodes saw. */
export interface FleetResult {
  readonly calls: Readonly<Record<string, number>>;
  /** Calls that EC2 throttled at its default quotas. */
  readonly throttled: number;
  readonly initialized: number;
  /** Milliseconds from a node's joining to the end of its initialization: median, 99th percentile and maximum. */
  readonly delaysMs: { readonly median: number; readonly p99: number; readonly max: number };
}

const NEVER = new AbortController().signal;

/**
 * Runs relay and functions of a process with many clusters until all nodes are initialized or `limitMs` have
 * passed. API servers are in memory, and EC2's emulator enforces its default quotas.
 */
export async function runFleet(options: FleetOptions, limitMs = 180_000): Promise<FleetResult> {
  const { clusters: clusterCount, nodes: nodeCount, waiting, overMs, random } = options;
  const clock = createVirtualClock(Date.now());
  const ec2 = createInProcessEc2(clock, () => 30 + 60 * random());
  const clocks = toCloudClocks(clock);
  const load = createSharingLoader({ ec2: ec2.ec2, ...clocks });
  const loadAlone = (config: AwsCloudConfig, clusterName: string): Cloud =>
    createAwsCloud(config, { clusterName, ec2: ec2.ec2, ...clocks });

  const tenants = Array.from({ length: clusterCount }, (_, index) => {
    const cluster = Cluster.parse({
      name: `tenant-${index}`,
      server: "https://in-process",
      cloud: { provider: "aws", region: REGION, vpc: DEFAULT_VPC_ID, clusterTag: `tenant-${index}` },
      controllers: [nodeWatch.name],
    });
    const config = cluster.cloud as AwsCloudConfig;
    const cloud = options.shares
      ? load(config, { clusterName: cluster.name })
      : loadAlone(config, cluster.name);
    return { cluster, cloud, api: createInProcessApi(clock) };
  });
  const byName = new Map(tenants.map((tenant) => [tenant.cluster.name, tenant]));
  const find = (name: string) => {
    const tenant = byName.get(name);
    if (tenant === undefined) throw new Error(`there is no ${name}`);
    return tenant;
  };

  const joinedMs = new Map<string, number>();
  const delays: number[] = [];
  const join = (index: number): void => {
    const tenant = tenants[index % clusterCount];
    if (tenant === undefined) return;
    const name = tenant.cluster.name;
    const { id } = ec2.inventory.add(
      { index: index + 1, tags: { [`kubernetes.io/cluster/${name}`]: "owned" } },
      0,
      clock.wallTime().getTime(),
    );
    const node = buildJoiningNode({ name: `node-${index}`, providerID: `aws:///${REGION}a/${id}` });
    joinedMs.set(`${name}/node-${index}`, clock.now());
    createObject(
      {
        store: tenant.api.context.store,
        manager: "others",
        user: CONTROL_PLANE_USERS.admin,
        dryRun: false,
        now: tenant.api.context.now(),
        uid: () => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      },
      { verb: "create", resource: NODES, namespace: undefined, name: undefined, subresource: undefined },
      JSON.stringify(node),
    );
  };
  for (const { api, cluster } of tenants)
    api.context.store.subscribe(({ version: { resource, object } }) => {
      if (resource !== NODES) return;
      const key = `${cluster.name}/${object.metadata.name}`;
      const sinceMs = joinedMs.get(key);
      const { taints = [] } = (object["spec"] ?? {}) as { taints?: readonly { readonly key: string }[] };
      if (sinceMs === undefined || taints.some(({ key: taint }) => taint.endsWith("uninitialized"))) return;
      joinedMs.delete(key);
      delays.push(clock.now() - sinceMs);
    });
  for (let index = 0; index < nodeCount; index += 1)
    if (index < waiting) join(index);
    else clock.after(overMs * random(), () => join(index));

  const functions = createInProcessFunctions({
    clusters: async (name) => byName.get(name)?.cluster,
    cloud: async ({ name }) => find(name).cloud,
    api: async ({ name }, role) => addLatency(find(name).api.transport(userOf(role))),
    log: () => {},
  });
  const addLatency = (transport: Transport): Transport => ({
    ...transport,
    async send(request) {
      await pause(clock, 2 + 8 * random(), NEVER);
      return transport.send(request);
    },
  });
  const relay = startRelay({
    clusters: tenants.map(({ cluster, api }) => ({
      cluster,
      transport: api.transport(CONTROL_PLANE_USERS.relay),
    })),
    invoker: functions,
    identity: "fleet",
    nodeStatusUpdateFrequencySeconds: 300,
    watches: [nodeWatch],
    clock,
    random,
  });
  await clock.advanceUntil(() => delays.length >= nodeCount, limitMs);
  const closing = Promise.all([relay.close(), ...tenants.map(({ cloud }) => cloud.close())]);
  await clock.advance(0);
  await closing;
  delays.sort((a, b) => a - b);
  const percentile = (part: number): number =>
    Math.round(delays[Math.min(delays.length - 1, Math.floor(part * delays.length))] ?? Number.NaN);
  const records = ec2.calls();
  return {
    calls: Object.fromEntries(
      [...Map.groupBy(records, ({ action }) => action)].map(([action, { length }]) => [action, length]),
    ),
    throttled: records.filter(({ code }) => code === "RequestLimitExceeded").length,
    initialized: delays.length,
    delaysMs: { median: percentile(0.5), p99: percentile(0.99), max: percentile(1) },
  };
}

function userOf(role: string) {
  const user = Object.entries(CONTROL_PLANE_USERS).find(([name]) => name === role)?.[1];
  if (user === undefined) throw new Error(`there is no identity of ${role}`);
  return user;
}

const NODES = (() => {
  const resource = findResource("nodes");
  if (resource === undefined) throw new Error("the embedded API server has no nodes");
  return resource;
})();

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { createMemoryCloud, type MemoryInstances } from "#clouds/memory/cloud.ts";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { nodeController } from "#core/node/controller.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";

/** Clusters with a node function behind Lambda's Invoke API, and joining nodes. */
export interface Tenants {
  readonly names: readonly string[];
  readonly file: string;
  readonly lambda: LambdaServer;
  planeOf(name: string): ControlPlane;
  /** Registers a node with an existing instance; resolves with its name. */
  register(cluster: string): Promise<string>;
  isUp(cluster: string, node: string): Promise<boolean>;
  registered(): number;
  /** Returns the nodes that are not up: with the taint, or without an address. */
  notUp(): Promise<readonly string[]>;
  /** Returns the functions' successful writes of each node, the highest count first. */
  writesOfNodes(): Promise<readonly number[]>;
  close(): Promise<void>;
}

const Node = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ taints: z.array(z.object({ key: z.string() })).optional() }),
  status: z.object({ addresses: z.array(z.object({ type: z.string() })).optional() }),
});
const Nodes = z.object({ items: z.array(Node) });

const isUp = ({ spec, status }: z.output<typeof Node>): boolean =>
  spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) !== true &&
  status.addresses?.some(({ type }) => type === "InternalIP") === true;

/** Starts this many clusters in a folder, the first of them on real API servers. */
export async function startTenants(
  folder: string,
  count: number,
  real: { readonly count: number; readonly binaries: ControlPlaneBinaries } | undefined,
): Promise<Tenants> {
  const world: MemoryInstances = { instances: new Map() };
  const planes = new Map<string, ControlPlane>();
  const admins = new Map<string, Transport>();
  const functions = new Map<string, Transport>();
  const file = join(folder, "clusters.yaml");
  const names = Array.from({ length: count }, (_, index) => `tenant-${index + 1}`);
  for (const [index, name] of names.entries()) {
    const at = join(folder, name);
    await mkdir(at);
    const isReal = real !== undefined && index < real.count;
    const plane = isReal
      ? await startKubeApiserver({ folder: at, binaries: real.binaries })
      : await startEmbeddedControlPlane({ folder: at });
    planes.set(name, plane);
    admins.set(name, connect(await getConnectOptions(plane, "admin")));
    functions.set(name, connect(await getConnectOptions(plane, "node")));
  }
  // For a replica with the functions, which reads it once.
  const instancesFile = join(folder, "instances.json");
  await writeFile(
    instancesFile,
    JSON.stringify({ instances: [buildRunningInstance("node-1", getAddress(1))] }),
  );
  const cloud = { provider: "memory", instancesFile } as const;
  const controllers = [nodeController.name];
  const entries = [...planes].map(([name, plane]) => buildClusterEntry(plane, { name, cloud, controllers }));
  await writeClustersFile(file, ...entries);
  const handler = createControllerFunction(nodeController, {
    clusters: createFileRegistry(file).byName(),
    cloud: async () => createMemoryCloud(world),
    api: async ({ name }) => of(functions, name),
    now: () => new Date(),
  });
  const lambda = await startLambda({ functions: { "x-node": handler }, timeoutMs: 20_000, concurrency: 500 });
  let registered = 0;

  return {
    names,
    file,
    lambda,
    planeOf: (name) => of(planes, name),
    async register(cluster) {
      registered += 1;
      const name = `node-${registered}`;
      world.instances.set(name, buildRunningInstance(name, getAddress(registered)));
      const body = buildJoiningNode({ name, providerID: `memory:///zone-a/${name}` });
      const answer = await of(admins, cluster).send({ method: "POST", path: "/api/v1/nodes", body });
      if (answer.status !== 201) throw new Error(`${cluster}/${name}: ${answer.status} ${answer.body}`);
      return name;
    },
    async isUp(cluster, node) {
      const { body } = await of(admins, cluster).send({ method: "GET", path: `/api/v1/nodes/${node}` });
      return isUp(Node.parse(JSON.parse(body)));
    },
    registered: () => registered,
    async notUp() {
      const each = [...admins].map(async ([name, admin]) => {
        const { body } = await admin.send({ method: "GET", path: "/api/v1/nodes" });
        return Nodes.parse(JSON.parse(body))
          .items.filter((node) => !isUp(node))
          .map(({ metadata }) => `${name}/${metadata.name}`);
      });
      return (await Promise.all(each)).flat();
    },
    async writesOfNodes() {
      const each = [...planes.values()].map(async (plane) => {
        const writes = (await plane.record()).filter(
          ({ user, verb, resource, code }) =>
            user === "serverless-ccm-node" && verb === "patch" && resource === "nodes" && code === 200,
        );
        return [...Map.groupBy(writes, ({ name }) => name).values()].map(({ length }) => length);
      });
      return (await Promise.all(each)).flat().toSorted((a, b) => b - a);
    },
    async close() {
      await lambda.close();
      await Promise.all([...admins.values(), ...functions.values()].map((each) => each.close()));
      await Promise.all([...planes.values()].map((plane) => plane.close()));
    },
  };
}

function of<Value>(values: ReadonlyMap<string, Value>, name: string): Value {
  const value = values.get(name);
  if (value === undefined) throw new Error(`there is no ${name}`);
  return value;
}

import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { registerNodes } from "#cli/demo/nodes.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import type { Node } from "#core/node/node.ts";
import { DeletionState, STATE, STATE_KEY } from "#core/node-lifecycle/state.ts";
import { formatCreationPath, formatObjectPath } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { Ec2Server } from "#emulators/ec2/server.ts";
import { buildClusterEntry } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { type NodeHistory, recordNodeHistory } from "#emulators/harness/node-history.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A cluster, and its machines in the cloud. */
export interface World {
  readonly plane: ControlPlane;
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly entry: ClusterEntry;
  /** Registers nodes at once; resolves with their names when all are schedulable. */
  join(count: number): Promise<string[]>;
  /** Makes EC2 answer that the machine is not found. */
  lose(node: string): void;
  terminate(node: string): void;
  untilDeleted(node: string): Promise<void>;
  /** Returns the deletion state that is stored in the cluster. */
  state(): Promise<DeletionState | undefined>;
  uidOf(node: string): string;
  /** Returns the first node that came up. */
  someNode(): Node | undefined;
  close(): Promise<void>;
}

const UP_TIMEOUT_MS = 120_000;

/** The time between two "not found" answers: long enough for a change of versions in between. */
const GRACE_SECONDS = 15;

/** Starts a cluster without nodes, prepared by `infra/state`, with its machines in a separate network. */
export async function createWorld(folder: string, name: string, ec2: Ec2Server): Promise<World> {
  await mkdir(folder, { recursive: true });
  const plane = await startEmbeddedControlPlane({ folder: join(folder, "control-plane") });
  const vpc = `vpc-${createHash("sha256").update(name).digest("hex").slice(0, 17)}`;
  const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
  const admin = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
  const manifest = new URL("../../infra/state/config-map.yaml", import.meta.url);
  const body: unknown = parse(await readFile(manifest, "utf8"));
  await admin.send({ method: "POST", path: formatCreationPath(STATE, STATE.at.namespace), body });
  const history = await recordNodeHistory(admin);
  const machines = new Map<string, string>();
  const recordOf = (node: string) => [...history.records.values()].find((each) => each.name === node);
  const idOf = (node: string): string => machines.get(node) ?? missing(node);
  return {
    plane,
    admin,
    history,
    entry: buildClusterEntry(plane, {
      name,
      cloud: { provider: "aws", region: ec2.region, vpc },
      nodes: { deletion: { graceSeconds: GRACE_SECONDS } },
    }),
    async join(count) {
      const added = ec2.addInstances(Array.from({ length: count }, () => ({ vpcId: vpc })));
      for (const { id, privateDnsName } of added) machines.set(privateDnsName, id);
      const names = new Set(added.map(({ privateDnsName }) => privateDnsName));
      await registerNodes(
        admin,
        added.map(({ id, availabilityZone, privateDnsName }) => ({
          name: privateDnsName,
          providerID: `aws:///${availabilityZone}/${id}`,
        })),
      );
      const up = () => [...names].every((each) => recordOf(each)?.schedulableAt !== undefined);
      await history.until(`${count} nodes to come up`, up, UP_TIMEOUT_MS);
      return [...names];
    },
    lose: (node) => ec2.remove(idOf(node)),
    terminate: (node) => ec2.terminate(idOf(node)),
    untilDeleted: (node) =>
      history.until(`${node} to be deleted`, () => recordOf(node)?.deleted === true, UP_TIMEOUT_MS),
    async state() {
      const { body: text } = await admin.send({ method: "GET", path: formatObjectPath(STATE, STATE.at) });
      const written = (JSON.parse(text) as { data?: Record<string, string> }).data?.[STATE_KEY];
      return written === undefined ? undefined : DeletionState.parse(JSON.parse(written));
    },
    someNode: () =>
      [...history.records.values()].find(({ schedulableAt }) => schedulableAt !== undefined)?.latest,
    uidOf: (node) => recordOf(node)?.uid ?? missing(node),
    async close() {
      await history.close();
      await admin.close();
      await plane.close();
    },
  };
}

/** Waits until the cluster's state says that this node's machine was not found. Returns since when. */
export async function waitUntilMissed(world: World, node: string): Promise<string> {
  const uid = world.uidOf(node);
  const first = async () => (await world.state())?.absences[uid]?.first;
  await waitUntilTrue(`${node} to be missed`, async () => (await first()) !== undefined, UP_TIMEOUT_MS);
  return (await first()) ?? missing(node);
}

export async function writeClusters(file: string, ...worlds: readonly World[]): Promise<void> {
  await writeFile(file, stringify({ clusters: worlds.map(({ entry }) => entry) }, { lineWidth: 0 }));
}

function missing(node: string): never {
  throw new Error(`nothing is known of ${node}`);
}

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterEntry } from "#config/cluster.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildClusterEntry, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import type { HostileWorld } from "#test/adversarial/attack.ts";
import { repeat } from "#test/adversarial/hostile-nodes.ts";
import { type Attacked, startAttackedFunctions, startAttackedRelay } from "#test/adversarial/processes.ts";
import { type HostileServer, startHostileServer } from "#test/adversarial/server.ts";
import { connectAsTenant, type Tenant } from "#test/adversarial/tenant.ts";
import { buildRunningInstance, getAddress } from "#test/clouds/memory/running-instance.ts";

/**
 * A relay with two clusters, one of them hostile, and its functions; relay and functions each have their own
 * process.
 */
export interface HostileStage {
  readonly relay: Attacked;
  readonly functions: Attacked;
  readonly hostile: HostileServer;
  /** The owner of the honest cluster. */
  readonly honest: Tenant;
  /** The attacker, while it behaves. */
  readonly attacker: Tenant;
  /** Returns status and text of one of the relay's pages. */
  page(path: string): Promise<readonly [status: number, text: string]>;
  close(): Promise<void>;
}

/** Machines of each tenant. */
const MACHINES = 100;

/**
 * Foreign machines that the attacker names: one of another account, one that the cloud hides, and a missing
 * one.
 */
export const OTHERS: HostileWorld["others"] = ["foreign", "denied", "unknown"].map((name) => ({
  name,
  providerID: `memory:///zone-a/${name}`,
}));

/** What the attacker must not learn about the foreign machine. */
export const SECRETS = ["account-of-another", "network-of-another"] as const;

/** Starts everything, at rest and healthy; the relay may know the attacker's API server by several names. */
export async function setHostileStage(hostileClusters = 1): Promise<HostileStage> {
  const folder = await mkdtemp(join(tmpdir(), "hostile-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const hostile = await startHostileServer({
      folder: join(folder, "hostile"),
      machines: repeat(MACHINES, (index) => ({ name: `attacker-${index}` })),
      others: OTHERS,
      bytesPerSecond: 30_000_000,
    });
    closers.push(() => hostile.close());
    const plane = await startEmbeddedControlPlane({ folder: join(folder, "honest") });
    closers.push(() => plane.close());
    const clustersFile = await writeClusters(folder, plane, hostile.plane, hostileClusters);
    const functions = await startAttackedFunctions({ CLUSTERS_FILE: clustersFile });
    closers.push(() => functions.stop());
    const relay = await startAttackedRelay(clustersFile, {
      AWS_REGION: "us-east-1",
      AWS_ACCESS_KEY_ID: "x",
      AWS_SECRET_ACCESS_KEY: "x",
      AWS_ENDPOINT_URL_LAMBDA: functions.url,
    });
    closers.push(() => relay.stop());
    const honest = await connectAsTenant(plane, "honest");
    closers.push(() => honest.close());
    const attacker = await connectAsTenant(hostile.plane, "attacker");
    closers.push(() => attacker.close());
    return {
      relay,
      functions,
      hostile,
      honest,
      attacker,
      page: async (path) => {
        const answer = await fetch(`${relay.url}${path}`);
        return [answer.status, await answer.text()];
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function writeClusters(
  folder: string,
  honest: EmbeddedControlPlane,
  hostile: EmbeddedControlPlane,
  hostileClusters: number,
): Promise<string> {
  const instancesFile = join(folder, "instances.json");
  const names = ["honest", "attacker"].flatMap((tenant) => repeat(MACHINES, (index) => `${tenant}-${index}`));
  const [account, network] = SECRETS;
  const others = [
    { ...buildRunningInstance("foreign", getAddress(0)), account, network, foreign: true },
    { ...buildRunningInstance("denied", getAddress(1)), account, network, error: "Denied" },
  ];
  const own = names.map((name, index) => buildRunningInstance(name, getAddress(index)));
  await writeFile(instancesFile, JSON.stringify({ instances: [...own, ...others] }));
  const cloud = { provider: "memory", instancesFile } as const;
  const clustersFile = join(folder, "clusters.yaml");
  const nodes: ClusterEntry["nodes"] = { lookAhead: ["node-claims"] };
  await writeClustersFile(
    clustersFile,
    buildClusterEntry(honest, { name: "honest", cloud, nodes }),
    ...repeat(hostileClusters, (index) =>
      buildClusterEntry(hostile, { name: index === 0 ? "hostile" : `hostile-${index}`, cloud, nodes }),
    ),
  );
  return clustersFile;
}

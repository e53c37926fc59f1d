import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { clusterEntryOf, writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { addressAt, runningInstance } from "#test/clouds/memory/running-instance.ts";
import type { HostileWorld } from "#test/hostile/attack.ts";
import { times } from "#test/hostile/hostile-nodes.ts";
import { type Attacked, startAttackedFunctions, startAttackedRelay } from "#test/hostile/processes.ts";
import { type HostileServer, startHostileServer } from "#test/hostile/server.ts";
import { connectAsTenant, type Tenant } from "#test/hostile/tenant.ts";

/** A relay of two clusters, one of them hostile, with its functions; each of the two in a process of its own. */
export interface HostileStage {
  readonly relay: Attacked;
  readonly functions: Attacked;
  readonly hostile: HostileServer;
  /** The owner of the cluster that is none of the attacker's. */
  readonly honest: Tenant;
  /** The attacker, while it behaves. */
  readonly attacker: Tenant;
  /** Status and text of one of the relay's pages. */
  page(path: string): Promise<readonly [status: number, text: string]>;
  close(): Promise<void>;
}

/** Machines of each tenant. */
const MACHINES = 100;

/** Machines of others, as the attacker knows them: one that is another's, one that the cloud will not tell of, and none. */
export const OTHERS: HostileWorld["others"] = ["foreign", "denied", "unknown"].map((name) => ({
  name,
  providerID: `memory:///zone-a/${name}`,
}));

/** What the attacker must not learn of the machine of another. */
export const SECRETS = ["account-of-another", "network-of-another"] as const;

/** Starts all of it, at rest and well; the relay may know the attacker's API server by several names. */
export async function setHostileStage(hostileClusters = 1): Promise<HostileStage> {
  const folder = await mkdtemp(join(tmpdir(), "hostile-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const hostile = await startHostileServer({
      folder: join(folder, "hostile"),
      machines: times(MACHINES, (index) => ({ name: `attacker-${index}` })),
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
  const names = ["honest", "attacker"].flatMap((tenant) => times(MACHINES, (index) => `${tenant}-${index}`));
  const [account, network] = SECRETS;
  const others = [
    { ...runningInstance("foreign", addressAt(0)), account, network, foreign: true },
    { ...runningInstance("denied", addressAt(1)), account, network, error: "Denied" },
  ];
  const own = names.map((name, index) => runningInstance(name, addressAt(index)));
  await writeFile(instancesFile, JSON.stringify({ instances: [...own, ...others] }));
  const cloud = { provider: "memory", instancesFile } as const;
  const clustersFile = join(folder, "clusters.yaml");
  await writeClustersFile(
    clustersFile,
    clusterEntryOf(honest, { name: "honest", cloud }),
    ...times(hostileClusters, (index) =>
      clusterEntryOf(hostile, { name: index === 0 ? "hostile" : `hostile-${index}`, cloud }),
    ),
  );
  return clustersFile;
}

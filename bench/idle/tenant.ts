import * as z from "zod";
import { type BenchStage, CLUSTER_TAG } from "#bench/stage.ts";
import type { ClusterEntry } from "#config/cluster.ts";
import { IDENTITIES } from "#core/identities.ts";
import { buildClusterEntry, type EntryPlane } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";

/** A planned cluster, and its nodes. */
export const TenantPlan = z.strictObject({
  name: z.string(),
  /** The folder of all files of its control plane. */
  folder: z.string(),
  nodes: z.array(z.strictObject({ name: z.string(), providerID: z.string() })).min(1),
});
export type TenantPlan = z.output<typeof TenantPlan>;

const TOKENS_OF = ["admin", ...IDENTITIES] as const;

/** A cluster with a running API server, and the locations of its files. */
export const Tenant = z.strictObject({
  name: z.string(),
  server: z.string(),
  certificateAuthorityFile: z.string(),
  /** By the key of the token's user. */
  tokenFiles: z.record(z.enum(TOKENS_OF), z.string()),
});
export type Tenant = z.output<typeof Tenant>;

/** Names a cluster of a bench; the first is the one of the stage, to which the stock controller can connect. */
export function nameTenant(index: number): string {
  return index === 0 ? CLUSTER_TAG : `tenant-${index}`;
}

/** Adds running instances of a cluster, and returns their nodes. */
export async function addMachines(
  { ec2 }: Pick<BenchStage, "ec2">,
  count: number,
  cluster: string,
): Promise<TenantPlan["nodes"]> {
  const instances = await ec2.addInstances(count, cluster);
  return instances.map(({ privateDnsName: name, availabilityZone, id }) => {
    return { name, providerID: `aws:///${availabilityZone}/${id}` };
  });
}

/** Returns the locations of a control plane's files. */
export function toTenant(name: string, plane: ControlPlane): Tenant {
  return {
    name,
    server: plane.server,
    certificateAuthorityFile: plane.certificateAuthorityFile,
    tokenFiles: Object.fromEntries(TOKENS_OF.map((user) => [user, plane.tokenFile(user)])) as Record<
      (typeof TOKENS_OF)[number],
      string
    >,
  };
}

/** Signs in as admin, who registers nodes. */
export async function connectAsAdmin(tenant: Tenant): Promise<Transport> {
  return connect(await getConnectOptions(toEntryPlane(tenant), "admin"));
}

/** Builds the entry of a clusters file. The instances' tags have the cluster's name. */
export function buildEntry(
  tenant: Tenant,
  cloud: { readonly region: string; readonly vpc: string },
): ClusterEntry {
  const { name } = tenant;
  return buildClusterEntry(toEntryPlane(tenant), {
    name,
    cloud: { provider: "aws", ...cloud, clusterTag: name },
  });
}

function toEntryPlane({ server, certificateAuthorityFile, tokenFiles }: Tenant): EntryPlane {
  return { server, certificateAuthorityFile, tokenFile: (user) => tokenFiles[user] };
}

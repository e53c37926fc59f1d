import * as z from "zod";
import type { ClusterEntry } from "#config/cluster.ts";
import { IDENTITIES } from "#core/identities.ts";
import { clusterEntryOf, type EntryPlane } from "#emulators/harness/clusters-file.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { access } from "#test/access.ts";

/** A cluster that is to be, and its nodes. */
export const TenantPlan = z.strictObject({
  name: z.string(),
  /** For all files of its control plane. */
  folder: z.string(),
  nodes: z.array(z.strictObject({ name: z.string(), providerID: z.string() })).min(1),
});
export type TenantPlan = z.output<typeof TenantPlan>;

const TOKENS_OF = ["admin", ...IDENTITIES] as const;

/** A cluster whose API server runs, and where everything about it is. */
export const Tenant = z.strictObject({
  name: z.string(),
  server: z.string(),
  certificateAuthorityFile: z.string(),
  /** By the key of the user whose it is. */
  tokenFiles: z.record(z.enum(TOKENS_OF), z.string()),
});
export type Tenant = z.output<typeof Tenant>;

/** Where a control plane's things are. */
export function tenantOf(name: string, plane: ControlPlane): Tenant {
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

/** Signs in as the world outside: who registers nodes. */
export async function connectAsAdmin(tenant: Tenant): Promise<Transport> {
  return connect(await access(planeOf(tenant), "admin"));
}

/** The entry of a clusters file. */
export function entryOf(
  tenant: Tenant,
  cloud: { readonly region: string; readonly vpc: string; readonly clusterTag: string },
): ClusterEntry {
  return clusterEntryOf(planeOf(tenant), { name: tenant.name, cloud: { provider: "aws", ...cloud } });
}

function planeOf({ server, certificateAuthorityFile, tokenFiles }: Tenant): EntryPlane {
  return { server, certificateAuthorityFile, tokenFile: (user) => tokenFiles[user] };
}

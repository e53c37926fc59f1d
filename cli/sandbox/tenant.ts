import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import type { ClusterEntry } from "#config/cluster.ts";
import { CONFIG_MAPS, formatCreationPath, LEASES, type Resource } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A cluster of the sandbox, with an API server and a network of its own. */
export interface Tenant {
  readonly name: string;
  readonly plane: ControlPlane;
  readonly cloud: ClusterEntry["cloud"];
  close(): Promise<void>;
}

/** What an operator applies to a cluster besides rights, which the embedded API server grants itself. */
const STATE: readonly (readonly [Resource, string])[] = [
  [CONFIG_MAPS, "config-map.yaml"],
  [LEASES, "relay-lease.yaml"],
];

/**
 * Starts an API server whose files are in a folder, among them `curl` for curl and `cloud.yaml` for `clusters
 * add`.
 */
export async function startTenant(
  folder: string,
  { name, vpc, region }: { readonly name: string; readonly vpc: string; readonly region: string },
): Promise<Tenant> {
  const plane = await startEmbeddedControlPlane({ folder });
  const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
  const admin = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
  await applyState(admin);
  await admin.close();
  await plane.kubeconfig("admin");
  const curl = [
    `cacert = ${JSON.stringify(plane.certificateAuthorityFile)}`,
    `header = "Authorization: Bearer ${token}"`,
    'header = "Content-Type: application/json"',
  ];
  await writeFile(join(folder, "curl"), `${curl.join("\n")}\n`, { mode: 0o600 });
  await writeFile(join(folder, "cloud.yaml"), stringify({ region, vpc }));
  return { name, plane, cloud: { provider: "aws", region, vpc }, close: () => plane.close() };
}

async function applyState(admin: Transport): Promise<void> {
  for (const [resource, file] of STATE) {
    const body: unknown = parse(await readFile(join(PROJECT_FOLDER, "infra/state", file), "utf8"));
    const answer = await admin.send({
      method: "POST",
      path: formatCreationPath(resource, "kube-system"),
      body,
    });
    if (answer.status !== 201)
      throw new Error(`applying ${file} was answered ${answer.status}: ${answer.body}`);
  }
}

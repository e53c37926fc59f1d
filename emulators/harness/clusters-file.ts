import { writeFile } from "node:fs/promises";
import type { ClusterEntry } from "#config/cluster.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/** What an entry takes of a control plane. */
export type EntryPlane = Pick<ControlPlane, "server" | "certificateAuthorityFile" | "tokenFile">;

/** The entry of a control plane in a clusters file: the relay and each function sign in with the token that it made for them. */
export function clusterEntryOf(
  plane: EntryPlane,
  entry: Pick<ClusterEntry, "name" | "cloud"> & Partial<ClusterEntry>,
): ClusterEntry {
  return {
    server: plane.server,
    certificateAuthorityFile: plane.certificateAuthorityFile,
    signIn: {
      relay: { kind: "token-file", file: plane.tokenFile("relay") },
      ...Object.fromEntries(
        FUNCTION_IDENTITIES.map((name) => [name, { kind: "token-file", file: plane.tokenFile(name) }]),
      ),
    },
    ...entry,
  };
}

/** Writes a clusters file; entries may be such as no cluster has. */
export async function writeClustersFile(file: string, ...entries: readonly unknown[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ clusters: entries }, undefined, 2)}\n`);
}

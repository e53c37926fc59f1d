import { writeFile } from "node:fs/promises";
import type { ClusterEntry } from "#config/cluster.ts";
import { FUNCTION_IDENTITIES } from "#core/identities.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/** The parts of a control plane that an entry needs. */
export type EntryPlane = Pick<ControlPlane, "server" | "certificateAuthorityFile" | "tokenFile">;

/**
 * Builds a control plane's entry in a clusters file: the relay and each function sign in with their own
 * tokens.
 */
export function buildClusterEntry(
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

/** Writes a clusters file; entries may be invalid. */
export async function writeClustersFile(file: string, ...entries: readonly unknown[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ clusters: entries }, undefined, 2)}\n`);
}

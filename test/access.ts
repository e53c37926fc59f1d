import { readFile } from "node:fs/promises";
import type { EntryPlane } from "#emulators/harness/clusters-file.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import type { ConnectOptions } from "#kube/client/connect.ts";

/** Returns the options for a user's connection to a control plane, with the token in its file. */
export async function getConnectOptions(
  plane: EntryPlane,
  user: keyof ControlPlaneUsers,
): Promise<ConnectOptions> {
  const token = (await readFile(plane.tokenFile(user), "utf8")).trim();
  return {
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  };
}

import { readFile } from "node:fs/promises";
import type { ControlPlane, ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";

/** Signs in to a control plane as one of its users. */
export async function connectAs(plane: ControlPlane, user: keyof ControlPlaneUsers): Promise<Transport> {
  const token = (await readFile(plane.tokenFile(user), "utf8")).trim();
  return connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
}

import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { EmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { joiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";

/** Registers a node that joins, as the cluster's administrator. */
export async function registerNode(plane: EmbeddedControlPlane, name: string): Promise<void> {
  const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
  const admin = connect({
    server: plane.server,
    certificateAuthority: await readFile(plane.certificateAuthorityFile, "utf8"),
    authorization: async () => `Bearer ${token}`,
  });
  const { status } = await admin.send({
    method: "POST",
    path: "/api/v1/nodes",
    body: joiningNode({ name }),
  });
  expect(status).toBe(201);
  await admin.close();
}

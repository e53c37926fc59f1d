import { expect } from "vitest";
import type { EntryPlane } from "#emulators/harness/clusters-file.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";

/** Registers a joining node, as the cluster's administrator. */
export async function registerNode(plane: EntryPlane, name: string): Promise<void> {
  const admin = connect(await getConnectOptions(plane, "admin"));
  const { status } = await admin.send({
    method: "POST",
    path: "/api/v1/nodes",
    body: buildJoiningNode({ name }),
  });
  expect(status).toBe(201);
  await admin.close();
}

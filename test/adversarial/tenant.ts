import * as z from "zod";
import { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { EmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** The owner of a cluster, who sees its content. */
export interface Tenant {
  /** Adds its own machine, and waits until its node is initialized. */
  getsANode(): Promise<void>;
  /** Waits until all nodes are initialized. */
  getsAllNodes(): Promise<void>;
  /** Returns all objects that we may have written: nodes and Events, as JSON. */
  reads(): Promise<string>;
  close(): Promise<void>;
}

/** Signs in as the admin of a cluster with the machines `PREFIX-0`, `PREFIX-1` and so on. */
export async function connectAsTenant(plane: EmbeddedControlPlane, prefix: string): Promise<Tenant> {
  const admin = connect(await getConnectOptions(plane, "admin"));
  // Attacks take machines from the other end.
  let next = LAST_MACHINE;
  const read = async (path: string): Promise<string> => (await ask(admin, { method: "GET", path })).body;
  return {
    async getsANode() {
      const name = `${prefix}-${next}`;
      next -= 1;
      await ask(admin, { method: "POST", path: "/api/v1/nodes", body: buildJoiningNode({ name }) });
      await waitUntilTrue(`${name} to be initialized`, async () => {
        const node = Node.parse(await askForJson(admin, { method: "GET", path: `/api/v1/nodes/${name}` }));
        return (
          !isUninitialized(node) && (node.status.addresses ?? []).some(({ type }) => type === "InternalIP")
        );
      });
    },
    getsAllNodes: () =>
      waitUntilTrue("all nodes to be initialized", async () => {
        const { items } = NodeList.parse(await askForJson(admin, { method: "GET", path: "/api/v1/nodes" }));
        return !items.some(isUninitialized);
      }),
    reads: async () => {
      const nodes = await read("/api/v1/nodes");
      return `${nodes}\n${await read("/api/v1/namespaces/default/events")}`;
    },
    close: () => admin.close(),
  };
}

const LAST_MACHINE = 99;

const NodeList = z.object({ items: z.array(Node) });

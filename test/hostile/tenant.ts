import * as z from "zod";
import { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { EmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { joiningNode } from "#emulators/harness/joining-node.ts";
import { connect } from "#kube/client/connect.ts";
import { access } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";
import { untilTrue } from "#test/until-true.ts";

/** The owner of a cluster, who sees what is in it. */
export interface Tenant {
  /** Has a machine of its own join, and waits until its node is initialized. */
  getsANode(): Promise<void>;
  /** Waits until all nodes are initialized. */
  getsAllNodes(): Promise<void>;
  /** Everything in the cluster that we may have written to: nodes and Events, as JSON. */
  reads(): Promise<string>;
  close(): Promise<void>;
}

/** Signs in as the admin of a cluster whose machines are `PREFIX-0`, `PREFIX-1` and so on. */
export async function connectAsTenant(plane: EmbeddedControlPlane, prefix: string): Promise<Tenant> {
  const admin = connect(await access(plane, "admin"));
  // Attacks take machines from the other end.
  let next = LAST_MACHINE;
  const read = async (path: string): Promise<string> => (await ask(admin, { method: "GET", path })).body;
  return {
    async getsANode() {
      const name = `${prefix}-${next}`;
      next -= 1;
      await ask(admin, { method: "POST", path: "/api/v1/nodes", body: joiningNode({ name }) });
      await untilTrue(`${name} to be initialized`, async () => {
        const node = Node.parse(await askForJson(admin, { method: "GET", path: `/api/v1/nodes/${name}` }));
        return (
          !isUninitialized(node) && (node.status.addresses ?? []).some(({ type }) => type === "InternalIP")
        );
      });
    },
    getsAllNodes: () =>
      untilTrue("all nodes to be initialized", async () => {
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

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Node } from "#core/node/node.ts";
import type { ControlPlane, ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { buildJoiningNode, type JoiningNodeOptions } from "#emulators/harness/joining-node.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";

/** A control plane, the transport of our node function, and the world outside, which acts as admin. */
export interface ClusterUnderTest {
  readonly plane: ControlPlane;
  /** Signed in as the node function is. */
  readonly functions: Transport;
  transport(user: keyof ControlPlaneUsers, options?: Partial<ConnectOptions>): Promise<Transport>;
  /** Registers a node as a kubelet does, and answers it was stored. */
  join(options: JoiningNodeOptions): Promise<Node>;
  read(name: string): Promise<Node>;
  /** Patches as admin with any field manager; fails the test if the patch fails. */
  patch(path: string, operations: readonly unknown[]): Promise<void>;
  remove(name: string): Promise<void>;
  /** The Events recorded on a node. */
  events(object: { readonly metadata: { readonly uid: string } }): Promise<readonly RecordedEvent[]>;
  close(): Promise<void>;
}

export interface RecordedEvent {
  readonly metadata: { readonly name: string };
  readonly involvedObject: Readonly<Record<string, string>>;
  readonly source: { readonly component: string };
  readonly [field: string]: unknown;
}

/** Starts a control plane in a folder of its own; `close` leaves nothing behind. */
export async function startCluster(
  start: (folder: string) => Promise<ControlPlane>,
): Promise<ClusterUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "kube-"));
  const plane = await start(folder);
  const open: Transport[] = [];
  const transport = async (
    user: keyof ControlPlaneUsers,
    options: Partial<ConnectOptions> = {},
  ): Promise<Transport> => {
    const made = connect({ ...(await getConnectOptions(plane, user)), ...options });
    open.push(made);
    return made;
  };
  const admin = await transport("admin");
  const functions = await transport("node");
  const ask = (request: ApiRequest): Promise<unknown> => askForJson(admin, request);
  return {
    plane,
    functions,
    transport,
    join: async (options) => {
      const node = buildJoiningNode(options);
      await ask({ method: "POST", path: "/api/v1/nodes", body: node });
      return Node.parse(await ask({ method: "GET", path: `/api/v1/nodes/${options.name}` }));
    },
    read: async (name) => Node.parse(await ask({ method: "GET", path: `/api/v1/nodes/${name}` })),
    patch: async (path, operations) => {
      const contentType = "application/json-patch+json";
      await ask({ method: "PATCH", path: `/api/v1/nodes/${path}`, body: operations, contentType });
    },
    remove: async (name) => {
      await ask({ method: "DELETE", path: `/api/v1/nodes/${name}` });
    },
    events: async ({ metadata }) => {
      const list = await ask({ method: "GET", path: "/api/v1/namespaces/default/events" });
      const { items } = list as { items: readonly RecordedEvent[] };
      return items.filter((event) => event.involvedObject["uid"] === metadata.uid);
    },
    close: async () => {
      await Promise.all(open.map((transport) => transport.close()));
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

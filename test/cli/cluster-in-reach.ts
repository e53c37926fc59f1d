import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ReachFlags } from "#cli/clusters/reach-cluster.ts";
import { type EmbeddedControlPlane, startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask, askForJson } from "#test/ask.ts";

/** A cluster on an embedded API server, for commands to reach. */
export interface ClusterInReach {
  readonly folder: string;
  readonly plane: EmbeddedControlPlane;
  readonly admin: Transport;
  /** Returns the flags with which a command reaches it as this user. */
  flags(as: keyof ControlPlaneUsers, more?: Partial<ReachFlags>): Promise<ReachFlags>;
  /** Creates or replaces an object; rejects if the server does. */
  put(path: string, body: object): Promise<void>;
  get(path: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts an empty embedded API server. */
export async function startClusterInReach(): Promise<ClusterInReach> {
  const folder = await mkdtemp(join(tmpdir(), "in-reach-"));
  const plane = await startEmbeddedControlPlane({ folder: join(folder, "plane") });
  const admin = connect(await getConnectOptions(plane, "admin"));
  return {
    folder,
    plane,
    admin,
    async flags(as, more = {}) {
      const kubeconfig = await plane.kubeconfig(as);
      const given = new Set(["--kubeconfig"]);
      return { clusterName: "tenant-a", controllers: "*", kubeconfig, given, ...more };
    },
    async put(path, body) {
      const { pathname } = new URL(path, "https://a");
      const collection = pathname.slice(0, pathname.lastIndexOf("/"));
      await admin.send({ method: "DELETE", path });
      await ask(admin, { method: "POST", path: collection, body });
    },
    get: (path) => askForJson(admin, { method: "GET", path }),
    async close() {
      await admin.close();
      await plane.close();
      await rm(folder, { recursive: true });
    },
  };
}

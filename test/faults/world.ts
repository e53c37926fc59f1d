import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import { ask } from "#test/ask.ts";
import type { ObservedNode } from "#test/faults/foreign.ts";
import { type NakedNodeWitness, witnessNakedNodes } from "#test/witness/naked-nodes.ts";

/** A real API server that rows share, and the world outside, which acts as admin. */
export interface World {
  readonly folder: string;
  readonly plane: KubeApiserver;
  readonly admin: Transport;
  readonly naked: NakedNodeWitness;
  /** Sends a request; fails the row unless it succeeds. */
  ask(request: ApiRequest): Promise<ApiResponse>;
  /** Returns all nodes, page by page. */
  nodes(): Promise<readonly ObservedNode[]>;
  /** Removes all nodes, and resolves when none is left. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** Starts it; the caller closes it. */
export async function startWorld(binaries: ControlPlaneBinaries): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "faults-"));
  const plane = await startKubeApiserver({ folder: join(folder, "control-plane"), binaries });
  const admin = connect({
    ...(await getConnectOptions(plane, "admin")),
    maxQueued: 20_000,
    requestTimeoutMs: 60_000,
  });
  const nodes = async (): Promise<readonly ObservedNode[]> => {
    const all: ObservedNode[] = [];
    for (let token: string | undefined = ""; token !== undefined; ) {
      const { body } = await ask(admin, { method: "GET", path: `/api/v1/nodes?limit=500&continue=${token}` });
      const page = JSON.parse(body) as { items: ObservedNode[]; metadata: { continue?: string } };
      all.push(...page.items);
      token = page.metadata.continue;
    }
    return all;
  };
  return {
    folder,
    plane,
    admin,
    naked: await witnessNakedNodes(plane, admin),
    ask: (request) => ask(admin, request),
    nodes,
    clear: async () => {
      for (const { metadata } of (await nodes()).filter(({ metadata }) => metadata.deletionTimestamp)) {
        const body = [{ op: "remove", path: "/metadata/finalizers" }];
        const contentType = "application/json-patch+json";
        await ask(admin, { method: "PATCH", path: `/api/v1/nodes/${metadata.name}`, contentType, body });
      }
      // One by one, as the answer to the deletion of a collection contains all of it.
      const left = (await nodes()).values();
      const worker = async (): Promise<void> => {
        for (const { metadata } of left)
          await admin.send({ method: "DELETE", path: `/api/v1/nodes/${metadata.name}` });
      };
      await Promise.all(Array.from({ length: 64 }, worker));
    },
    close: async () => {
      await admin.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

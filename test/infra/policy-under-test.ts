import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import type { ControlPlaneUser, ControlPlaneUsers } from "#emulators/harness/control-plane.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

/** A real API server with policies of infra/admission. */
export interface PolicyUnderTest {
  readonly plane: KubeApiserver;
  readonly cluster: ClusterUnderTest;
  /** Sends a request as one of our users, or as a further user. */
  send(user: string, request: ApiRequest): Promise<ApiResponse>;
  /** Sends a JSON patch of a node, or of `NAME/status`. */
  patchNode(user: string, path: string, body: readonly unknown[]): Promise<ApiResponse>;
  close(): Promise<void>;
}

/** What the API server has in addition to the policies. */
export interface PolicyWorld {
  readonly users?: readonly ControlPlaneUser[];
  /** Further manifests. */
  readonly manifests?: readonly string[];
}

/**
 * Starts an API server with policies. Resolves when it rejects `probe`, which only the last policy rejects.
 */
export async function startPolicy(
  binaries: ControlPlaneBinaries,
  policies: readonly string[],
  probe: (under: PolicyUnderTest) => Promise<ApiResponse>,
  { users = [], manifests = [] }: PolicyWorld = {},
): Promise<PolicyUnderTest> {
  let plane: KubeApiserver | undefined;
  const cluster = await startCluster(async (folder) => {
    plane = await startKubeApiserver({ folder, binaries, users });
    return plane;
  });
  if (plane === undefined) throw new Error("the control plane was not started");
  const started = plane;
  const transports = new Map<string, Promise<Transport>>();
  const send: PolicyUnderTest["send"] = async (user, request) => {
    // The tokens of further users are stored by user name, ours by key.
    const transport = transports.get(user) ?? cluster.transport(user as keyof ControlPlaneUsers);
    transports.set(user, transport);
    return (await transport).send(request);
  };
  const under: PolicyUnderTest = {
    plane: started,
    cluster,
    send,
    patchNode: (user, path, body) =>
      send(user, {
        method: "PATCH",
        path: `/api/v1/nodes/${path}`,
        body,
        contentType: "application/json-patch+json",
      }),
    close: () => cluster.close(),
  };
  for (const path of [...manifests, ...policies.map(getPolicyFile)]) await started.apply(path);
  await vi.waitFor(async () => expect((await probe(under)).status).toBe(422), { timeout: 30_000 });
  return under;
}

/** Returns the file of a policy in infra/admission, such as `node.yaml`. */
export function getPolicyFile(name: string): string {
  return fileURLToPath(new URL(`../../infra/admission/${name}`, import.meta.url));
}

/** Returns the code of an answer, and the message of a rejection. */
export function getRefusal({ status, body }: ApiResponse): readonly [number, string] {
  return [status, status < 300 ? "" : String(JSON.parse(body).message)];
}

/** Returns an `add` operation of a JSON patch. */
export const add = (path: string, value: unknown): unknown => ({ op: "add", path, value });
export const remove = (path: string): unknown => ({ op: "remove", path });

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildEntryOptions } from "#config/registry/kubernetes/build-entry.ts";
import { type EntryDefaults, parseEntryDefaults } from "#config/registry/kubernetes/entry-defaults.ts";
import { createKubernetesRegistry } from "#config/registry/kubernetes/kubernetes-registry.ts";
import type { ClusterRegistry } from "#config/registry/registry.ts";
import {
  type ControlPlaneBinaries,
  type KubeApiserver,
  startKubeApiserver,
} from "#emulators/harness/kube-apiserver.ts";
import { connect } from "#kube/client/connect.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";

/** A management cluster on a real API server, of which each test has a namespace of its own. */
export interface ManagementStage {
  readonly plane: KubeApiserver;
  readonly admin: Transport;
  /** Makes a namespace, and the home of what is in it. */
  openNamespace(
    defaults?: string,
    settings?: Omit<BuildEntryOptions, "home" | "defaults">,
  ): Promise<{ readonly namespace: string; readonly home: ClusterRegistry }>;
  /** Writes a Secret, made or changed. */
  putSecret(secret: WrittenSecret): Promise<void>;
  /** Sends a request as the administrator of the management cluster; rejects unless the answer is of the 200s. */
  ask(method: ApiRequest["method"], path: string, body?: unknown, contentType?: string): Promise<string>;
  close(): Promise<void>;
}

export interface WrittenSecret {
  readonly namespace: string;
  readonly name: string;
  readonly type?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** As text. */
  readonly data: Readonly<Record<string, string>>;
}

/** Defaults of clusters that need no more than where they are. */
export const DEFAULTS = "cloud: { provider: memory, instancesFile: instances.json }";

export async function startManagement(binaries: ControlPlaneBinaries): Promise<ManagementStage> {
  const folder = await mkdtemp(join(tmpdir(), "management-"));
  const plane = await startKubeApiserver({ folder, binaries, manifests: [] });
  const options = await getConnectOptions(plane, "admin");
  const admin = connect(options);
  let namespaces = 0;

  async function ask(
    method: ApiRequest["method"],
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<string> {
    const request = { method, path, body, ...(contentType === undefined ? {} : { contentType }) };
    const answer = await admin.send(request);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
    return answer.body;
  }

  return {
    plane,
    admin,
    ask,
    async openNamespace(defaults = DEFAULTS, settings = {}) {
      namespaces += 1;
      const namespace = `test-${namespaces}`;
      await ask("POST", "/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      });
      const parsed: EntryDefaults = parseEntryDefaults(defaults, "defaults.yaml");
      const home = createKubernetesRegistry({
        reference: `kubernetes:?namespace=${namespace}`,
        namespace,
        defaults: parsed,
        ...settings,
        connect: async () => connect(options),
        now: () => performance.now(),
      });
      return { namespace, home };
    },
    async putSecret({ namespace, name, type, labels, annotations, data }) {
      const path = `/api/v1/namespaces/${namespace}/secrets`;
      const metadata = { name, labels: labels ?? {}, annotations: annotations ?? {} };
      const body = { apiVersion: "v1", kind: "Secret", type: type ?? "Opaque", metadata, stringData: data };
      const made = await admin.send({ method: "POST", path, body });
      if (made.status === 409) await ask("PUT", `${path}/${name}`, body);
      else if (made.status >= 300) throw new Error(`${path}: ${made.status} ${made.body}`);
    },
    async close() {
      await admin.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A kubeconfig as providers of control planes write it. */
export function formatKubeconfig(
  server: string,
  user: Readonly<Record<string, unknown>>,
  cluster: Readonly<Record<string, unknown>> = {},
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseAllDocuments } from "yaml";
import { formatObjectPath } from "#core/resources/resource.ts";
import type { Transport } from "#kube/client/transport.ts";

/**
 * Applies the manifests of a YAML file, or of all YAML files of a folder, as `kubectl apply --server-side`
 * does. Rejects with the server's message at the first rejected one. Waits for a namespace that a server is
 * still creating.
 */
export async function applyManifests(transport: Transport, path: string): Promise<void> {
  for (const file of await listManifestFiles(path)) {
    for (const document of parseAllDocuments(await readFile(file, "utf8"))) {
      const manifest = document.toJS() as Manifest | null;
      if (manifest !== null) await applyManifest(transport, manifest, file);
    }
  }
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const NAMESPACE_TIMEOUT_MS = 30_000;

const RESOURCES: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  ConfigMap: "configmaps",
  CustomResourceDefinition: "customresourcedefinitions",
  FlowSchema: "flowschemas",
  Lease: "leases",
  PriorityLevelConfiguration: "prioritylevelconfigurations",
  Role: "roles",
  RoleBinding: "rolebindings",
  ServiceAccount: "serviceaccounts",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
  ValidatingAdmissionPolicyBinding: "validatingadmissionpolicybindings",
  ValidatingWebhookConfiguration: "validatingwebhookconfigurations",
};

async function applyManifest(transport: Transport, manifest: Manifest, file: string): Promise<void> {
  const { apiVersion, kind, metadata } = manifest;
  const resource = RESOURCES[kind];
  if (resource === undefined) throw new Error(`${file}: ${kind} ${metadata.name} is of no kind known here`);
  const path = formatObjectPath({ apiVersion, name: resource }, metadata);
  const send = () =>
    transport.send({
      method: "PATCH",
      path: `${path}?fieldManager=operator&force=true`,
      // JSON is YAML.
      contentType: "application/apply-patch+yaml",
      body: manifest,
    });
  let answer = await send();
  const deadline = performance.now() + NAMESPACE_TIMEOUT_MS;
  // kube-apiserver creates kube-system itself, some time after it is ready.
  while (metadata.namespace !== undefined && answer.status === 404 && performance.now() < deadline) {
    await sleep(50);
    answer = await send();
  }
  if (answer.status < 300) return;
  throw new Error(`${file}: applying ${kind} ${metadata.name} was answered ${answer.status}: ${answer.body}`);
}

async function listManifestFiles(path: string): Promise<readonly string[]> {
  if (/\.ya?ml$/.test(path)) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .map((name) => join(path, name));
}

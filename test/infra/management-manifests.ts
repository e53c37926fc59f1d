import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";
import { formatObjectPath } from "#core/resources/resource.ts";
import { ROOT } from "../../build/bundle.ts";

/** The folder of the manifests for a management cluster. */
export const MANAGEMENT = join(ROOT, "infra/management");

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
export type Manifest = z.output<typeof Manifest>;

const RESOURCES: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  ClusterRoleBinding: "clusterrolebindings",
  ConfigMap: "configmaps",
  Deployment: "deployments",
  Namespace: "namespaces",
  NetworkPolicy: "networkpolicies",
  PodDisruptionBudget: "poddisruptionbudgets",
  Role: "roles",
  RoleBinding: "rolebindings",
  Service: "services",
  ServiceAccount: "serviceaccounts",
};

/** Parses the manifests in a YAML text. */
export function parseManifests(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => Manifest.parse(document.toJS()));
}

/** Returns the files in a folder's kustomization, in order. */
export async function listResources(folder: string): Promise<readonly string[]> {
  const text = await readFile(join(folder, "kustomization.yaml"), "utf8");
  return z.object({ resources: z.array(z.string()) }).parse(parse(text)).resources;
}

/** Returns all manifests in a folder's kustomization. */
export async function readManifests(folder: string): Promise<readonly Manifest[]> {
  const names = await listResources(folder);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap(parseManifests);
}

/** Returns the manifest of a kind. */
export function findManifest(kind: string, manifests: readonly Manifest[]): Manifest {
  const found = manifests.filter((each) => each.kind === kind);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`there are ${found.length} of ${kind}`);
  return found[0];
}

/** Returns the path of a manifest's object in an API server. */
export function getManifestPath({ apiVersion, kind, metadata }: Manifest): string {
  const name = RESOURCES[kind];
  if (name === undefined) throw new Error(`${kind} ${metadata.name} is of no kind known here`);
  const { namespace } = metadata;
  return formatObjectPath(
    { apiVersion, name },
    { name: metadata.name, ...(namespace === undefined ? {} : { namespace }) },
  );
}

const Pod = z.looseObject({
  automountServiceAccountToken: z.boolean(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.looseObject({}),
  containers: z.tuple([
    z.looseObject({
      args: z.array(z.string()),
      env: z.array(z.looseObject({ name: z.string() })),
      securityContext: z.looseObject({}),
      livenessProbe: z.object({ httpGet: z.looseObject({ path: z.string() }) }).loose(),
      readinessProbe: z.object({ httpGet: z.looseObject({ path: z.string() }) }).loose(),
      ports: z.tuple([z.object({ name: z.string(), containerPort: z.number() })]),
    }),
  ]),
});

const Deployment = z.object({
  spec: z.object({
    replicas: z.number(),
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }), spec: Pod }),
  }),
});
export type DeploymentSpec = z.output<typeof Deployment>["spec"];

/** Returns the Deployment among manifests. */
export function getDeployment(manifests: readonly Manifest[]): DeploymentSpec {
  return Deployment.parse(findManifest("Deployment", manifests)).spec;
}

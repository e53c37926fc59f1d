import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";
import { objectPath } from "#core/resources/resource.ts";
import { ROOT } from "../../build/bundle.ts";

/** Where the manifests for a management cluster are. */
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

/** The manifests in a text of YAML. */
export function manifestsIn(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => Manifest.parse(document.toJS()));
}

/** The files that the kustomization of a folder names, in its order. */
export async function resourcesOf(folder: string): Promise<readonly string[]> {
  const text = await readFile(join(folder, "kustomization.yaml"), "utf8");
  return z.object({ resources: z.array(z.string()) }).parse(parse(text)).resources;
}

/** All manifests that the kustomization of a folder names. */
export async function manifestsOf(folder: string): Promise<readonly Manifest[]> {
  const names = await resourcesOf(folder);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  return texts.flatMap(manifestsIn);
}

/** The one of a kind. */
export function oneOf(kind: string, manifests: readonly Manifest[]): Manifest {
  const found = manifests.filter((each) => each.kind === kind);
  if (found.length !== 1 || found[0] === undefined) throw new Error(`there are ${found.length} of ${kind}`);
  return found[0];
}

/** Where a manifest's object is in an API server. */
export function pathOfManifest({ apiVersion, kind, metadata }: Manifest): string {
  const name = RESOURCES[kind];
  if (name === undefined) throw new Error(`${kind} ${metadata.name} is of no kind known here`);
  const { namespace } = metadata;
  return objectPath(
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

/** The Deployment among manifests. */
export function deploymentOf(manifests: readonly Manifest[]): DeploymentSpec {
  return Deployment.parse(oneOf("Deployment", manifests)).spec;
}

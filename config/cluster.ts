import * as z from "zod";
import { CloudConfig, cloudKindOf } from "#clouds/kinds.ts";
import { ClusterName, ControllerName } from "#core/event.ts";
import { Policies } from "#core/policies.ts";

const filePath = z.string().min(1);

/** How an identity signs in. Secrets are named by file, never held here: a cluster entry may be printed. */
export const SignIn = z.discriminatedUnion("kind", [
  /** A bearer token in a file, read again when it changes (a bound service account token is rotated). */
  z.strictObject({ kind: z.literal("token-file"), file: filePath }),
  /** A client certificate and its key in PEM files. */
  z.strictObject({ kind: z.literal("client-certificate"), certificateFile: filePath, keyFile: filePath }),
  /** Whatever a kubeconfig says, exec plugins included; for the relay and the command line, not for functions. */
  z.strictObject({ kind: z.literal("kubeconfig"), file: filePath, context: z.string().min(1).optional() }),
]);
export type SignIn = z.output<typeof SignIn>;

/** Bounds of what is done for one cluster at a time. */
export const Limits = z.strictObject({
  /** Invocations in flight, over all controllers. */
  invocations: z.int().min(1).max(100).prefault(4),
  /** Requests in flight to the API server from one function. */
  requestsPerFunction: z.int().min(1).max(128).prefault(32),
  /** The share of the account's API quotas that an event without a budget may spend. */
  floorShare: z.number().gt(0).max(1).prefault(0.05),
});
export type Limits = z.output<typeof Limits>;

/** One cluster, as relay and functions both read it. */
export const Cluster = z.strictObject({
  name: ClusterName,
  /** Base URL of the API server, https. */
  server: z.url({ protocol: /^https$/ }),
  /** PEM file with the API server's certificate authority; the system's authorities without it. */
  certificateAuthorityFile: filePath.optional(),
  /** Two identities, so that neither can do what only the other must. */
  signIn: z.strictObject({ relay: SignIn.optional(), functions: SignIn.optional() }).prefault({}),
  cloud: CloudConfig,
  controllers: z.array(ControllerName).min(1).prefault(["cloud-node-controller"]),
  limits: Limits.prefault({}),
  policies: Policies.prefault({}),
});
export type Cluster = z.output<typeof Cluster>;

/** Equal for clusters that spend from the same API quotas of a cloud. */
export function quotaKeyOf({ cloud }: Cluster): string {
  return cloudKindOf(cloud).quotaKey(cloud);
}

/** The file that holds clusters. */
export const ClustersFile = z
  .strictObject({ clusters: z.array(Cluster).min(1) })
  .refine((file) => new Set(file.clusters.map((cluster) => cluster.name)).size === file.clusters.length, {
    message: "two clusters have the same name",
    path: ["clusters"],
  });
export type ClustersFile = z.output<typeof ClustersFile>;

/**
 * Where clusters come from. Resolves to the named cluster, or to undefined where there is none of that name;
 * rejects where the source cannot be read. `fresh` bypasses any cache.
 */
export type Clusters = (name: string, options?: { readonly fresh?: boolean }) => Promise<Cluster | undefined>;

/**
 * What of a cluster's entry relay and function must agree on before anything is written, as canonical JSON: everything
 * but the ways to sign in, which differ between the two. Hash it with `clusterHash` of `kube/`.
 */
export function clusterFingerprint(cluster: Cluster): string {
  const { name, server, cloud, controllers, limits, policies } = cluster;
  return canonicalJson({ name, server, cloud, controllers, limits, policies });
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`;
}

import * as z from "zod";
import { parseKubeconfig } from "#config/registry/kubernetes/administrator-kubeconfig.ts";
import { formatObjectPath } from "#core/resources/resource.ts";

/** A cluster that an object of the management cluster describes. It holds no credentials. */
export interface FoundCluster {
  /** Names the object in messages. */
  readonly place: string;
  /** The object's path at the API server. */
  readonly path: string;
  readonly namespace: string;
  /** The cluster's own name in its namespace. */
  readonly ownName: string;
  /** Creation time of the object in the management cluster, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly described: ClusterDescription;
}

/** How the cluster is described. */
export type ClusterDescription =
  /** A whole entry. */
  | { readonly kind: "entry"; readonly text: string }
  /** A kubeconfig; only the name of its Secret is kept. */
  | {
      readonly kind: "server";
      readonly server: string;
      readonly certificateAuthorityData: string | undefined;
      readonly tlsServerName: string | undefined;
      readonly secret: SecretKey;
    }
  | { readonly kind: "fault"; readonly message: string };

/** One value of a Secret. */
export interface SecretKey {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** The label of a Secret that describes a cluster of ours. */
export const CLUSTER_LABEL = "serverless-ccm.io/cluster";
/** Cluster API's label for everything that belongs to a cluster, and the type of its Secrets. */
export const CAPI_LABEL = "cluster.x-k8s.io/cluster-name";
export const CAPI_TYPE = "cluster.x-k8s.io/secret";

const StringMap = z
  .record(z.string(), z.string())
  .nullish()
  .transform((map) => map ?? {});

/** A time from the API server; an invalid time counts as the youngest. */
export const CreationTime = z
  .unknown()
  .optional()
  .transform((time) => {
    const ms = typeof time === "string" ? Date.parse(time) : Number.NaN;
    return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
  });

/** The fields of a Secret that are read. */
export const Secret = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: StringMap,
    annotations: StringMap,
    creationTimestamp: CreationTime,
  }),
  data: StringMap,
});
type Secret = z.output<typeof Secret>;

/** Parses a labelled Secret: a whole entry under `entry`, or a kubeconfig under `kubeconfig` or `value`. */
export function parseLabelledSecret(object: unknown): FoundCluster | undefined {
  const secret = Secret.safeParse(object).data;
  if (secret === undefined) return undefined;
  const { name, namespace, annotations, creationTimestamp: createdAtMs } = secret.metadata;
  const found = { ...formatSecretPlace(secret), namespace, ownName: name, createdAtMs, annotations };
  const entry = secret.data["entry"];
  if (entry !== undefined) return { ...found, described: { kind: "entry", text: decodeSecretValue(entry) } };
  const key = KUBECONFIG_KEYS.find((each) => secret.data[each] !== undefined);
  if (key !== undefined) return { ...found, described: describeKubeconfigSecret(secret, key) };
  const message = "has neither entry nor kubeconfig nor value among its data";
  return { ...found, described: { kind: "fault", message } };
}

const KUBECONFIG_KEYS = ["kubeconfig", "value"] as const;

/** Parses a Secret of Cluster API; undefined unless it holds the cluster's own kubeconfig. */
export function parseCapiSecret(object: unknown): FoundCluster | undefined {
  const secret = Secret.safeParse(object).data;
  const ownName = secret?.metadata.labels[CAPI_LABEL];
  if (secret === undefined || ownName === undefined) return undefined;
  const { name, namespace, annotations, labels, creationTimestamp: createdAtMs } = secret.metadata;
  // Other Secrets of Cluster API hold the authority's key and more; a Secret with our label is already found.
  if (name !== `${ownName}-kubeconfig` || labels[CLUSTER_LABEL] !== undefined) return undefined;
  const described = describeKubeconfigSecret(secret, "value");
  return { ...formatSecretPlace(secret), namespace, ownName, createdAtMs, annotations, described };
}

/** Secrets of the management cluster. */
export const SECRETS = { apiVersion: "v1", name: "secrets" } as const;

function formatSecretPlace({ metadata: { name, namespace } }: Secret): Pick<FoundCluster, "place" | "path"> {
  return { place: `secret ${namespace}/${name}`, path: formatObjectPath(SECRETS, { namespace, name }) };
}

/** Describes the cluster of a Secret with a kubeconfig: its location, its name and the Secret's key. */
export function describeKubeconfigSecret(secret: Secret, key: string): ClusterDescription {
  const { name, namespace } = secret.metadata;
  const value = secret.data[key];
  if (value === undefined) return { kind: "fault", message: `has no ${key} among its data` };
  const parsed = parseKubeconfig(decodeSecretValue(value));
  if (parsed.kind === "fault") return { kind: "fault", message: `its ${key} ${parsed.message}` };
  const { server, certificateAuthorityData, tlsServerName } = parsed.kubeconfig;
  const secretKey = { namespace, name, key };
  return { kind: "server", server, certificateAuthorityData, tlsServerName, secret: secretKey };
}

/** Decodes the value of a Secret's key. */
export function decodeSecretValue(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

import * as z from "zod";
import { parseKubeconfig } from "#config/home/kubernetes/written-kubeconfig.ts";
import { objectPath } from "#core/resources/resource.ts";

/** A cluster that an object of the management cluster describes. Nothing that could sign in anywhere is among it. */
export interface FoundCluster {
  /** The object, for messages. */
  readonly place: string;
  /** The object's path at the API server. */
  readonly path: string;
  readonly namespace: string;
  /** The cluster's own name in its namespace. */
  readonly ownName: string;
  /** When the API server of the management cluster made the object, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly annotations: Readonly<Record<string, string>>;
  readonly described: Described;
}

/** By what it is described. */
export type Described =
  /** A whole entry. */
  | { readonly kind: "entry"; readonly text: string }
  /** A kubeconfig, of which the Secret is kept by name. */
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

/** The label by which a Secret says that it is a cluster of ours. */
export const CLUSTER_LABEL = "serverless-ccm.io/cluster";
/** Cluster API's label of everything that belongs to a cluster, and the type of its Secrets. */
export const CAPI_LABEL = "cluster.x-k8s.io/cluster-name";
export const CAPI_TYPE = "cluster.x-k8s.io/secret";

const strings = z
  .record(z.string(), z.string())
  .nullish()
  .transform((map) => map ?? {});

/** A time of the API server's; what is none counts as the youngest. */
export const CreationTime = z
  .unknown()
  .optional()
  .transform((time) => {
    const ms = typeof time === "string" ? Date.parse(time) : Number.NaN;
    return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
  });

/** The part of a Secret that is read. */
export const Secret = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: strings,
    annotations: strings,
    creationTimestamp: CreationTime,
  }),
  data: strings,
});
type Secret = z.output<typeof Secret>;

/** What a labelled Secret describes: under `entry` a whole entry, or under `kubeconfig` or `value` a kubeconfig. */
export function clusterOfLabelledSecret(object: unknown): FoundCluster | undefined {
  const secret = Secret.safeParse(object).data;
  if (secret === undefined) return undefined;
  const { name, namespace, annotations, creationTimestamp: createdAtMs } = secret.metadata;
  const found = { ...placeOfSecret(secret), namespace, ownName: name, createdAtMs, annotations };
  const entry = secret.data["entry"];
  if (entry !== undefined) return { ...found, described: { kind: "entry", text: decoded(entry) } };
  const key = KUBECONFIG_KEYS.find((each) => secret.data[each] !== undefined);
  if (key !== undefined) return { ...found, described: describedBy(secret, key) };
  const message = "has neither entry nor kubeconfig nor value among its data";
  return { ...found, described: { kind: "fault", message } };
}

const KUBECONFIG_KEYS = ["kubeconfig", "value"] as const;

/** What a Secret of Cluster API's describes; undefined where it is none with the cluster's own kubeconfig. */
export function clusterOfCapiSecret(object: unknown): FoundCluster | undefined {
  const secret = Secret.safeParse(object).data;
  const ownName = secret?.metadata.labels[CAPI_LABEL];
  if (secret === undefined || ownName === undefined) return undefined;
  const { name, namespace, annotations, labels, creationTimestamp: createdAtMs } = secret.metadata;
  // Beside it there are the authority's key and others that are nobody's business; a label of ours makes it ours already.
  if (name !== `${ownName}-kubeconfig` || labels[CLUSTER_LABEL] !== undefined) return undefined;
  const described = describedBy(secret, "value");
  return { ...placeOfSecret(secret), namespace, ownName, createdAtMs, annotations, described };
}

/** Secrets of the management cluster. */
export const SECRETS = { apiVersion: "v1", name: "secrets" } as const;

function placeOfSecret({ metadata: { name, namespace } }: Secret): Pick<FoundCluster, "place" | "path"> {
  return { place: `secret ${namespace}/${name}`, path: objectPath(SECRETS, { namespace, name }) };
}

/** What a Secret with a kubeconfig says of its cluster: where it is and how it is known, and where the rest stands. */
export function describedBy(secret: Secret, key: string): Described {
  const { name, namespace } = secret.metadata;
  const value = secret.data[key];
  if (value === undefined) return { kind: "fault", message: `has no ${key} among its data` };
  const parsed = parseKubeconfig(decoded(value));
  if (parsed.kind === "fault") return { kind: "fault", message: `its ${key} ${parsed.message}` };
  const { server, certificateAuthorityData, tlsServerName } = parsed.kubeconfig;
  const secretKey = { namespace, name, key };
  return { kind: "server", server, certificateAuthorityData, tlsServerName, secret: secretKey };
}

/** What stands under a key of a Secret. */
export function decoded(data: string): string {
  return Buffer.from(data, "base64").toString("utf8");
}

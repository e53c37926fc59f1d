import * as z from "zod";
import { BaseURL } from "#clouds/config-fields.ts";
import { INSTANCE_TYPE_LABELS, REGION_LABELS, ZONE_LABELS } from "#core/contracts.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

const ObjectName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, "the name of an object of the management cluster");

/** The management server with a cluster's Machines. */
export const ManagementServer = z
  .strictObject({
    url: BaseURL,
    /** A file with the API token, read again when it changes; without it RANCHER_TOKEN holds the token. */
    tokenFile: z.string().min(1).optional(),
    /** Reference to the API token, in place of a token file. */
    credentials: SecretReference.optional(),
    /**
     * PEM file with the server's certificate authority; by default the system's authorities. Read when the
     * cloud is loaded.
     */
    caFile: z.string().min(1).optional(),
    /** The cluster as Rancher provisions it: `metadata.name` of its Cluster in `namespace`. */
    cluster: ObjectName,
    namespace: ObjectName.prefault("fleet-default"),
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token in addition to tokenFile; remove one of the two",
    path: ["credentials"],
  });
export type ManagementServer = z.output<typeof ManagementServer>;

/** An environment of Rancher 1.x. */
export const CattleServer = z.strictObject({
  /** As in CATTLE_URL: its path except `/projects/…` is replaced by that of `v2-beta`. */
  url: BaseURL,
  /** By default CATTLE_ACCESS_KEY. */
  accessKey: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, "an access key, without spaces and colons")
    .optional(),
  /** A file with the secret key; without it CATTLE_SECRET_KEY holds the key. */
  secretKeyFile: z.string().min(1).optional(),
  caFile: z.string().min(1).optional(),
});
export type CattleServer = z.output<typeof CattleServer>;

/**
 * A cluster of K3s or RKE2, managed by Rancher or not; or with `mode: cattle` one in a Rancher 1.x
 * environment.
 */
export const RancherCloudConfig = z
  .strictObject({
    provider: z.literal("rancher"),
    mode: z.literal("cattle").optional(),
    distribution: z.enum(["k3s", "rke2"]).optional(),
    /**
     * What proves that a node's machine is gone: nothing, or the Machines of Rancher's management cluster.
     */
    existence: z.enum(["none", "rancher"]).optional(),
    rancher: ManagementServer.optional(),
    cattle: CattleServer.optional(),
  })
  .superRefine((cloud, context) => {
    const addIssue = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    const isCattle = cloud.mode === "cattle";
    if (isCattle && cloud.cattle === undefined) addIssue("cattle", "is required with mode: cattle");
    if (!isCattle && cloud.cattle !== undefined) addIssue("cattle", "has no effect without mode: cattle");
    if (isCattle) {
      for (const key of ["distribution", "existence", "rancher"] as const)
        if (cloud[key] !== undefined) addIssue(key, "has no effect with mode: cattle; remove it");
      return;
    }
    if (cloud.distribution === undefined) addIssue("distribution", "is required: k3s or rke2");
    const usesManagement = cloud.existence === "rancher";
    if (usesManagement && cloud.rancher === undefined)
      addIssue("rancher", "is required with existence: rancher");
    if (!usesManagement && cloud.rancher !== undefined)
      addIssue("rancher", "has no effect without existence: rancher");
  });
export type RancherCloudConfig = z.output<typeof RancherCloudConfig>;

/** The environment variable with the management server's token if no file is configured. */
export const TOKEN_VARIABLE = "RANCHER_TOKEN";

/** The environment variables with the keys of a Rancher 1.x environment if the configuration has none. */
export const CATTLE_VARIABLES = { accessKey: "CATTLE_ACCESS_KEY", secretKey: "CATTLE_SECRET_KEY" } as const;

/**
 * The distribution of the cluster: the prefix of its annotations and labels on nodes, and the scheme of its
 * provider IDs.
 */
export type Distribution = "k3s" | "rke2";

/** The keys that K3s and RKE2 agents write on their nodes, by the part before the slash. */
export const NODE_KEYS = ["internal-ip", "external-ip", "internal-dns", "external-dns", "hostname"] as const;

export type NodeKey = (typeof NODE_KEYS)[number];

/** Rancher's label with the uid of a node's Machine. */
export const MACHINE_LABEL = "rke.cattle.io/machine";

export function formatKey(distribution: Distribution, key: NodeKey): string {
  return `${distribution}.io/${key}`;
}

/** Labels of a node that its answer repeats. */
export const REPEATED_LABELS = {
  type: INSTANCE_TYPE_LABELS.stable,
  region: REGION_LABELS.stable,
  zone: ZONE_LABELS.stable,
};

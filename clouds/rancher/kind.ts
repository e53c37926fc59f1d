import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import { cloudKind } from "#clouds/kind.ts";
import { HOSTNAME_LABEL } from "#clouds/no-cloud/kind.ts";
import { keyOf, MACHINE_LABEL, NODE_KEYS, REPEATED_LABELS } from "#clouds/rancher/node-keys.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";

const ObjectName = z
  .string()
  .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, "the name of an object of the management cluster");

/** Where the Machines of a cluster stand. */
export const ManagementServer = z
  .strictObject({
    url: BaseURL,
    /** Holds the API token and is read again when it changes; without it RANCHER_TOKEN is the token. */
    tokenFile: z.string().min(1).optional(),
    /** Where the API token is kept, in place of a `tokenFile`. */
    credentials: SecretReference.optional(),
    /** PEM file with the server's certificate authority; the system's authorities without it. Read when the cloud is loaded. */
    caFile: z.string().min(1).optional(),
    /** The cluster as Rancher provisions it: `metadata.name` of its Cluster in `namespace`. */
    cluster: ObjectName,
    namespace: ObjectName.prefault("fleet-default"),
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token a second time, beside tokenFile; leave one of the two out",
    path: ["credentials"],
  });
export type ManagementServer = z.output<typeof ManagementServer>;

/** An environment of Rancher 1.x. */
export const CattleServer = z.strictObject({
  /** As in CATTLE_URL: its path but for `/projects/…` is replaced by that of `v2-beta`. */
  url: BaseURL,
  /** Without it CATTLE_ACCESS_KEY. */
  accessKey: z
    .string()
    .regex(/^[\x21-\x39\x3b-\x7e]+$/, "an access key, without spaces and colons")
    .optional(),
  /** Holds the secret key; without it CATTLE_SECRET_KEY is the key. */
  secretKeyFile: z.string().min(1).optional(),
  caFile: z.string().min(1).optional(),
});
export type CattleServer = z.output<typeof CattleServer>;

/** A cluster of K3s or RKE2, with or without Rancher above it; or, with `mode: cattle`, one in an environment of Rancher 1.x. */
export const RancherCloudConfig = z
  .strictObject({
    provider: z.literal("rancher"),
    mode: z.literal("cattle").optional(),
    distribution: z.enum(["k3s", "rke2"]).optional(),
    /** By whom it is told that a node's machine is gone: by nobody, or by the Machines of Rancher's management cluster. */
    existence: z.enum(["none", "rancher"]).optional(),
    rancher: ManagementServer.optional(),
    cattle: CattleServer.optional(),
  })
  .superRefine((cloud, context) => {
    const say = (key: string, message: string): void =>
      context.addIssue({ code: "custom", path: [key], message });
    const isCattle = cloud.mode === "cattle";
    if (isCattle && cloud.cattle === undefined) say("cattle", "is required with mode: cattle");
    if (!isCattle && cloud.cattle !== undefined) say("cattle", "means nothing without mode: cattle");
    if (isCattle) {
      for (const key of ["distribution", "existence", "rancher"] as const)
        if (cloud[key] !== undefined) say(key, "means nothing with mode: cattle; leave it out");
      return;
    }
    if (cloud.distribution === undefined) say("distribution", "is required: k3s or rke2");
    const isAsked = cloud.existence === "rancher";
    if (isAsked && cloud.rancher === undefined) say("rancher", "is required with existence: rancher");
    if (!isAsked && cloud.rancher !== undefined) say("rancher", "means nothing without existence: rancher");
  });
export type RancherCloudConfig = z.output<typeof RancherCloudConfig>;

/** Where the token of the management server is found without a `tokenFile`. */
export const TOKEN_VARIABLE = "RANCHER_TOKEN";

/** Where the keys of an environment of Rancher 1.x are found where the configuration is silent. */
export const CATTLE_VARIABLES = { accessKey: "CATTLE_ACCESS_KEY", secretKey: "CATTLE_SECRET_KEY" } as const;

export const rancher = cloudKind({
  provider: "rancher",
  config: RancherCloudConfig,
  environment: { "rancher.url": ["RANCHER_URL"], "cattle.url": ["CATTLE_URL"] },
  presets: { k3s: { distribution: "k3s" }, rke2: { distribution: "rke2" } },
  credentialSource({ rancher: server, cattle }) {
    if (cattle !== undefined) return `the secret key in ${secretKeySource(cattle)}`;
    return server === undefined ? "nowhere: it needs none" : `the API token in ${tokenSource(server)}`;
  },
  // Where a secret comes from tells quotas apart without holding one.
  quotaKey({ rancher: server, cattle }) {
    if (cattle !== undefined) return `rancher ${cattle.url} ${secretKeySource(cattle)}`;
    return server === undefined ? "" : `rancher ${server.url} ${tokenSource(server)}`;
  },
  // An environment of Rancher 1.x is a cluster; without Rancher nobody but the cluster itself is asked.
  ownership({ rancher: server, cattle }) {
    const url = server?.url ?? cattle?.url;
    if (url === undefined) return undefined;
    return {
      place: `server ${new URL(url).href.replace(/(?<!\/)\/+$/, "")}`,
      isPlaceCertain: true,
      marks: [server === undefined ? "environment" : `cluster ${server.namespace}/${server.cluster}`],
      network: undefined,
      takesUnmarked: false,
    };
  },
  scaleIn: "without the autoscaler's taint it counts: Rancher keeps no record of a machine that is gone",
  labelPrefixes: [],
  nodeKeysOf({ distribution }) {
    if (distribution === undefined) return [];
    return [
      ...NODE_KEYS.map((key) => keyOf(distribution, key)),
      ...Object.values(REPEATED_LABELS),
      HOSTNAME_LABEL,
      MACHINE_LABEL,
    ];
  },
  // What agents of K3s and RKE2 write on their nodes is the nodes' own word.
  vouchesForAddresses: ({ mode }) => mode === "cattle",
  async load(config, options) {
    const { loadRancherCloud } = await import("#clouds/rancher/cloud.ts");
    return loadRancherCloud(config, options);
  },
});

function tokenSource({ tokenFile, credentials }: ManagementServer): string {
  if (credentials !== undefined) return referenceWords(credentials);
  return tokenFile === undefined ? TOKEN_VARIABLE : `the file ${tokenFile}`;
}

function secretKeySource({ secretKeyFile }: CattleServer): string {
  return secretKeyFile === undefined ? CATTLE_VARIABLES.secretKey : `the file ${secretKeyFile}`;
}

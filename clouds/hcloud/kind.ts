import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import { isPositive, normalizeLabelSelector, parseLabelSelector } from "#clouds/hcloud/label-selector.ts";
import { cloudKind } from "#clouds/kind.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";
import { Switch } from "#clouds/switch.ts";

/** The cloud of a cluster at Hetzner. The API token is in a file, in a secret or in HCLOUD_TOKEN, never here. */
export const HcloudCloudConfig = z
  .strictObject({
    provider: z.literal("hcloud"),
    /** Holds the API token and is read again when it changes; without it HCLOUD_TOKEN is the token. */
    tokenFile: z.string().min(1).optional(),
    /** Where the API token is kept, in place of a `tokenFile`. */
    credentials: SecretReference.optional(),
    /** With the version in its path; https://api.hetzner.cloud/v1 without it. */
    endpoint: BaseURL.optional(),
    /** Id or name. Servers must be attached to it; needed unless `labelSelector` is given. */
    network: z
      .union([z.int().positive().transform(String), z.string().min(1).max(64)], {
        error: "the id or the name of a network",
      })
      .optional(),
    /** Servers must meet it; needed unless `network` is given. Lists are narrowed by it. */
    labelSelector: z
      .string()
      .max(500)
      .refine((text) => parseLabelSelector(text) !== undefined, {
        error: "a label selector such as cluster=blue",
        abort: true,
      })
      .refine(
        (text) => isPositive(parseLabelSelector(text) ?? []),
        "a label selector that says what servers have, and not only what they have not",
      )
      .optional(),
    /** Which public addresses nodes have. */
    addressFamily: z.enum(["ipv4", "ipv6", "dualstack"]).default("ipv4"),
    /** Whether nodes get zone labels, which Hetzner itself has given up. */
    zoneLabel: Switch.default(true),
  })
  .refine(({ network, labelSelector }) => network !== undefined || labelSelector !== undefined, {
    message:
      "network or labelSelector is required: without either, a server cannot be told to belong to the cluster",
    path: ["network"],
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token a second time, beside tokenFile; leave one of the two out",
    path: ["credentials"],
  });
export type HcloudCloudConfig = z.output<typeof HcloudCloudConfig>;

/** Where the token is found without a `tokenFile`. */
export const TOKEN_VARIABLE = "HCLOUD_TOKEN";

export const DEFAULT_ENDPOINT = "https://api.hetzner.cloud/v1";

export const hcloud = cloudKind({
  provider: "hcloud",
  ownership({ labelSelector, network, ...token }) {
    const kind = network !== undefined && /^[1-9]\d*$/.test(network) ? "id" : "name";
    return {
      place: `project of ${quotaKeyOf(token)}`,
      isPlaceCertain: false,
      marks: labelSelector === undefined ? [] : [`label selector ${normalizeLabelSelector(labelSelector)}`],
      network: network === undefined ? undefined : { kind, value: network },
      takesUnmarked: labelSelector === undefined,
    };
  },
  config: HcloudCloudConfig,
  environment: {
    tokenFile: ["HCLOUD_TOKEN_FILE"],
    endpoint: ["HCLOUD_ENDPOINT"],
    network: ["HCLOUD_NETWORK"],
    addressFamily: ["HCLOUD_INSTANCES_ADDRESS_FAMILY"],
    zoneLabel: ["HCLOUD_INSTANCES_ZONE_LABEL_ENABLED"],
  },
  credentialSource({ tokenFile, credentials }) {
    if (credentials !== undefined) return `the API token in ${referenceWords(credentials)}`;
    return tokenFile === undefined
      ? `the API token in ${TOKEN_VARIABLE}`
      : `the API token in the file ${tokenFile}`;
  },
  // Quotas are a project's, as a token is, and where that comes from tells tokens apart without holding one.
  quotaKey: (config) => `hcloud ${quotaKeyOf(config)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless the latest 50 actions on the project's servers show it",
  labelPrefixes: ["instance.hetzner.cloud/"],
  async load(config, options) {
    const { loadHcloudCloud } = await import("#clouds/hcloud/cloud.ts");
    return loadHcloudCloud(config, options);
  },
});

/** The endpoint, and where its token comes from. */
function quotaKeyOf({
  tokenFile,
  credentials,
  endpoint = DEFAULT_ENDPOINT,
}: Pick<HcloudCloudConfig, "tokenFile" | "credentials" | "endpoint">): string {
  return `${endpoint} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : referenceWords(credentials)}`;
}

import * as z from "zod";
import { BaseURL } from "#clouds/base-url.ts";
import { FIREWALL_KEYS } from "#clouds/digitalocean/firewall-settings.ts";
import { LOAD_BALANCER_KEYS } from "#clouds/digitalocean/load-balancer-settings.ts";
import { cloudKind } from "#clouds/kind.ts";
import { referenceWords, SecretReference } from "#clouds/secrets/reference.ts";

/** A rate, also as the text that an environment variable is. */
const Rate = z
  .union(
    [
      z.number(),
      z
        .string()
        .regex(/^\d{1,6}(\.\d{1,6})?$/)
        .transform(Number),
    ],
    {
      error: "a number of requests per second",
    },
  )
  .pipe(z.number().gt(0).max(1_000));

/** The cloud of a cluster on DigitalOcean. The API token is in a file or in DO_ACCESS_TOKEN, never here. */
export const DigitalOceanCloudConfig = z
  .strictObject({
    provider: z.literal("digitalocean"),
    /** Holds the API token and is read again when it changes; without it DO_ACCESS_TOKEN is the token. */
    tokenFile: z.string().min(1).optional(),
    /** Where the API token is kept, in place of a `tokenFile`. */
    credentials: SecretReference.optional(),
    /** https, or http to this very machine; https://api.digitalocean.com without it. */
    apiURL: BaseURL.optional(),
    region: z.string().regex(/^[a-z][a-z0-9-]*$/, "the slug of a region such as fra1"),
    /** Droplets must be in this VPC; needed unless `dropletTag` is given. */
    vpc: z
      .string()
      .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a VPC's UUID")
      .optional(),
    /** Droplets must carry this tag; needed unless `vpc` is given. Lists are narrowed by it. */
    dropletTag: z
      .string()
      .regex(/^[\w:-]{1,255}$/, "a tag: letters, digits, colons, dashes, underscores")
      .optional(),
    /** How many requests a second there may be at most, where that is to be less than DigitalOcean allows. */
    requestsPerSecond: Rate.optional(),
    ...LOAD_BALANCER_KEYS,
    ...FIREWALL_KEYS,
    /** Where the token is kept by which the cluster's API server is known to the function `admission`; without it that one answers nobody. */
    webhookToken: SecretReference.optional(),
  })
  .refine((cloud) => cloud.vpc !== undefined || cloud.dropletTag !== undefined, {
    message:
      "vpc or dropletTag is required: without either, a droplet cannot be told to belong to the cluster",
    path: ["vpc"],
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token a second time, beside tokenFile; leave one of the two out",
    path: ["credentials"],
  });
export type DigitalOceanCloudConfig = z.output<typeof DigitalOceanCloudConfig>;

/** Where the token is found without a `tokenFile`. */
export const TOKEN_VARIABLE = "DO_ACCESS_TOKEN";

export const DEFAULT_API_URL = "https://api.digitalocean.com";

export const digitalocean = cloudKind({
  provider: "digitalocean",
  ownership: ({ region, vpc, dropletTag, clusterID, tokenFile, credentials, apiURL = DEFAULT_API_URL }) => ({
    place: `account of ${apiURL} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : referenceWords(credentials)}, region ${region}`,
    isPlaceCertain: false,
    marks: [
      ...(dropletTag === undefined ? [] : [`droplet tag ${dropletTag}`]),
      ...(clusterID === undefined ? [] : [`load balancer tag k8s:${clusterID}`]),
    ],
    network: vpc === undefined ? undefined : { kind: "id", value: vpc },
    takesUnmarked: dropletTag === undefined,
  }),
  config: DigitalOceanCloudConfig,
  environment: {
    apiURL: ["DO_OVERRIDE_URL"],
    region: ["REGION"],
    vpc: ["DO_CLUSTER_VPC_ID"],
    requestsPerSecond: ["DO_API_RATE_LIMIT_QPS"],
    clusterID: ["DO_CLUSTER_ID"],
    defaultLoadBalancerType: ["DEFAULT_LB_TYPE"],
    "publicAccessFirewall.name": ["PUBLIC_ACCESS_FIREWALL_NAME"],
    "publicAccessFirewall.tags": ["PUBLIC_ACCESS_FIREWALL_TAGS"],
  },
  credentialSource({ tokenFile, credentials }) {
    if (credentials !== undefined) return `the API token in ${referenceWords(credentials)}`;
    return tokenFile === undefined
      ? `the API token in ${TOKEN_VARIABLE}`
      : `the API token in the file ${tokenFile}`;
  },
  // Quotas are a token's, and where it comes from tells tokens apart without holding one.
  quotaKey: ({ tokenFile, credentials, apiURL = DEFAULT_API_URL }) =>
    `digitalocean ${apiURL} ${credentials === undefined ? (tokenFile ?? `$${TOKEN_VARIABLE}`) : referenceWords(credentials)}`,
  scaleIn:
    "without the autoscaler's taint it counts, unless the latest 200 actions of the account show it and the token has actions:read",
  labelPrefixes: [],
  async load(config, options) {
    const { loadDigitalOceanCloud } = await import("#clouds/digitalocean/cloud.ts");
    return loadDigitalOceanCloud(config, options);
  },
});

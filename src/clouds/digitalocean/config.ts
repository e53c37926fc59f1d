import * as z from "zod";
import { BaseURL } from "#clouds/config-fields.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

/** A rate, also as the text of an environment variable. */
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

const Tag = z.string().regex(/^[\w:-]{1,255}$/, "a tag: letters, digits, colons, dashes, underscores");

/**
 * The keys of `DigitalOceanCloudConfig` for the droplets' firewall; without them there is no firewall of
 * ours.
 */
const FIREWALL_KEYS = {
  publicAccessFirewall: z
    .strictObject({
      /** The name of this cluster's firewall: two clusters with one name would overwrite each other. */
      name: z
        .string()
        .regex(
          /^[a-zA-Z0-9][a-zA-Z0-9.-]{0,254}$/,
          "letters, digits, dots and dashes, and no dot or dash first",
        ),
      /** Applies to droplets with any of these tags: a list, or a comma-separated text as in a variable. */
      tags: z.preprocess(
        (tags) => (typeof tags === "string" ? tags.split(",").map((tag) => tag.trim()) : tags),
        z.array(Tag).min(1).max(5),
      ),
    })
    .optional(),
} as const;

/** The name of a certificate, an address or a subnet; a trailing `*` matches any suffix. */
const NamePattern = z.string().min(1).max(255);

const buildNameList = () => z.array(NamePattern).max(1_000).prefault([]);

/**
 * The account's resources that Services may name in annotations; by default none. DigitalOcean records no
 * owner of them.
 */
export const Allow = z.strictObject({
  /** By id or name; a Let's Encrypt certificate gets a new id with each renewal and keeps its name. */
  certificates: buildNameList(),
  /** Addresses of the customer's own range. */
  ips: buildNameList(),
  /** By id. */
  subnets: buildNameList(),
  /**
   * By id or name: load balancers without the cluster's tag that Services name in annotations, as after a
   * take-over.
   */
  loadBalancers: buildNameList(),
});
export type Allow = z.output<typeof Allow>;

/** The keys of `DigitalOceanCloudConfig` for load balancers. */
const LOAD_BALANCER_KEYS = {
  /** Load balancers get the tag `k8s:<clusterID>`, and one with that tag belongs to the cluster. */
  clusterID: z
    .string()
    .regex(/^[\w:-]{1,200}$/, "letters, digits, colons, dashes, underscores")
    .optional(),
  defaultLoadBalancerType: z.enum(["REGIONAL_NETWORK", "REGIONAL"]).prefault("REGIONAL_NETWORK"),
  allow: Allow.prefault({}),
} as const;

/**
 * Configuration of a cluster on DigitalOcean. The API token is in a file or in DO_ACCESS_TOKEN, never here.
 */
export const DigitalOceanCloudConfig = z
  .strictObject({
    provider: z.literal("digitalocean"),
    /** A file with the API token, read again when it changes; without it DO_ACCESS_TOKEN holds the token. */
    tokenFile: z.string().min(1).optional(),
    /** Reference to the API token, in place of a token file. */
    credentials: SecretReference.optional(),
    /** https, or http to this machine; by default https://api.digitalocean.com. */
    apiURL: BaseURL.optional(),
    region: z.string().regex(/^[a-z][a-z0-9-]*$/, "the slug of a region such as fra1"),
    /** Droplets must be in this VPC; needed unless `dropletTag` is given. */
    vpc: z
      .string()
      .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "a VPC's UUID")
      .optional(),
    /** Droplets must carry this tag; needed unless `vpc` is given. Lists are filtered by it. */
    dropletTag: z
      .string()
      .regex(/^[\w:-]{1,255}$/, "a tag: letters, digits, colons, dashes, underscores")
      .optional(),
    /** Maximum requests per second, if it must be lower than DigitalOcean's quota. */
    requestsPerSecond: Rate.optional(),
    ...LOAD_BALANCER_KEYS,
    ...FIREWALL_KEYS,
    /**
     * Reference to the token with which the cluster's API server identifies itself to the function
     * `admission`. Without it the function rejects the cluster's requests.
     */
    webhookToken: SecretReference.optional(),
  })
  .refine((cloud) => cloud.vpc !== undefined || cloud.dropletTag !== undefined, {
    message:
      "vpc or dropletTag is required: without either, a droplet cannot be proven to belong to the cluster",
    path: ["vpc"],
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token in addition to tokenFile; remove one of the two",
    path: ["credentials"],
  });
export type DigitalOceanCloudConfig = z.output<typeof DigitalOceanCloudConfig>;

/** The environment variable with the token if no file is configured. */
export const TOKEN_VARIABLE = "DO_ACCESS_TOKEN";

export const DEFAULT_API_URL = "https://api.digitalocean.com";

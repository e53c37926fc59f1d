import * as z from "zod";
import { BaseURL, Switch } from "#clouds/config-fields.ts";
import { parseLabelSelector, requiresLabel } from "#clouds/hcloud/label-selector.ts";
import { SecretReference } from "#platforms/secrets/reference.ts";

/**
 * Configuration of a cluster at Hetzner. The API token is in a file, in a secret or in HCLOUD_TOKEN, never
 * here.
 */
export const HcloudCloudConfig = z
  .strictObject({
    provider: z.literal("hcloud"),
    /** A file with the API token, read again when it changes; without it HCLOUD_TOKEN holds the token. */
    tokenFile: z.string().min(1).optional(),
    /** Reference to the API token, in place of a token file. */
    credentials: SecretReference.optional(),
    /** Includes the version in its path; by default https://api.hetzner.cloud/v1. */
    endpoint: BaseURL.optional(),
    /** Id or name. Servers must be attached to it; needed unless `labelSelector` is given. */
    network: z
      .union([z.int().positive().transform(String), z.string().min(1).max(64)], {
        error: "the id or the name of a network",
      })
      .optional(),
    /** Servers must match it; needed unless `network` is given. Lists are filtered by it. */
    labelSelector: z
      .string()
      .max(500)
      .refine((text) => parseLabelSelector(text) !== undefined, {
        error: "a label selector such as cluster=blue",
        abort: true,
      })
      .refine(
        (text) => requiresLabel(parseLabelSelector(text) ?? []),
        "a label selector that requires a label and does not only exclude some",
      )
      .optional(),
    /** The families of nodes' public addresses. */
    addressFamily: z.enum(["ipv4", "ipv6", "dualstack"]).default("ipv4"),
    /** Whether nodes get zone labels, which Hetzner itself no longer supports. */
    zoneLabel: Switch.default(true),
  })
  .refine(({ network, labelSelector }) => network !== undefined || labelSelector !== undefined, {
    message:
      "network or labelSelector is required: without either, a server cannot be proven to belong to the cluster",
    path: ["network"],
  })
  .refine(({ tokenFile, credentials }) => tokenFile === undefined || credentials === undefined, {
    message: "names the API token in addition to tokenFile; remove one of the two",
    path: ["credentials"],
  });
export type HcloudCloudConfig = z.output<typeof HcloudCloudConfig>;

/** The environment variable with the token if no file is configured. */
export const TOKEN_VARIABLE = "HCLOUD_TOKEN";

export const DEFAULT_ENDPOINT = "https://api.hetzner.cloud/v1";

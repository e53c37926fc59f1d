import * as z from "zod";

const Tag = z.string().regex(/^[\w:-]{1,255}$/, "a tag: letters, digits, colons, dashes, underscores");

/**
 * The keys of `DigitalOceanCloudConfig` for the droplets' firewall; without them there is no firewall of
 * ours.
 */
export const FIREWALL_KEYS = {
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

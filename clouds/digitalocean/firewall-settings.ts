import * as z from "zod";

const Tag = z.string().regex(/^[\w:-]{1,255}$/, "a tag: letters, digits, colons, dashes, underscores");

/** The keys of `DigitalOceanCloudConfig` that are about the firewall before the droplets; without them there is none of ours. */
export const FIREWALL_KEYS = {
  publicAccessFirewall: z
    .strictObject({
      /** Of the firewall, which is this cluster's alone: two of one name would take turns. */
      name: z
        .string()
        .regex(
          /^[a-zA-Z0-9][a-zA-Z0-9.-]{0,254}$/,
          "letters, digits, dots and dashes, and no dot or dash first",
        ),
      /** It holds for the droplets that carry one of these: a list, or a text with commas as in a variable. */
      tags: z.preprocess(
        (tags) => (typeof tags === "string" ? tags.split(",").map((tag) => tag.trim()) : tags),
        z.array(Tag).min(1).max(5),
      ),
    })
    .optional(),
} as const;

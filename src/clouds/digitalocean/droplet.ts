import * as z from "zod";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { ProviderID } from "#clouds/listed/query.ts";
import { rejectProviderID } from "#clouds/provider-id.ts";

/** An address of a droplet; the type is `private` or `public`. */
export const DropletAddress = z.object({ ip_address: z.string(), type: z.string() });
export type DropletAddress = z.output<typeof DropletAddress>;

/**
 * A droplet in the API, reduced to the fields in use. Id and name are required. Any other missing or invalid
 * field is undefined, which concerns only the node that needs it.
 */
export const Droplet = z.object({
  id: z.union([z.int(), z.string()]).transform(String).refine(isDropletId),
  name: z.string().min(1),
  status: z.string().optional().catch(undefined),
  size_slug: z.string().optional().catch(undefined),
  region: z.object({ slug: z.string() }).optional().catch(undefined),
  /** Null or empty outside of a VPC; undefined if the token may not read it. */
  vpc_uuid: z.string().nullable().optional().catch(undefined),
  /** Undefined if the token may not read them. */
  tags: z.array(z.string()).nullable().optional().catch(undefined),
  networks: z
    .object({ v4: z.array(DropletAddress).prefault([]), v6: z.array(DropletAddress).prefault([]) })
    .optional()
    .catch(undefined),
});
export type Droplet = z.output<typeof Droplet>;

/** The answer with one droplet. */
export const DropletAnswer = z.object({ droplet: Droplet });

/** One page of a list. Entries are parsed one by one, so that an invalid one does not affect the others. */
export const DropletsPage = z.object({
  droplets: z.array(z.unknown()),
  links: z.object({ pages: z.object({ next: z.string().optional() }).optional() }),
  meta: z
    .object({ total: z.int().min(0) })
    .optional()
    .catch(undefined),
});

const SCHEME = "digitalocean://";

/** Parses a provider ID, which has only one form. An id has up to 64 bits and stays text. */
export function parseProviderID(text: string): ProviderID {
  if (!text.startsWith(SCHEME)) return rejectProviderID("foreign", text, "its scheme is not digitalocean");
  const id = text.slice(SCHEME.length);
  if (isDropletId(id)) return { kind: "id", id };
  return rejectProviderID(
    "invalid",
    text,
    "it does not end in a droplet's id, a whole number from 1 without leading zeros",
  );
}

/** Formats the form that is written. */
export function formatProviderID(id: string): string {
  return `${SCHEME}${id}`;
}

/** Whether a text is the id of a droplet; nothing else may become part of a path. */
export function isDropletId(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text);
}

/** Criteria by which a cluster recognizes its droplets. */
type Ownership = Pick<DigitalOceanCloudConfig, "region" | "vpc" | "dropletTag">;

/**
 * Returns the fault of a droplet that is not the cluster's, with the expected and the found value: `Foreign`,
 * or `Denied` if the token may not read the criterion. Undefined if it belongs to the cluster.
 */
export function checkOwnership({ region, vpc, dropletTag }: Ownership, droplet: Droplet): Fault | undefined {
  const { vpc_uuid: foundVpc, tags, region: foundRegion } = droplet;
  const unreadable = [
    ...(vpc !== undefined && foundVpc === undefined
      ? ["its VPC is not shown: the token needs the scope vpc:read"]
      : []),
    ...(dropletTag !== undefined && tags === undefined
      ? ["its tags are not shown: the token needs the scope tag:read"]
      : []),
  ];
  const faults = [
    ...(foundRegion === undefined || foundRegion.slug === region
      ? []
      : [`expected region ${region}, found ${foundRegion.slug}`]),
    ...(vpc === undefined || foundVpc === undefined || foundVpc === vpc
      ? []
      : [`expected VPC ${vpc}, found ${foundVpc || "none"}`]),
    ...(dropletTag === undefined || tags === undefined || tags?.includes(dropletTag)
      ? []
      : [`expected tag ${dropletTag}, found ${tags?.slice(0, 5).join(", ") || "none"}`]),
  ];
  if (faults.length > 0) {
    return { code: "Foreign", message: `droplet ${droplet.id} is not the cluster's: ${faults.join("; ")}` };
  }
  if (unreadable.length === 0) return undefined;
  return { code: "Denied", message: `droplet ${droplet.id}: ${unreadable.join("; ")}` };
}

import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/kind.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** By what a cluster knows its own. */
export type Ownership = Pick<DigitalOceanCloudConfig, "region" | "vpc" | "dropletTag">;

/**
 * What keeps a droplet from being the cluster's, expected and found: `Foreign`, or `Denied` where the token may not see
 * what would tell. Undefined where it is the cluster's.
 */
export function notOurs({ region, vpc, dropletTag }: Ownership, droplet: Droplet): Fault | undefined {
  const { vpc_uuid: vpcFound, tags, region: regionFound } = droplet;
  const unseen = [
    ...(vpc !== undefined && vpcFound === undefined
      ? ["its VPC is not shown: the token needs the scope vpc:read"]
      : []),
    ...(dropletTag !== undefined && tags === undefined
      ? ["its tags are not shown: the token needs the scope tag:read"]
      : []),
  ];
  const faults = [
    ...(regionFound === undefined || regionFound.slug === region
      ? []
      : [`expected region ${region}, found ${regionFound.slug}`]),
    ...(vpc === undefined || vpcFound === undefined || vpcFound === vpc
      ? []
      : [`expected VPC ${vpc}, found ${vpcFound || "none"}`]),
    ...(dropletTag === undefined || tags === undefined || tags?.includes(dropletTag)
      ? []
      : [`expected tag ${dropletTag}, found ${tags?.slice(0, 5).join(", ") || "none"}`]),
  ];
  if (faults.length > 0) {
    return { code: "Foreign", message: `droplet ${droplet.id} is not the cluster's: ${faults.join("; ")}` };
  }
  if (unseen.length === 0) return undefined;
  return { code: "Denied", message: `droplet ${droplet.id}: ${unseen.join("; ")}` };
}

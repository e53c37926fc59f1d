import type { DigitalOceanCloudConfig } from "#clouds/digitalocean/config.ts";
import type { Droplet } from "#clouds/digitalocean/droplet.ts";
import type { Fault } from "#clouds/http/outcome.ts";

/** Criteria by which a cluster recognizes its droplets. */
export type Ownership = Pick<DigitalOceanCloudConfig, "region" | "vpc" | "dropletTag">;

/**
 * Returns the fault of a droplet that is not the cluster's, with the expected and the found value: `Foreign`,
 * or `Denied` if the token may not read the criterion. Undefined if it belongs to the cluster.
 */
export function checkOwnership({ region, vpc, dropletTag }: Ownership, droplet: Droplet): Fault | undefined {
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

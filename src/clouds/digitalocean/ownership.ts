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

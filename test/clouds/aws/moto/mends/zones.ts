import { type Behind, listForm } from "../mend.ts";
import { listOf, textOf } from "../xml.ts";

/** Why a load balancer cannot be in these subnets together: two of them are of one zone. */
export async function zonesTwice(subnetIds: readonly string[], behind: Behind): Promise<string | undefined> {
  if (subnetIds.length < 2) return undefined;
  const subnets = listOf(
    await behind.ask("ec2", "DescribeSubnets", {
      "Filter.1.Name": "subnet-id",
      ...listForm("Filter.1.Value", subnetIds),
    }),
    "subnetSet",
  );
  const zones = subnets.map((each) => textOf(each, "availabilityZone"));
  const twice = zones.find((zone, index) => zones.indexOf(zone) !== index);
  if (twice === undefined) return undefined;
  return `A load balancer cannot be attached to multiple subnets in the same Availability Zone (${twice})`;
}

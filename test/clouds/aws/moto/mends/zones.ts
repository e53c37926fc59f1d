import { type Behind, listForm } from "../mend.ts";
import { findText, listMembers } from "../xml.ts";

/** Returns why a load balancer cannot be in these subnets: two of them are in one zone. */
export async function findSharedZone(
  subnetIds: readonly string[],
  behind: Behind,
): Promise<string | undefined> {
  if (subnetIds.length < 2) return undefined;
  const subnets = listMembers(
    await behind.ask("ec2", "DescribeSubnets", {
      "Filter.1.Name": "subnet-id",
      ...listForm("Filter.1.Value", subnetIds),
    }),
    "subnetSet",
  );
  const zones = subnets.map((each) => findText(each, "availabilityZone"));
  const twice = zones.find((zone, index) => zones.indexOf(zone) !== index);
  if (twice === undefined) return undefined;
  return `A load balancer cannot be attached to multiple subnets in the same Availability Zone (${twice})`;
}

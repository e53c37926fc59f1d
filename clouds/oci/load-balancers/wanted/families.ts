import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { IpFamily } from "#clouds/oci/load-balancers/wanted/ports.ts";
import type { Service } from "#core/service/service.ts";

/**
 * The IP families that a load balancer serves of those of a Service; undefined where it cannot. One of the kind `lb` has one family:
 * where the Service only prefers two, its first.
 */
export function familiesOf(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
): readonly IpFamily[] | undefined {
  const { ipFamilies = ["IPv4"], ipFamilyPolicy } = spec;
  const families = ipFamilies.filter((family) => family === "IPv4" || family === "IPv6");
  const [first = "IPv4"] = families;
  if (kind === "nlb") return families.length === 0 ? [first] : families;
  return families.length > 1 && ipFamilyPolicy === "RequireDualStack" ? undefined : [first];
}

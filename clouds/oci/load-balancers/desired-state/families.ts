import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { IpFamily } from "#clouds/oci/load-balancers/desired-state/ports.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Selects the IP families of a load balancer from those of a Service; undefined if unsupported. The type `lb`
 * has one family: the first one if the Service only prefers two.
 */
export function selectFamilies(
  kind: LoadBalancerKind,
  { spec }: Pick<Service, "spec">,
): readonly IpFamily[] | undefined {
  const { ipFamilies = ["IPv4"], ipFamilyPolicy } = spec;
  const families = ipFamilies.filter((family) => family === "IPv4" || family === "IPv6");
  const [first = "IPv4"] = families;
  if (kind === "nlb") return families.length === 0 ? [first] : families;
  return families.length > 1 && ipFamilyPolicy === "RequireDualStack" ? undefined : [first];
}

import type { Service } from "#core/service/service.ts";

/** The IP families of a load balancer towards its clients and towards its targets. */
export interface Families {
  readonly loadBalancer: "ipv4" | "dualstack";
  readonly targets: "ipv4" | "ipv6";
  /** Whether IPv6 is required; otherwise IPv4 alone is enough if the network has no IPv6. */
  readonly isRequired: boolean;
}

/** Selects the families of a Service; a cluster with one family has one, whatever the policy says. */
export function selectFamilies({ spec }: Service): Families {
  const families = spec.ipFamilies ?? [];
  if (!families.includes("IPv6")) return IPV4;
  return {
    loadBalancer: "dualstack",
    targets: families[0] === "IPv6" ? "ipv6" : "ipv4",
    isRequired: spec.ipFamilyPolicy !== "PreferDualStack" || families[0] === "IPv6",
  };
}

/** IPv4 only. */
export const IPV4: Families = { loadBalancer: "ipv4", targets: "ipv4", isRequired: false };

/** All clients, in the families of the load balancer. */
export function listAllClients({ loadBalancer }: Families): readonly string[] {
  return loadBalancer === "dualstack" ? ["0.0.0.0/0", "::/0"] : ["0.0.0.0/0"];
}

import type { Service } from "#core/service/service.ts";

/** Which IP families a load balancer is reached by, and its targets are spoken to in. */
export interface Families {
  readonly loadBalancer: "ipv4" | "dualstack";
  readonly targets: "ipv4" | "ipv6";
  /** Without IPv6 there is none; otherwise IPv4 alone will do where the network has no more. */
  readonly isRequired: boolean;
}

/** Families as a Service has them; those of a cluster with one family are one, whatever its policy says. */
export function familiesOf({ spec }: Service): Families {
  const families = spec.ipFamilies ?? [];
  if (!families.includes("IPv6")) return IPV4;
  return {
    loadBalancer: "dualstack",
    targets: families[0] === "IPv6" ? "ipv6" : "ipv4",
    isRequired: spec.ipFamilyPolicy !== "PreferDualStack" || families[0] === "IPv6",
  };
}

/** IPv4 and nothing else. */
export const IPV4: Families = { loadBalancer: "ipv4", targets: "ipv4", isRequired: false };

/** All clients, of the families by which a load balancer is reached. */
export function everybody({ loadBalancer }: Families): readonly string[] {
  return loadBalancer === "dualstack" ? ["0.0.0.0/0", "::/0"] : ["0.0.0.0/0"];
}

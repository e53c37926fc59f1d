import { invalidAnnotation } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Problem } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** What cannot be changed of a load balancer once it is there. */
export interface Kind {
  readonly type: LoadBalancerType;
  readonly network: "EXTERNAL" | "INTERNAL";
}

export type NetworkStack = "IPV4" | "DUALSTACK";

type Droplet = Extract<TargetDroplet, { readonly kind: "droplet" }>;

/** Reads the kind of a load balancer that is there. */
export function readKind({ type, network }: LoadBalancer): Kind {
  return {
    type: type === "REGIONAL_NETWORK" ? "REGIONAL_NETWORK" : "REGIONAL",
    network: network === "INTERNAL" ? "INTERNAL" : "EXTERNAL",
  };
}

/** Of all targets those that a load balancer of a kind can reach. */
export function eligibleOf(targets: readonly TargetDroplet[], kind: Kind): readonly Droplet[] {
  return dropletsOf(targets).filter((target) => isReachable(target, kind));
}

/** Says of targets of which none can be reached that they lack public addresses, where that is why. */
export function noneReachable(targets: readonly TargetDroplet[], kind: Kind): Problem | undefined {
  if (kind.network !== "EXTERNAL" || kind.type !== "REGIONAL_NETWORK") return undefined;
  const isSolved = dropletsOf(targets).some((target) => isReachable(target, { ...kind, type: "REGIONAL" }));
  return isSolved ? { code: "NodesWithoutPublicAddress", stockReason: "LoadBalancerConfigError" } : undefined;
}

/** By which families a load balancer that is to be made is reached: as its Service says, or as far as its kind and its nodes let it. */
export function stackOf(
  { network, type }: Kind,
  eligible: readonly Droplet[],
  explicit: NetworkStack | undefined,
  { metadata }: Service,
): { readonly stack: NetworkStack } | { readonly problem: Problem } {
  const wrong = (allowed: string, detail?: string) => ({
    problem: {
      ...invalidAnnotation("network-stack", metadata.annotations, allowed),
      ...(detail === undefined ? {} : { detail }),
      stockReason: "LoadBalancerConfigError" as const,
    },
  });
  if (network === "INTERNAL")
    return explicit === "DUALSTACK" ? wrong("IPV4, as the load balancer is internal") : { stack: "IPV4" };
  if (type === "REGIONAL") return { stack: explicit ?? "DUALSTACK" };
  const single = eligible.filter(({ hasPublicV6 }) => !hasPublicV6).map(({ node }) => node);
  if (explicit === "DUALSTACK" && single.length > 0)
    return wrong("IPV4, as long as a node lacks a public IPv6 address", `without IPv6: ${some(single)}`);
  return { stack: explicit ?? (single.length === 0 ? "DUALSTACK" : "IPV4") };
}

function isReachable({ hasPublicV4, hasPublicV6, hasPrivateV4 }: Droplet, { type, network }: Kind): boolean {
  if (network === "INTERNAL" || hasPublicV4) return true;
  return type === "REGIONAL" && hasPrivateV4 && !hasPublicV6;
}

function dropletsOf(targets: readonly TargetDroplet[]): readonly Droplet[] {
  return targets.filter((target) => target.kind === "droplet");
}

function some(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(", ")}${more > 0 ? ` [+${more} more]` : ""}`;
}

const SHOWN = 3;

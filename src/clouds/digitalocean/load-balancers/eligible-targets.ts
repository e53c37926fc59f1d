import { buildInvalidAnnotation } from "#clouds/digitalocean/load-balancers/annotations/read-annotations.ts";
import type { LoadBalancerType } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import type { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Issue, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** Properties of a load balancer that are fixed at creation. */
export interface Kind {
  readonly type: LoadBalancerType;
  readonly network: "EXTERNAL" | "INTERNAL";
}

export type NetworkStack = "IPV4" | "DUALSTACK";

type Droplet = Extract<TargetDroplet, { readonly kind: "droplet" }>;

/** Reads the kind of an existing load balancer. */
export function readKind({ type, network }: LoadBalancer): Kind {
  return {
    type: type === "REGIONAL_NETWORK" ? "REGIONAL_NETWORK" : "REGIONAL",
    network: network === "INTERNAL" ? "INTERNAL" : "EXTERNAL",
  };
}

/** Selects the targets that a load balancer of a kind can reach. */
export function selectEligible(targets: readonly TargetDroplet[], kind: Kind): readonly Droplet[] {
  return selectDroplets(targets).filter((target) => isReachable(target, kind));
}

/** Reports missing public addresses if they are the reason that no target is reachable. */
export function checkReachable(targets: readonly TargetDroplet[], kind: Kind): Issue | undefined {
  if (kind.network !== "EXTERNAL" || kind.type !== "REGIONAL_NETWORK") return undefined;
  const hasReachable = selectDroplets(targets).some((target) =>
    isReachable(target, { ...kind, type: "REGIONAL" }),
  );
  return hasReachable
    ? { code: "NodesWithoutPublicAddress", stockReason: "LoadBalancerConfigError" }
    : undefined;
}

/**
 * Selects the IP families of a new load balancer: as the Service requests, or as its kind and its nodes
 * allow.
 */
export function selectNetworkStack(
  { network, type }: Kind,
  eligible: readonly Droplet[],
  explicit: NetworkStack | undefined,
  { metadata }: Service,
): { readonly stack: NetworkStack } | { readonly issue: Issue } {
  const rejectStack = (allowed: string, detail?: string) => ({
    issue: {
      ...buildInvalidAnnotation("network-stack", metadata.annotations, allowed),
      ...(detail === undefined ? {} : { detail }),
      stockReason: "LoadBalancerConfigError" as const,
    },
  });
  if (network === "INTERNAL")
    return explicit === "DUALSTACK"
      ? rejectStack("IPV4, as the load balancer is internal")
      : { stack: "IPV4" };
  if (type === "REGIONAL") return { stack: explicit ?? "DUALSTACK" };
  const single = eligible.filter(({ hasPublicV6 }) => !hasPublicV6).map(({ node }) => node);
  if (explicit === "DUALSTACK" && single.length > 0)
    return rejectStack(
      "IPV4, as long as a node lacks a public IPv6 address",
      `without IPv6: ${formatNames(single)}`,
    );
  return { stack: explicit ?? (single.length === 0 ? "DUALSTACK" : "IPV4") };
}

function isReachable({ hasPublicV4, hasPublicV6, hasPrivateV4 }: Droplet, { type, network }: Kind): boolean {
  if (network === "INTERNAL" || hasPublicV4) return true;
  return type === "REGIONAL" && hasPrivateV4 && !hasPublicV6;
}

function selectDroplets(targets: readonly TargetDroplet[]): readonly Droplet[] {
  return targets.filter((target) => target.kind === "droplet");
}

function formatNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(", ")}${more > 0 ? ` [+${more} more]` : ""}`;
}

const MAX_NAMES = 3;

/** Reports nodes that are not droplets of the cluster as one issue of the Service that cannot reach them. */
export function reportExcludedNodes(targets: readonly TargetDroplet[]): readonly Issue[] {
  const messages = targets.flatMap((target) => (target.kind === "not-ours" ? [target.message] : []));
  const [first] = messages;
  if (first === undefined) return [];
  return [
    {
      code: "NodeNotUsable",
      detail: messages.length === 1 ? first : `${first}, and ${messages.length - 1} more`,
    },
  ];
}

/**
 * Returns what a person must fix if there are nodes but no reachable target; undefined if it is unknown or
 * temporary.
 */
export function rejectUnreachable(
  targets: readonly TargetDroplet[],
  kind: Kind,
): Extract<LoadBalancerStep, { readonly kind: "refused" }> | undefined {
  const isUnknown = targets.some((target) => target.kind === "unknown");
  const issue = checkReachable(targets, kind) ?? (isUnknown ? undefined : reportExcludedNodes(targets)[0]);
  return issue === undefined ? undefined : { kind: "refused", issue };
}

import { type Kind, noneReachable } from "#clouds/digitalocean/load-balancers/eligible.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerStep, Problem } from "#core/service/model.ts";

/** Nodes that are no droplets of the cluster's, as one problem of the Service that does not get to them. */
export function nodesLeftOut(targets: readonly TargetDroplet[]): readonly Problem[] {
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

/** What somebody has to mend where there are nodes and none can be sent to; undefined where that is not known, or passes. */
export function nobodyReached(
  targets: readonly TargetDroplet[],
  kind: Kind,
): Extract<LoadBalancerStep, { readonly kind: "refused" }> | undefined {
  const isUnknown = targets.some((target) => target.kind === "unknown");
  const problem = noneReachable(targets, kind) ?? (isUnknown ? undefined : nodesLeftOut(targets)[0]);
  return problem === undefined ? undefined : { kind: "refused", problem };
}

import { checkReachable, type Kind } from "#clouds/digitalocean/load-balancers/eligible-targets.ts";
import type { TargetDroplet } from "#clouds/digitalocean/load-balancers/state.ts";
import type { Issue, LoadBalancerStep } from "#core/service/model.ts";

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

import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { ClassicLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { planTagChanges, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Adds the desired tags to a load balancer and removes obsolete ones of ours; other tags stay. */
export function planTags(
  { loadBalancer, tags }: ClassicLoadBalancerState,
  desired: Pairs,
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const { add, remove } = planTagChanges(tags, desired);
  return [
    ...(remove.length === 0
      ? []
      : [
          buildAction("elb:RemoveTags", name, {
            LoadBalancerNames: [name],
            Tags: remove.map((Key) => ({ Key })),
          }),
        ]),
    ...(Object.keys(add).length === 0
      ? []
      : [buildAction("elb:AddTags", name, { LoadBalancerNames: [name], Tags: toTagList(add) })]),
  ];
}

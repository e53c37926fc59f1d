import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import type { ClassicLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagChanges, tagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Gives a load balancer the tags that are wanted, and takes away those of ours that are not; others stay. */
export function planTags(
  { loadBalancer, tags }: ClassicLoadBalancerState,
  wanted: Pairs,
): readonly LoadBalancerAction[] {
  const name = loadBalancer.LoadBalancerName ?? "";
  const { add, remove } = tagChanges(tags, wanted);
  return [
    ...(remove.length === 0
      ? []
      : [
          awsAction("elb:RemoveTags", name, {
            LoadBalancerNames: [name],
            Tags: remove.map((Key) => ({ Key })),
          }),
        ]),
    ...(Object.keys(add).length === 0
      ? []
      : [awsAction("elb:AddTags", name, { LoadBalancerNames: [name], Tags: tagList(add) })]),
  ];
}

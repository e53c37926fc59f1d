import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import {
  ATTRIBUTE_DEFAULTS,
  attributeMark,
  markedAttributes,
  SET_ATTRIBUTES,
} from "#clouds/aws/load-balancers/network/attribute-mark.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { arnOf, type MatchedPort } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { NetworkLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { tagChanges, tagList, wantedTags } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Attributes of the load balancer that are not as they are to be; of one that AWS does not show its default is taken. */
export function changeAttributes(
  { loadBalancer, attributes }: NetworkLoadBalancerState,
  { wanted, name }: NetworkContext,
): readonly LoadBalancerAction[] {
  if (attributes === undefined) return [];
  const changed = Object.entries(wanted.attributes).filter(
    ([key, value]) => (attributes[key] ?? BALANCER_DEFAULTS[key]) !== value,
  );
  if (changed.length === 0) return [];
  return [
    awsAction("elbv2:ModifyLoadBalancerAttributes", name, {
      LoadBalancerArn: loadBalancer.LoadBalancerArn,
      Attributes: pairsList(changed),
    }),
  ];
}

/**
 * Attributes of target groups: what the annotation says, and AWS's default for what it has said before. The tag that remembers it is
 * given before and taken away after, so that whatever comes in between is made good; and so do tags go that an annotation no longer
 * names before the tag is written that remembers them.
 */
export function changeTargetGroups(
  matched: readonly MatchedPort[],
  { wanted, owner }: NetworkContext,
): readonly LoadBalancerAction[] {
  return matched.flatMap(({ group: state }) => {
    if (state?.attributes === undefined) return [];
    const { group, tags, attributes } = state;
    const arn = arnOf(group);
    const mark = attributeMark(wanted.targetGroupAttributes);
    const reset = markedAttributes(tags).filter((key) => !Object.hasOwn(wanted.targetGroupAttributes, key));
    const to = {
      ...Object.fromEntries(reset.map((key) => [key, ATTRIBUTE_DEFAULTS[key] ?? ""])),
      ...wanted.targetGroupAttributes,
    };
    const changed = Object.entries(to).filter(
      ([key, value]) => (attributes[key] ?? ATTRIBUTE_DEFAULTS[key]) !== value,
    );
    const { add, remove } = tagChanges(tags, { ...wantedTags(owner), ...mark });
    const unmarked = mark[SET_ATTRIBUTES] === undefined && tags[SET_ATTRIBUTES] !== undefined;
    return [
      ...removeTags(arn, remove),
      ...addTags(arn, add),
      ...(changed.length === 0
        ? []
        : [
            awsAction("elbv2:ModifyTargetGroupAttributes", arn, {
              TargetGroupArn: arn,
              Attributes: pairsList(changed),
            }),
          ]),
      ...removeTags(arn, unmarked ? [SET_ATTRIBUTES] : []),
    ];
  });
}

/** Tags of the load balancer and of listeners that stay; those that are to go do so before the tag forgets them that remembers them. */
export function changeTags(
  { loadBalancer, tags }: NetworkLoadBalancerState,
  listeners: NetworkLoadBalancerState["listeners"],
  { owner }: NetworkContext,
): readonly LoadBalancerAction[] {
  const tagged = [
    ...listeners.map(({ listener, tags: own }) => ({ arn: listener.ListenerArn ?? "", own })),
    { arn: loadBalancer.LoadBalancerArn ?? "", own: tags },
  ];
  return tagged.flatMap(({ arn, own }) => {
    const { add, remove } = tagChanges(own, wantedTags(owner));
    return [...removeTags(arn, remove), ...addTags(arn, add)];
  });
}

/** What AWS's own values are. */
const BALANCER_DEFAULTS: Pairs = {
  "load_balancing.cross_zone.enabled": "false",
  "access_logs.s3.enabled": "false",
  "access_logs.s3.bucket": "",
  "access_logs.s3.prefix": "",
};

function pairsList(pairs: readonly (readonly [string, string])[]): { Key: string; Value: string }[] {
  return pairs.map(([Key, Value]) => ({ Key, Value }));
}

function addTags(arn: string, tags: Pairs): readonly LoadBalancerAction[] {
  if (Object.keys(tags).length === 0) return [];
  return [awsAction("elbv2:AddTags", arn, { ResourceArns: [arn], Tags: tagList(tags) })];
}

function removeTags(arn: string, keys: readonly string[]): readonly LoadBalancerAction[] {
  if (keys.length === 0) return [];
  return [awsAction("elbv2:RemoveTags", arn, { ResourceArns: [arn], TagKeys: [...keys] })];
}

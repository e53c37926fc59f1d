import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import {
  buildAttributeTag,
  getTargetGroupArn,
  type MatchedPort,
  parseAttributeTag,
  SET_ATTRIBUTES,
  TARGET_GROUP_ATTRIBUTE_DEFAULTS,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { NetworkLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, planTagChanges, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * Plans changes of load balancer attributes that differ from the desired ones; an attribute that AWS does not
 * show has its default.
 */
export function planAttributeChanges(
  { loadBalancer, attributes }: NetworkLoadBalancerState,
  { desired, name }: NetworkContext,
): readonly LoadBalancerAction[] {
  if (attributes === undefined) return [];
  const changed = Object.entries(desired.attributes).filter(
    ([key, value]) => (attributes[key] ?? LOAD_BALANCER_ATTRIBUTE_DEFAULTS[key]) !== value,
  );
  if (changed.length === 0) return [];
  return [
    buildAction("elbv2:ModifyLoadBalancerAttributes", name, {
      LoadBalancerArn: loadBalancer.LoadBalancerArn,
      Attributes: toAttributeList(changed),
    }),
  ];
}

/**
 * Plans changes of target group attributes: the values of the annotation, and AWS's default for each attribute
 * that the annotation no longer names. Before the change, the tag `SET_ATTRIBUTES` names the old and the new
 * attributes; afterwards only the new ones. So a later run completes an interrupted change. For the same
 * reason, obsolete tags are removed before the tag `ADDED_TAGS` changes.
 */
export function planTargetGroupAttributes(
  matched: readonly MatchedPort[],
  { desired, owner }: NetworkContext,
): readonly LoadBalancerAction[] {
  return matched.flatMap(({ group: state }) => {
    if (state?.attributes === undefined) return [];
    const { group, tags, attributes } = state;
    const arn = getTargetGroupArn(group);
    const recorded = Object.fromEntries(
      parseAttributeTag(tags).map((key) => [key, TARGET_GROUP_ATTRIBUTE_DEFAULTS[key] ?? ""]),
    );
    const desiredAttributes = { ...recorded, ...desired.targetGroupAttributes };
    const changed = Object.entries(desiredAttributes).filter(
      ([key, value]) => (attributes[key] ?? TARGET_GROUP_ATTRIBUTE_DEFAULTS[key]) !== value,
    );
    const finalTag = buildAttributeTag(desired.targetGroupAttributes);
    const firstTag = changed.length === 0 ? finalTag : buildAttributeTag(desiredAttributes);
    const { add, remove } = planTagChanges(tags, { ...buildServiceTags(owner), ...firstTag });
    const firstValue = firstTag[SET_ATTRIBUTES] ?? tags[SET_ATTRIBUTES];
    return [
      ...removeTags(arn, remove),
      ...addTags(arn, add),
      ...(changed.length === 0
        ? []
        : [
            buildAction("elbv2:ModifyTargetGroupAttributes", arn, {
              TargetGroupArn: arn,
              Attributes: toAttributeList(changed),
            }),
          ]),
      ...(firstValue === finalTag[SET_ATTRIBUTES]
        ? []
        : finalTag[SET_ATTRIBUTES] === undefined
          ? removeTags(arn, [SET_ATTRIBUTES])
          : addTags(arn, finalTag)),
    ];
  });
}

/**
 * Plans tags of the load balancer and of listeners that stay. Obsolete tags are removed before the tag
 * `ADDED_TAGS` changes.
 */
export function planServiceTags(
  { loadBalancer, tags }: NetworkLoadBalancerState,
  listeners: NetworkLoadBalancerState["listeners"],
  { owner }: NetworkContext,
): readonly LoadBalancerAction[] {
  const tagged = [
    ...listeners.map(({ listener, tags: listenerTags }) => ({
      arn: listener.ListenerArn ?? "",
      actual: listenerTags,
    })),
    { arn: loadBalancer.LoadBalancerArn ?? "", actual: tags },
  ];
  return tagged.flatMap(({ arn, actual }) => {
    const { add, remove } = planTagChanges(actual, buildServiceTags(owner));
    return [...removeTags(arn, remove), ...addTags(arn, add)];
  });
}

/** AWS's defaults of the load balancer attributes that `buildAttributes` sets. */
const LOAD_BALANCER_ATTRIBUTE_DEFAULTS: Pairs = {
  "load_balancing.cross_zone.enabled": "false",
  "access_logs.s3.enabled": "false",
  "access_logs.s3.bucket": "",
  "access_logs.s3.prefix": "",
};

function toAttributeList(pairs: readonly (readonly [string, string])[]): { Key: string; Value: string }[] {
  return pairs.map(([Key, Value]) => ({ Key, Value }));
}

function addTags(arn: string, tags: Pairs): readonly LoadBalancerAction[] {
  if (Object.keys(tags).length === 0) return [];
  return [buildAction("elbv2:AddTags", arn, { ResourceArns: [arn], Tags: toTagList(tags) })];
}

function removeTags(arn: string, keys: readonly string[]): readonly LoadBalancerAction[] {
  if (keys.length === 0) return [];
  return [buildAction("elbv2:RemoveTags", arn, { ResourceArns: [arn], TagKeys: [...keys] })];
}

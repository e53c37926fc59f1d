import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import {
  ATTRIBUTE_DEFAULTS,
  buildAttributeTag,
  getTargetGroupArn,
  type MatchedPort,
  parseAttributeTag,
  SET_ATTRIBUTES,
} from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { NetworkLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { buildServiceTags, planTagChanges, toTagList } from "#clouds/aws/load-balancers/tags.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/**
 * Plans changes of load balancer attributes that differ from the desired ones; an attribute that AWS does not
 * show has its default.
 */
export function changeAttributes(
  { loadBalancer, attributes }: NetworkLoadBalancerState,
  { desired, name }: NetworkContext,
): readonly LoadBalancerAction[] {
  if (attributes === undefined) return [];
  const changed = Object.entries(desired.attributes).filter(
    ([key, value]) => (attributes[key] ?? BALANCER_DEFAULTS[key]) !== value,
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
 * Plans changes of target group attributes: the annotation's values, and AWS's defaults for attributes that
 * it no longer names. The tag that records them is written before a change and removed after it, so that an
 * interrupted change is completed later. For the same reason, obsolete tags are removed before the tag that
 * records them changes.
 */
export function changeTargetGroups(
  matched: readonly MatchedPort[],
  { desired, owner }: NetworkContext,
): readonly LoadBalancerAction[] {
  return matched.flatMap(({ group: state }) => {
    if (state?.attributes === undefined) return [];
    const { group, tags, attributes } = state;
    const arn = getTargetGroupArn(group);
    const recordingTag = buildAttributeTag(desired.targetGroupAttributes);
    const reset = parseAttributeTag(tags).filter((key) => !Object.hasOwn(desired.targetGroupAttributes, key));
    const desiredAttributes = {
      ...Object.fromEntries(reset.map((key) => [key, ATTRIBUTE_DEFAULTS[key] ?? ""])),
      ...desired.targetGroupAttributes,
    };
    const changed = Object.entries(desiredAttributes).filter(
      ([key, value]) => (attributes[key] ?? ATTRIBUTE_DEFAULTS[key]) !== value,
    );
    const { add, remove } = planTagChanges(tags, { ...buildServiceTags(owner), ...recordingTag });
    const isTagObsolete = recordingTag[SET_ATTRIBUTES] === undefined && tags[SET_ATTRIBUTES] !== undefined;
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
      ...removeTags(arn, isTagObsolete ? [SET_ATTRIBUTES] : []),
    ];
  });
}

/**
 * Plans tags of the load balancer and of listeners that stay; obsolete tags are removed before the tag that
 * records them changes.
 */
export function changeTags(
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

/** AWS's defaults. */
const BALANCER_DEFAULTS: Pairs = {
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

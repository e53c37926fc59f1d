import type { Whose } from "#clouds/oci/load-balancers/choose-named.ts";
import { groupNameOf } from "#clouds/oci/load-balancers/names.ts";
import {
  backendGroupsOf,
  backRules,
  descriptionOf,
  frontRules,
  MAX_RULES,
  missingRules,
  superfluousRules,
} from "#clouds/oci/load-balancers/security.ts";
import type { OciState, Rule, SeenGroup } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster, SERVICE_UID_TAG } from "#clouds/oci/load-balancers/tags.ts";
import type { Wanted } from "#clouds/oci/load-balancers/wanted/wanted.ts";
import { groupTagsOf } from "#clouds/oci/load-balancers/wanted/wanted-tags.ts";
import type { LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";

/** What is next, or undefined where nothing is. */
type Next = Exclude<LoadBalancerStep, { kind: "settled" | "elsewhere" | "handed-over" }> | undefined;

/**
 * The managed group of a Service: that which has the tags of the cluster and of its uid. Its name alone is not enough, as a hostile API
 * server chooses uids, and groups that annotations may name have the cluster's tag, too.
 */
export function managedGroup(
  { groups }: Pick<OciState, "groups">,
  { service: { metadata }, cluster }: Pick<Whose, "service" | "cluster">,
): SeenGroup | undefined {
  return groups.find(
    ({ group: { freeformTags } }) =>
      isOfCluster(freeformTags ?? undefined, cluster) && freeformTags?.[SERVICE_UID_TAG] === metadata.uid,
  );
}

/** What has to be there before the load balancer: the managed group, with rules that let everything through. */
export function groupsBefore(wanted: Wanted, state: OciState, whose: Whose): Next {
  if (wanted.mode !== "NSG") return undefined;
  const { uid } = whose.service.metadata;
  const front = managedGroup(state, whose);
  if (front === undefined) {
    const [other] = state.groups;
    return other === undefined ? act(createGroup(wanted, whose)) : nameTaken(other);
  }
  if (front.group.lifecycleState !== "AVAILABLE") return wait(front);
  const backendGroups = wanted.said.backendSecurityGroups ?? [];
  const rules = frontRules(wanted, uid, backendGroups);
  if (rules.length > MAX_RULES) return { kind: "refused", problem: { code: "TooManyRules" } };
  const missing = missingRules(front, rules);
  if (missing !== undefined) return act(missing);
  for (const id of backendGroups) {
    const back = state.named[id];
    const next = back && missingRules(back, backRules(wanted, uid, front.group.id));
    if (next != null) return act(next);
  }
  return undefined;
}

/** What goes once the load balancer is as it is to be: rules that nobody needs, or the managed group with all that came with it. */
export function groupsAfter(wanted: Wanted, state: OciState, whose: Whose): Next {
  if (wanted.mode !== "NSG") return removeGroups(state, whose);
  const { uid } = whose.service.metadata;
  const front = managedGroup(state, whose);
  if (front === undefined) return undefined;
  const backendGroups = wanted.said.backendSecurityGroups ?? [];
  const former = backendGroupsOf(front).filter((id) => !backendGroups.includes(id));
  const rules = backRules(wanted, uid, front.group.id);
  // As long as the managed group names a group of backends, it is known where rules of ours are.
  const superfluous =
    firstOf(backendGroups, (id) => superfluousIn(state.named[id], rules, whose)) ??
    firstOf(former, (id) => superfluousIn(state.named[id], [], whose)) ??
    superfluousRules(front, frontRules(wanted, uid, backendGroups), () => true);
  return superfluous === undefined ? undefined : act(superfluous);
}

/** What is next for the managed group to go, with its rules in groups of backends. */
export function removeGroups(state: OciState, whose: Whose): Next {
  const front = managedGroup(state, whose);
  if (front === undefined) return undefined;
  if (front.group.lifecycleState !== "AVAILABLE") return wait(front);
  const rule = firstOf(backendGroupsOf(front), (id) => superfluousIn(state.named[id], [], whose));
  if (rule !== undefined) return act(rule);
  return act({ action: "vcn:DeleteNetworkSecurityGroup", target: front.group.id, parameters: {} });
}

function superfluousIn(
  group: SeenGroup | null | undefined,
  wanted: readonly Rule[],
  { service, cluster }: Whose,
): LoadBalancerAction | undefined {
  if (group == null || !isOfCluster(group.group.freeformTags ?? undefined, cluster)) return undefined;
  const ours = descriptionOf(service.metadata.uid);
  return superfluousRules(group, wanted, ({ description }) => description === ours);
}

function createGroup(wanted: Wanted, { service, configuration, cluster }: Whose): LoadBalancerAction {
  const displayName = groupNameOf(service.metadata);
  const { tags } = configuration;
  const body = {
    compartmentId: wanted.compartment,
    vcnId: configuration.vcn,
    displayName,
    freeformTags: { ...tags?.common?.freeform, ...groupTagsOf(service, cluster) },
    definedTags: tags?.common?.defined ?? {},
  };
  return {
    action: "vcn:CreateNetworkSecurityGroup",
    target: displayName,
    parameters: { body, retryToken: service.metadata.uid },
  };
}

function nameTaken({ group }: SeenGroup): Next {
  const detail = `the network security group ${group.id} is called after the Service and has not the free-form tags ${CLUSTER_TAG} and ${SERVICE_UID_TAG} of the cluster and of it`;
  return { kind: "refused", problem: { code: "NameTaken", detail } };
}

function act(action: LoadBalancerAction): Next {
  return {
    kind: "act",
    because: { code: action.action.replace(/^.*:/, ""), message: action.target },
    actions: [action],
  };
}

function wait({ group }: SeenGroup): Next {
  const message = `the network security group ${group.id} is ${group.lifecycleState}`;
  return { kind: "wait", because: { code: "SecurityGroup", message }, afterSeconds: 10 };
}

function firstOf<Value>(ids: readonly string[], find: (id: string) => Value | undefined): Value | undefined {
  for (const id of ids) {
    const found = find(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

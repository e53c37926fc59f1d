import type { LoadBalancerContext } from "#clouds/oci/load-balancers/choose-named.ts";
import type { DesiredState } from "#clouds/oci/load-balancers/desired-state/desired-state.ts";
import { buildGroupTags } from "#clouds/oci/load-balancers/desired-state/tags.ts";
import { formatGroupName } from "#clouds/oci/load-balancers/names.ts";
import {
  buildBackRules,
  buildFrontRules,
  formatNetwork,
  formatRuleDescription,
  listBackendGroups,
  MAX_RULES,
  planMissingRules,
  planSuperfluousRules,
} from "#clouds/oci/load-balancers/security.ts";
import type { ObservedGroup, OciState, Rule } from "#clouds/oci/load-balancers/state.ts";
import { CLUSTER_TAG, isOfCluster, SERVICE_UID_TAG } from "#clouds/oci/load-balancers/tags.ts";
import type { LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";

/** The next step; undefined if nothing is left to do. */
type NextStep = Exclude<LoadBalancerStep, { kind: "settled" | "foreign" | "handed-over" }> | undefined;

/**
 * Finds the managed group of a Service: the one with the tags of the cluster and of the uid. A name alone is
 * not enough, because a hostile API server chooses uids. Nor is the cluster's tag, which groups for
 * annotations have too.
 */
export function findManagedGroup(
  { groups }: Pick<OciState, "groups">,
  { service: { metadata }, cluster }: Pick<LoadBalancerContext, "service" | "cluster">,
): ObservedGroup | undefined {
  return groups.find(
    ({ group: { freeformTags } }) =>
      isOfCluster(freeformTags ?? undefined, cluster) && freeformTags?.[SERVICE_UID_TAG] === metadata.uid,
  );
}

/**
 * Plans what must exist before the load balancer: the managed group, with rules that allow its traffic. In
 * each group, clients that the Service no longer admits lose access right after, before any other change that
 * OCI may reject.
 */
export function planGroupsBefore(
  desired: DesiredState,
  state: OciState,
  context: LoadBalancerContext,
): NextStep {
  if (desired.mode !== "NSG") return undefined;
  const { uid } = context.service.metadata;
  const front = findManagedGroup(state, context);
  if (front === undefined) {
    const [other] = state.groups;
    return other === undefined ? act(createGroup(desired, context)) : buildNameTakenStep(other);
  }
  if (front.group.lifecycleState !== "AVAILABLE") return wait(front);
  const backendGroups = desired.annotationSettings.backendSecurityGroups ?? [];
  const rules = buildFrontRules(desired, uid, backendGroups);
  if (rules.length > MAX_RULES) return { kind: "refused", issue: { code: "TooManyRules" } };
  const missing = planMissingRules(front, rules, () => true);
  if (missing !== undefined)
    return act(
      (missing.isRoomNeeded ? planRemovals(desired, state, front, context) : undefined) ?? missing.add,
    );
  const exclusion = planSuperfluousRules(front, rules, isIncoming);
  if (exclusion !== undefined) return act(exclusion);
  const backRules = buildBackRules(desired, uid, front.group.id);
  for (const id of backendGroups) {
    const back = state.named[id];
    const next = back && planMissingRules(back, backRules, isOfService(uid));
    if (next == null) continue;
    return act((next.isRoomNeeded ? planRuleRemoval(back, backRules, context) : undefined) ?? next.add);
  }
  const backExclusion = planBackExclusion(desired, state, { ...context, backendGroups, backRules });
  return backExclusion === undefined ? undefined : act(backExclusion);
}

/**
 * Plans the removal of clients from backend groups. Until backends no longer see client addresses, even
 * admitted clients need these rules, which may name wider ranges.
 */
function planBackExclusion(
  desired: DesiredState,
  { named }: OciState,
  context: LoadBalancerContext & {
    readonly backendGroups: readonly string[];
    readonly backRules: readonly Rule[];
  },
): LoadBalancerAction | undefined {
  if (!desired.preservesSource) return undefined;
  const admitted = new Set(desired.sourceRanges.map(formatNetwork));
  const isExcluded = ({ sourceType, source }: Rule): boolean =>
    sourceType === "CIDR_BLOCK" && !admitted.has(formatNetwork(source));
  const { backendGroups, backRules } = context;
  return findFirst(backendGroups, (id) => planRuleRemoval(named[id], backRules, context, isExcluded));
}

/**
 * Plans removals after the load balancer has its desired state: obsolete rules, or the managed group with its
 * rules. Rejects the rest of them while a backend group is hidden.
 */
export function planGroupsAfter(
  desired: DesiredState,
  state: OciState,
  context: LoadBalancerContext,
): NextStep {
  if (desired.mode !== "NSG") return removeGroups(state, context);
  const front = findManagedGroup(state, context);
  if (front === undefined) return undefined;
  const removal = planRemovals(desired, state, front, context);
  return removal === undefined ? rejectHiddenGroups(front, state) : act(removal);
}

/** Plans the removal of the next batch of obsolete rules from the managed group and backend groups. */
function planRemovals(
  desired: DesiredState,
  state: OciState,
  front: ObservedGroup,
  context: LoadBalancerContext,
): LoadBalancerAction | undefined {
  const { uid } = context.service.metadata;
  const backendGroups = desired.annotationSettings.backendSecurityGroups ?? [];
  const frontRules = buildFrontRules(desired, uid, backendGroups);
  const former = listBackendGroups(front).filter((id) => !backendGroups.includes(id));
  const rules = buildBackRules(desired, uid, front.group.id);
  const hidden = listHiddenGroups(front, state);
  // While the managed group names a backend group, the place of our rules is known.
  return (
    planSuperfluousRules(front, frontRules, isIncoming) ??
    findFirst(backendGroups, (id) => planRuleRemoval(state.named[id], rules, context)) ??
    findFirst(former, (id) => planRuleRemoval(state.named[id], [], context)) ??
    planSuperfluousRules(front, frontRules, ({ destination }) => !hidden.includes(destination ?? ""))
  );
}

/**
 * Lists the backend groups that OCI does not show although they exist. Our rules in them cannot be removed, and
 * only the managed group tells where these are.
 */
function listHiddenGroups(front: ObservedGroup, { named }: OciState): readonly string[] {
  // A 404 does not tell a deleted group from a hidden one; rules that name a deleted group are invalid.
  const rules = front.rules.filter(({ isValid }) => isValid !== false);
  return listBackendGroups({ rules }).filter((id) => named[id] === null);
}

function rejectHiddenGroups(front: ObservedGroup, state: OciState): NextStep {
  const hidden = listHiddenGroups(front, state);
  if (hidden.length === 0) return undefined;
  const detail = `OCI does not show ${hidden.join(", ")}; allow the user to read it, or delete the rules of ${front.group.id} that name it`;
  return { kind: "refused", issue: { code: "SecurityGroupHidden", detail } };
}

function isIncoming({ direction }: Rule): boolean {
  return direction === "INGRESS";
}

/** Returns whether a rule is one of a Service's in a group that also holds rules of others. */
function isOfService(uid: string): (rule: Rule) => boolean {
  const ownDescription = formatRuleDescription(uid);
  return ({ description }) => description === ownDescription;
}

/**
 * Returns the next step that removes the managed group and its rules in backend groups. Rejects it while a
 * backend group is hidden.
 */
export function removeGroups(state: OciState, context: LoadBalancerContext): NextStep {
  const front = findManagedGroup(state, context);
  if (front === undefined) return undefined;
  if (front.group.lifecycleState !== "AVAILABLE") return wait(front);
  const rule = findFirst(listBackendGroups(front), (id) => planRuleRemoval(state.named[id], [], context));
  if (rule !== undefined) return act(rule);
  const rejection = rejectHiddenGroups(front, state);
  if (rejection !== undefined) return rejection;
  return act({ action: "vcn:DeleteNetworkSecurityGroup", target: front.group.id, parameters: {} });
}

function planRuleRemoval(
  group: ObservedGroup | null | undefined,
  desiredRules: readonly Rule[],
  { service, cluster }: LoadBalancerContext,
  isRemovable: (rule: Rule) => boolean = () => true,
): LoadBalancerAction | undefined {
  if (group == null || !isOfCluster(group.group.freeformTags ?? undefined, cluster)) return undefined;
  const isOwn = isOfService(service.metadata.uid);
  return planSuperfluousRules(group, desiredRules, (rule) => isOwn(rule) && isRemovable(rule));
}

function createGroup(
  desired: DesiredState,
  { service, configuration, cluster }: LoadBalancerContext,
): LoadBalancerAction {
  const displayName = formatGroupName(service.metadata);
  const { tags } = configuration;
  const body = {
    compartmentId: desired.compartment,
    vcnId: configuration.vcn,
    displayName,
    freeformTags: { ...tags?.common?.freeform, ...buildGroupTags(service, cluster) },
    definedTags: tags?.common?.defined ?? {},
  };
  return {
    action: "vcn:CreateNetworkSecurityGroup",
    target: displayName,
    parameters: { body, retryToken: service.metadata.uid },
  };
}

function buildNameTakenStep({ group }: ObservedGroup): NextStep {
  const detail = `the network security group ${group.id} is called after the Service and has not the free-form tags ${CLUSTER_TAG} and ${SERVICE_UID_TAG} of the cluster and of it`;
  return { kind: "refused", issue: { code: "NameTaken", detail } };
}

function act(action: LoadBalancerAction): NextStep {
  return {
    kind: "act",
    because: { code: action.action.replace(/^.*:/, ""), message: action.target },
    actions: [action],
  };
}

function wait({ group }: ObservedGroup): NextStep {
  const message = `the network security group ${group.id} is ${group.lifecycleState}`;
  return { kind: "wait", because: { code: "SecurityGroup", message }, afterSeconds: 10 };
}

function findFirst<Value>(
  ids: readonly string[],
  find: (id: string) => Value | undefined,
): Value | undefined {
  for (const id of ids) {
    const found = find(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

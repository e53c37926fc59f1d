import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { clusterTagOf, configurationOf, identityFor } from "#clouds/aws/load-balancers/configuration.ts";
import { sharedGroupId } from "#clouds/aws/load-balancers/network/shared-group.ts";
import type { SharedRulesState } from "#clouds/aws/load-balancers/orphans/shared-rules.ts";
import type { SecurityGroupState } from "#clouds/aws/load-balancers/state.ts";
import { tagList } from "#clouds/aws/load-balancers/tags.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  nodeGroupsIn,
  SHARED_CLASSIC_RULE,
  SHARED_HEALTH_RULE,
  SHARED_RULE,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import { permissionsOf, type Rule, rulesOf } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";
import type { Settings } from "#core/settings.ts";

/** The tag that says since when no load balancer has the security group that all network load balancers of a cluster share. */
export const UNUSED_TAG = "serverless-ccm.io/unused-since";

/** So long a shared rule stays after it was first seen unused: longer than a load balancer that comes takes to be shown. */
export const GRACE_MS = 600_000;

/**
 * Returns what is to be done about rules on nodes' groups that several load balancers share. One that none uses is first described as
 * unused since now, and goes in an audit after the period of grace; one that is used again is described as before. Rules of older versions
 * come to be described as shared in place, so that there is no moment without them.
 */
export function planUnusedRules(
  shared: unknown,
  now: Date,
  settings: Settings,
): readonly LoadBalancerAction[] {
  const configuration = configurationOf(settings);
  // Rules on the nodes' groups are the operator's then.
  if (configuration.disableSecurityGroupIngress === true) return [];
  // What the audit observed is our own capability's.
  const state = shared as SharedRulesState;
  const ofRules = nodeGroupsIn(state, identityFor(settings)).flatMap((group) =>
    rulesOf(group.ingress).flatMap((rule) => changeOfRule(rule, group, state, now)),
  );
  const ofGroup = changeOfGroup(state, clusterTagOf(settings), now);
  return [...ofRules, ...ofGroup].slice(0, MAX_CHANGES);
}

/** Of one audit; the next one goes on. */
const MAX_CHANGES = 40;

const UNUSED = " unused since ";

function changeOfRule(
  rule: Rule,
  { group: { GroupId: id = "" }, ingress }: SecurityGroupState,
  state: SharedRulesState,
  now: Date,
): readonly LoadBalancerAction[] {
  const [base = "", since] = (rule.description ?? "").split(UNUSED);
  if (base === "") return isAdopted(rule, state) ? [describe(id, rule, SHARED_CLASSIC_RULE)] : [];
  const users = countUsers({ ...rule, description: base }, ingress, state);
  if (users === undefined) return [];
  if (users > 0) {
    const isShared = users > 1 && base.startsWith(`${HEALTH_RULE}=`);
    if (isShared) return [describe(id, rule, SHARED_HEALTH_RULE)];
    return since === undefined ? [] : [describe(id, rule, base)];
  }
  const sinceMs = Date.parse(since ?? "");
  if (Number.isNaN(sinceMs)) return [describe(id, rule, `${base}${UNUSED}${now.toISOString()}`)];
  if (now.getTime() - sinceMs < GRACE_MS) return [];
  const request = { GroupId: id, IpPermissions: permissionsOf([rule]) };
  return [awsAction("ec2:RevokeSecurityGroupIngress", targetOfRule(id, rule), request)];
}

/** Returns how many load balancers depend on a rule; undefined where it is none that load balancers share. */
function countUsers(
  { description = "", peer, ports }: Rule,
  ingress: SecurityGroupState["ingress"],
  { checkedPorts, networkGroups, classicGroups }: SharedRulesState,
): number | undefined {
  if (description === MTU_RULE)
    return rulesOf(ingress).filter((each) => each.peer === peer && mayBeOfClients(each)).length;
  if (description === SHARED_RULE) return networkGroups.includes(peer) ? 1 : 0;
  if (description === SHARED_CLASSIC_RULE) return classicGroups.includes(peer) ? 1 : 0;
  if (description !== SHARED_HEALTH_RULE && !description.startsWith(`${HEALTH_RULE}=`)) return undefined;
  const checked = checkedPorts.filter(
    ({ port }) => ports === undefined || (ports[0] <= port && port <= ports[1]),
  );
  // At several ports it is one load balancer's own: those that are shared stand alone.
  const counts = checked.map(({ users }) => users.length);
  return checked.length > 1 ? 1 : (counts[0] ?? 0);
}

/** A rule for health checks lets clients in as well where these come from the same addresses to the same port: AWS keeps one of both. */
function mayBeOfClients({ description = "" }: Rule): boolean {
  return (
    description === SHARED_HEALTH_RULE ||
    description.startsWith(`${CLIENT_RULE}=`) ||
    description.startsWith(`${HEALTH_RULE}=`)
  );
}

/** Whether an older version, or the stock controller, has let in a group that classic load balancers of the cluster share. */
function isAdopted({ from, protocol, peer }: Rule, { groups, ownClassicGroups }: SharedRulesState): boolean {
  if (from !== "group" || protocol !== "-1" || !ownClassicGroups.includes(peer)) return false;
  const name = groups.find(({ group }) => group.GroupId === peer)?.group.GroupName;
  return name?.startsWith(OWN_CLASSIC_GROUP) !== true;
}

/** How the security group is called that is made for one classic load balancer. */
const OWN_CLASSIC_GROUP = "k8s-elb-";

/** The group that all network load balancers share goes after the rules that let it in, which hold it. */
function changeOfGroup(
  { groups, networkGroups }: SharedRulesState,
  clusterTag: string,
  now: Date,
): readonly LoadBalancerAction[] {
  const id = sharedGroupId(clusterTag, groups);
  const found = groups.find(({ group }) => group.GroupId === id);
  if (id === undefined || found === undefined) return [];
  const since = found.tags[UNUSED_TAG];
  if (networkGroups.includes(id)) {
    const request = { Resources: [id], Tags: [{ Key: UNUSED_TAG }] };
    return since === undefined ? [] : [awsAction("ec2:DeleteTags", id, request)];
  }
  const sinceMs = Date.parse(since ?? "");
  if (Number.isNaN(sinceMs)) {
    const request = { Resources: [id], Tags: tagList({ [UNUSED_TAG]: now.toISOString() }) };
    return [awsAction("ec2:CreateTags", id, request)];
  }
  const isHeld = groups.some(({ ingress }) => rulesOf(ingress).some(({ peer }) => peer === id));
  if (isHeld || now.getTime() - sinceMs < GRACE_MS) return [];
  return [awsAction("ec2:DeleteSecurityGroup", id, { GroupId: id })];
}

function describe(id: string, rule: Rule, description: string): LoadBalancerAction {
  return awsAction("ec2:UpdateSecurityGroupRuleDescriptionsIngress", targetOfRule(id, rule), {
    GroupId: id,
    IpPermissions: permissionsOf([{ ...rule, description }]),
  });
}

/** Tells the rules of a group apart, so that each is tried once in an audit. */
function targetOfRule(id: string, { protocol, ports, peer }: Rule): string {
  return [id, protocol, ports?.join("-"), peer].filter(Boolean).join(" ");
}

import { createHash } from "node:crypto";
import type { TargetDescription, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import { buildAction } from "#clouds/aws/load-balancers/actions.ts";
import type { TargetNodeLabels } from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { LoadBalancerContext } from "#clouds/aws/load-balancers/context.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { Families } from "#clouds/aws/load-balancers/network/ports.ts";
import { getTargetGroupArn } from "#clouds/aws/load-balancers/network/target-groups.ts";
import { selectKeptTargets, selectNodes } from "#clouds/aws/load-balancers/select-target.ts";
import type {
  AwsLoadBalancerState,
  TargetGroupState,
  TargetInstance,
} from "#clouds/aws/load-balancers/state.ts";
import { splitIntoChunks } from "#core/chunks.ts";
import type { Issue, LoadBalancerAction, TargetNode } from "#core/service/model.ts";

/** The desired targets of a load balancer. */
export interface DesiredTargets {
  readonly ids: readonly string[];
  /** Registered instances that stay where they are registered, although they are no desired targets. */
  readonly keptIds: readonly string[];
  /**
   * Names of nodes whose instances may become targets later: not shown, without the cluster's tag, or pending,
   * stopping or stopped and not registered.
   */
  readonly awaitedNodes: readonly string[];
  readonly warnings: readonly Issue[];
}

/** What selects and limits targets, besides the nodes. */
export interface TargetRules {
  /** Labels that a node must have. */
  readonly labels: TargetNodeLabels | undefined;
  readonly family: Families["targets"];
  /** Number of target groups; every target is registered with each. */
  readonly groupCount: number;
  readonly isAcrossZones: boolean;
}

/** Returns the target rules of a Service whose annotations are valid. */
export function getTargetRules({ desired }: NetworkContext): TargetRules {
  return {
    labels: desired.annotations["target-node-labels"],
    family: desired.families.targets,
    groupCount: desired.ports.length,
    isAcrossZones: desired.attributes["load_balancing.cross_zone.enabled"] === "true",
  };
}

/**
 * Selects instances of nodes that can be targets now. AWS accepts only running ones. A registered instance that does
 * not run stays until it is terminated or its node is gone, because it may start again. If there are more than AWS
 * allows, registered instances have priority, and each Service chooses a different subset.
 */
export function chooseTargets(
  nodes: readonly TargetNode[],
  rules: TargetRules,
  { state, name }: LoadBalancerContext,
): DesiredTargets {
  const registered = listRegisteredIds(state);
  const nodeWarnings: Issue[] = [];
  const awaitedNodes: string[] = [];
  const candidates = new Map<string, TargetInstance>();
  const selected = selectNodes(nodes, rules.labels, state.vpc);
  for (const { name: nodeName, id, instance } of selected) {
    if (isAwaited(instance, registered.has(id))) awaitedNodes.push(nodeName);
    if (instance === undefined || instance.state === "terminated") continue;
    if (rules.family === "ipv6" && instance.primaryIpv6 === undefined) {
      nodeWarnings.push(buildNoIPv6Issue(nodeName));
      continue;
    }
    if (instance.state === "running" || registered.has(id)) candidates.set(id, instance);
  }
  const ids = limitTargets(candidates, registered, rules, name);
  const keptIds = selectKeptTargets(registered, selected, ids, state.vpc);
  const tooMany = ids.length < candidates.size ? [buildTooManyIssue(ids.length, candidates.size)] : [];
  return { ids, keptIds, awaitedNodes, warnings: [...nodeWarnings.slice(0, MAX_NODE_WARNINGS), ...tooMany] };
}

/**
 * Returns whether an instance may become a target later. An instance that AWS does not show, or that lacks the
 * cluster's tag, is undefined and counts as awaited.
 */
function isAwaited(instance: TargetInstance | undefined, isRegistered: boolean): boolean {
  if (instance === undefined) return true;
  return !isRegistered && (instance.state === "pending" || /^stopp(ing|ed)$/.test(instance.state));
}

/** Returns the actions that register missing targets with each target group. */
export function planTargetRegistration(
  groups: readonly TargetGroupState[],
  ids: readonly string[],
): readonly LoadBalancerAction[] {
  return groups.flatMap(({ group, targets }) => {
    const registered = new Set(targets.filter((each) => isOnGroupPort(each, group)).map(({ Id }) => Id));
    const missing = ids.filter((id) => !registered.has(id)).map((Id) => ({ Id, Port: group.Port }));
    const TargetGroupArn = getTargetGroupArn(group);
    return splitIntoChunks(missing, CHUNK_SIZE).map((Targets) =>
      buildAction("elbv2:RegisterTargets", TargetGroupArn, { TargetGroupArn, Targets }),
    );
  });
}

/** Returns the actions that deregister instances that are neither desired nor kept, or have another port. */
export function planTargetDeregistration(
  groups: readonly TargetGroupState[],
  { ids, keptIds }: Pick<DesiredTargets, "ids" | "keptIds">,
): readonly LoadBalancerAction[] {
  const desiredIds: ReadonlySet<string | undefined> = new Set([...ids, ...keptIds]);
  return groups.flatMap(({ group, targets }) => {
    const extra = targets.filter((each) => !desiredIds.has(each.Id) || !isOnGroupPort(each, group));
    const TargetGroupArn = getTargetGroupArn(group);
    return splitIntoChunks(extra, CHUNK_SIZE).map((chunk) =>
      buildAction("elbv2:DeregisterTargets", TargetGroupArn, {
        TargetGroupArn,
        Targets: chunk.map(({ Id, Port }) => ({ Id, ...(Port === undefined ? {} : { Port }) })),
      }),
    );
  });
}

/**
 * Targets per request, as in the stock controller. AWS rejects a whole request because of one bad ID; a small
 * request limits the damage.
 */
const CHUNK_SIZE = 100;

/**
 * AWS's quota of targets per availability zone, or in total with cross-zone load balancing. An instance counts
 * once per target group.
 */
const MAX_IN_ZONE = 500;
/** AWS's quota of targets per load balancer. An instance counts once per target group. */
const MAX_IN_ALL = 3_000;
/** AWS's quota of targets per target group. */
const MAX_IN_GROUP = 1_000;

/** The maximum number of warnings about single nodes. */
const MAX_NODE_WARNINGS = 5;

/** A target without a port uses the group's. */
function isOnGroupPort({ Port }: TargetDescription, group: TargetGroup): boolean {
  return Port === undefined || Port === group.Port;
}

function listRegisteredIds(state: AwsLoadBalancerState): ReadonlySet<string> {
  return new Set(state.targetGroups.flatMap(({ targets }) => targets.map(({ Id }) => Id ?? "")));
}

function limitTargets(
  candidates: ReadonlyMap<string, TargetInstance>,
  registered: ReadonlySet<string>,
  { groupCount: count, isAcrossZones }: TargetRules,
  name: string,
): readonly string[] {
  const maxInZone = Math.floor(MAX_IN_ZONE / count);
  const maxInAll = isAcrossZones ? maxInZone : Math.min(MAX_IN_GROUP, Math.floor(MAX_IN_ALL / count));
  const zones = [...Map.groupBy(candidates, ([, { zone = "" }]) => zone).values()];
  const limit = computeEvenLimit(
    zones.map(({ length }) => length),
    maxInZone,
    maxInAll,
  );
  const rank = (id: string): string =>
    `${registered.has(id) ? 0 : 1}${createHash("sha1").update(`${name}${id}`).digest("hex")}`;
  return zones
    .flatMap((zone) => {
      if (zone.length <= limit) return zone.map(([id]) => id);
      const ranked = zone.map(([id]) => ({ id, rank: rank(id) }));
      const chosen = ranked.toSorted((one, other) => (one.rank < other.rank ? -1 : 1)).slice(0, limit);
      return chosen.map(({ id }) => id);
    })
    .sort();
}

/**
 * Returns the highest limit per zone with which all zones together stay within `maxInAll`. Large zones use the
 * room that small zones leave.
 */
function computeEvenLimit(counts: readonly number[], maxInZone: number, maxInAll: number): number {
  let remaining = maxInAll;
  for (const [index, count] of counts.toSorted((one, other) => one - other).entries()) {
    const share = Math.floor(remaining / (counts.length - index));
    if (count > share) return Math.min(maxInZone, share);
    remaining -= Math.min(count, maxInZone);
  }
  return maxInZone;
}

function buildTooManyIssue(chosen: number, total: number): Issue {
  return {
    code: "TooManyTargets",
    value: String(total),
    allowed: `at most ${chosen} instances`,
    detail: `${chosen} of ${total} instances are targets`,
  };
}

function buildNoIPv6Issue(name: string): Issue {
  return {
    code: "NodeWithoutIPv6",
    field: "spec.ipFamilies",
    value: "IPv6",
    allowed: "IPv4, unless the instances of nodes have a primary IPv6 address",
    detail: `the instance of node ${name} has no primary IPv6 address`,
  };
}

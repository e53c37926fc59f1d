import { createHash } from "node:crypto";
import type { TargetDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import {
  hasLabels,
  type TargetNodeLabels,
} from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import type { Families } from "#clouds/aws/load-balancers/network/families.ts";
import { arnOf } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type {
  AwsLoadBalancerState,
  TargetGroupState,
  TargetInstance,
} from "#clouds/aws/load-balancers/state.ts";
import { targetOf } from "#clouds/aws/load-balancers/target-of.ts";
import type { Whose } from "#clouds/aws/load-balancers/whose.ts";
import type { LoadBalancerAction, Problem, TargetNode } from "#core/service/model.ts";

/** Which instances a load balancer is to send to. */
export interface TargetsWanted {
  readonly ids: readonly string[];
  /** Names of nodes whose instances may become targets later: they are not shown yet, not tagged yet, or do not run. */
  readonly awaited: readonly string[];
  readonly warnings: readonly Problem[];
}

/** What decides, beside the nodes, which instances are targets. */
export interface TargetRules {
  /** What a node must be labelled with. */
  readonly labels: TargetNodeLabels | undefined;
  readonly family: Families["targets"];
  /** Of target groups, each of which every target is registered with. */
  readonly groupCount: number;
  readonly isAcrossZones: boolean;
}

/** Returns what decides on the targets of a Service whose annotations have been read. */
export function targetRulesFor({ wanted }: NetworkContext): TargetRules {
  return {
    labels: wanted.annotations["target-node-labels"],
    family: wanted.families.targets,
    groupCount: wanted.ports.length,
    isAcrossZones: wanted.attributes["load_balancing.cross_zone.enabled"] === "true",
  };
}

/**
 * Instances of nodes that can be targets now: AWS takes running ones alone, and what runs no more stays registered as long as its
 * node is there, because it may run again. Of more than AWS takes, those that are registered stay, and each Service takes others.
 */
export function chooseTargets(
  nodes: readonly TargetNode[],
  rules: TargetRules,
  { state, name }: Whose,
): TargetsWanted {
  const registered = registeredIds(state);
  const warnings: Problem[] = [];
  const awaited: string[] = [];
  const candidates = new Map<string, TargetInstance>();
  for (const node of nodes) {
    const id = targetOf(node);
    if (id === undefined || !hasLabels(node.labels, rules.labels)) continue;
    const instance = Object.hasOwn(state.vpc.instances, id) ? state.vpc.instances[id] : undefined;
    if (isAwaited(instance, registered.has(id))) awaited.push(node.name);
    if (instance === undefined || instance.state === "terminated") continue;
    if (rules.family === "ipv6" && instance.primaryIpv6 === undefined) {
      warnings.push(noIPv6(node));
      continue;
    }
    if (instance.state === "running" || registered.has(id)) candidates.set(id, instance);
  }
  const ids = withinLimits(candidates, registered, rules, name);
  if (ids.length < candidates.size) warnings.push(tooMany(ids.length, candidates.size));
  return { ids, awaited, warnings: warnings.slice(0, MAX_WARNINGS) };
}

/** Whether an instance may become a target although it is none now; one that AWS does not show, or that lacks the cluster's tag, is unknown. */
function isAwaited(instance: TargetInstance | undefined, isRegistered: boolean): boolean {
  if (instance === undefined) return true;
  return !isRegistered && (instance.state === "pending" || /^stopp(ing|ed)$/.test(instance.state));
}

/** Nodes whose labels nobody has told are not taken for nodes without any: then all targets would go. */
export function faultOfLabels(nodes: readonly TargetNode[], { wanted }: NetworkContext): Problem | undefined {
  const said = wanted.annotations["target-node-labels"];
  if (said === undefined || nodes.length === 0 || nodes.some(({ labels }) => labels !== undefined))
    return undefined;
  return {
    code: "UnsupportedAnnotation",
    field: annotationName("target-node-labels"),
    value: Object.entries(said)
      .map((pair) => pair.join("="))
      .join(","),
    allowed: "nothing, as long as labels of nodes are not told",
  };
}

/** Registers what a target group lacks. */
export function registerTargets(
  groups: readonly TargetGroupState[],
  ids: readonly string[],
): readonly LoadBalancerAction[] {
  return groups.flatMap((group) => {
    const there = new Set(group.targets.filter((each) => isAt(each, group)).map(({ Id }) => Id));
    const missing = ids.filter((id) => !there.has(id)).map((Id) => ({ Id, Port: group.group.Port }));
    const TargetGroupArn = arnOf(group.group);
    return chunks(missing).map((Targets) =>
      awsAction("elbv2:RegisterTargets", TargetGroupArn, { TargetGroupArn, Targets }),
    );
  });
}

/** Takes away what is registered with a target group and no target, or at another port. */
export function deregisterTargets(
  groups: readonly TargetGroupState[],
  ids: readonly string[],
): readonly LoadBalancerAction[] {
  const wanted: ReadonlySet<string | undefined> = new Set(ids);
  return groups.flatMap((group) => {
    const extra = group.targets.filter((each) => !wanted.has(each.Id) || !isAt(each, group));
    const TargetGroupArn = arnOf(group.group);
    return chunks(extra).map((targets) =>
      awsAction("elbv2:DeregisterTargets", TargetGroupArn, {
        TargetGroupArn,
        Targets: targets.map(({ Id, Port }) => ({ Id, ...(Port === undefined ? {} : { Port }) })),
      }),
    );
  });
}

/** As many as the stock controller sends at once; AWS refuses a call for one bad id, so that fewer are at its mercy. */
const CHUNK = 100;

/**
 * AWS's quota of targets of a network load balancer for each zone, or for all of them where it sends across zones; in all; and of
 * a target group. Of a load balancer an instance counts once for each target group.
 */
const MAX_IN_ZONE = 500;
const MAX_IN_ALL = 3_000;
const MAX_IN_GROUP = 1_000;

/** Of what is said of nodes one by one. */
const MAX_WARNINGS = 5;

function isAt({ Port }: TargetDescription, { group }: TargetGroupState): boolean {
  return Port === undefined || Port === group.Port;
}

function registeredIds(state: AwsLoadBalancerState): ReadonlySet<string> {
  return new Set(state.targetGroups.flatMap(({ targets }) => targets.map(({ Id }) => Id ?? "")));
}

function withinLimits(
  candidates: ReadonlyMap<string, TargetInstance>,
  registered: ReadonlySet<string>,
  { groupCount: count, isAcrossZones }: TargetRules,
  name: string,
): readonly string[] {
  const ofZone = Math.floor(MAX_IN_ZONE / count);
  const ofAll = isAcrossZones ? ofZone : Math.min(MAX_IN_GROUP, Math.floor(MAX_IN_ALL / count));
  const zones = [...Map.groupBy(candidates, ([, { zone = "" }]) => zone).values()];
  const limit = evenLimit(
    zones.map(({ length }) => length),
    ofZone,
    ofAll,
  );
  const rank = (id: string): string =>
    `${registered.has(id) ? 0 : 1}${createHash("sha1").update(`${name}${id}`).digest("hex")}`;
  return zones
    .flatMap((zone) => {
      if (zone.length <= limit) return zone.map(([id]) => id);
      const ranked = zone.map(([id]) => ({ id, rank: rank(id) }));
      const taken = ranked.toSorted((one, other) => (one.rank < other.rank ? -1 : 1)).slice(0, limit);
      return taken.map(({ id }) => id);
    })
    .sort();
}

/** How many of each zone there is room for, so that all zones are served: what a small one does not need is the others'. */
function evenLimit(counts: readonly number[], ofZone: number, ofAll: number): number {
  let left = ofAll;
  for (const [place, count] of counts.toSorted((one, other) => one - other).entries()) {
    const share = Math.floor(left / (counts.length - place));
    if (count > share) return Math.min(ofZone, share);
    left -= Math.min(count, ofZone);
  }
  return ofZone;
}

function tooMany(taken: number, all: number): Problem {
  return {
    code: "TooManyTargets",
    value: String(all),
    allowed: "fewer nodes or fewer ports",
    detail: `${taken} of ${all} instances are targets`,
  };
}

function noIPv6({ name }: TargetNode): Problem {
  return {
    code: "IPFamilies",
    field: "spec.ipFamilies",
    value: "IPv6",
    allowed: "IPv4, unless the instances of nodes have a primary IPv6 address",
    detail: `the instance of node ${name} has no primary IPv6 address`,
  };
}

function chunks<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / CHUNK) }, (_, index) =>
    items.slice(index * CHUNK, (index + 1) * CHUNK),
  );
}

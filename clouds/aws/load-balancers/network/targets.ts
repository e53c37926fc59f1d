import { createHash } from "node:crypto";
import type { TargetDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import { awsAction } from "#clouds/aws/load-balancers/actions.ts";
import { annotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { hasLabels } from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { arnOf, type MatchedPort } from "#clouds/aws/load-balancers/network/target-groups.ts";
import type { TargetGroupState, TargetInstance } from "#clouds/aws/load-balancers/state.ts";
import { targetOf } from "#clouds/aws/load-balancers/target-of.ts";
import type { LoadBalancerAction, Problem, TargetNode } from "#core/service/model.ts";

/** Which instances a load balancer is to send to. */
export interface TargetsWanted {
  readonly ids: readonly string[];
  /** Some are starting, and become targets soon. */
  readonly isStarting: boolean;
  readonly warnings: readonly Problem[];
}

/**
 * Instances of nodes that can be targets now: AWS takes running ones alone, and what runs no more stays registered as long as its
 * node is there, because it may run again. Of more than AWS takes, those that are registered stay, and each Service takes others.
 */
export function chooseTargets(nodes: readonly TargetNode[], context: NetworkContext): TargetsWanted {
  const { wanted, state } = context;
  const registered = registeredIds(context);
  const warnings: Problem[] = [];
  const candidates = new Map<string, TargetInstance>();
  let isStarting = false;
  for (const node of nodes) {
    const id = targetOf(node);
    if (id === undefined || !hasLabels(node.labels, wanted.annotations["target-node-labels"])) continue;
    const instance = Object.hasOwn(state.vpc.instances, id) ? state.vpc.instances[id] : undefined;
    if (instance === undefined) continue;
    if (wanted.families.targets === "ipv6" && instance.primaryIpv6 === undefined) {
      warnings.push(noIPv6(node));
      continue;
    }
    if (instance.state === "pending") isStarting = true;
    if (instance.state === "running" || registered.has(id)) candidates.set(id, instance);
  }
  const ids = withinLimits(candidates, registered, context);
  if (ids.length < candidates.size) warnings.push(tooMany(ids.length, candidates.size));
  return { ids, isStarting, warnings: warnings.slice(0, MAX_WARNINGS) };
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
  matched: readonly MatchedPort[],
  ids: readonly string[],
): readonly LoadBalancerAction[] {
  return matched.flatMap(({ port, group }) => {
    if (group === undefined) return [];
    const there = new Set(group.targets.filter((each) => isAt(each, group)).map(({ Id }) => Id));
    const missing = ids.filter((id) => !there.has(id)).map((Id) => ({ Id, Port: port.nodePort }));
    const TargetGroupArn = arnOf(group.group);
    return chunks(missing).map((Targets) =>
      awsAction("elbv2:RegisterTargets", TargetGroupArn, { TargetGroupArn, Targets }),
    );
  });
}

/** Takes away what is registered with a target group and no target, or at another port. */
export function deregisterTargets(
  matched: readonly MatchedPort[],
  ids: readonly string[],
): readonly LoadBalancerAction[] {
  const wanted: ReadonlySet<string | undefined> = new Set(ids);
  return matched.flatMap(({ group }) => {
    if (group === undefined) return [];
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
 * AWS's quota of targets of a network load balancer for each zone, or for all of them where it sends across zones. An instance counts
 * once for each target group.
 */
const MAX_TARGETS = 500;

/** Of what is said of nodes one by one. */
const MAX_WARNINGS = 5;

function isAt({ Port }: TargetDescription, { group }: TargetGroupState): boolean {
  return Port === undefined || Port === group.Port;
}

function registeredIds({ state }: NetworkContext): ReadonlySet<string> {
  return new Set(state.targetGroups.flatMap(({ targets }) => targets.map(({ Id }) => Id ?? "")));
}

function withinLimits(
  candidates: ReadonlyMap<string, TargetInstance>,
  registered: ReadonlySet<string>,
  { wanted, name }: NetworkContext,
): readonly string[] {
  const isAcross = wanted.attributes["load_balancing.cross_zone.enabled"] === "true";
  const limit = Math.floor(MAX_TARGETS / wanted.ports.length);
  if (candidates.size <= limit) return [...candidates.keys()].sort();
  const ranked = [...candidates]
    .map(([id, { zone }]) => ({
      id,
      zone: isAcross ? "" : (zone ?? ""),
      rank: `${registered.has(id) ? 0 : 1}${createHash("sha1").update(`${name}${id}`).digest("hex")}`,
    }))
    .toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
  const inZone = new Map<string, number>();
  const taken = ranked.filter(({ zone }) => {
    const count = inZone.get(zone) ?? 0;
    inZone.set(zone, count + 1);
    return count < limit;
  });
  return taken.map(({ id }) => id).sort();
}

function tooMany(taken: number, all: number): Problem {
  return {
    code: "TooManyTargets",
    value: String(all),
    allowed: `fewer nodes or fewer ports; AWS takes ${taken} of them`,
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

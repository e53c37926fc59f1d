import { answerOf, type Fault } from "#clouds/aws/errors.ts";
import type { Facts } from "#clouds/aws/instance.ts";
import { queryOf } from "#clouds/aws/query.ts";
import type { Session } from "#clouds/aws/session.ts";
import { NETWORK_NODE_LABEL_PREFIX, type Topology } from "#clouds/aws/topology.ts";
import { ZONE_ID_LABEL, type Zones } from "#clouds/aws/zones.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** Of which labels of initialized nodes EC2 is asked. */
export type Wanted = CloudCall["labels"];

/** Where labels beyond type, zone and region come from; `wallClock` is milliseconds since the epoch. */
export interface LabelSources {
  readonly zones: Zones;
  readonly topology: Topology;
  readonly wallClock: () => number;
}

/**
 * For how long after its birth a node waits for its zone's id and its place in the network if EC2 cannot tell them just
 * now. Labels are written with the first initialization, and whether a later look adds them is a setting, so leaving them out at once would lose them; but a node that
 * never joins is worse than one without them, and after this time it joins without.
 */
export const LABELS_PATIENCE_SECONDS = 300;

/**
 * For how long a batch waits for labels once its instances are known: then the nodes that lack theirs are told to come
 * again, and all others are answered. Long enough for a second token of DescribeInstanceTopology, which has one a second.
 */
export const LABELS_LIMIT_MS = 2_000;

/** Starts to ask, beside the instances, for what nodes like these will need. */
export function askAhead(
  nodes: readonly Node[],
  session: Session,
  { zones }: LabelSources,
  wanted: Wanted,
): void {
  if (nodes.some((node) => wants(node, ZONE_ID_LABEL, wanted) && IS_ASKED[queryOf(node).kind]))
    zones.askAhead(session);
}

/** Completes instances to answers. Only what is going to be written is asked for, and only of live instances. */
export async function withLabels(
  facts: ReadonlyMap<Node, Facts>,
  session: Session,
  sources: LabelSources,
  wanted: Wanted,
): Promise<ReadonlyMap<Node, InstanceAnswer>> {
  const { zones, topology, wallClock } = sources;
  const alive = [...facts].filter(([, { instance }]) => ALIVE.has(instance.state));
  for (const [, { instance, zoneId }] of alive) if (zoneId !== undefined) zones.learn(instance.zone, zoneId);
  const zoneless = alive.filter(
    ([node, { zoneId }]) => zoneId === undefined && wants(node, ZONE_ID_LABEL, wanted),
  );
  const placeless = alive.filter(
    ([node, { instance }]) =>
      topology.covers(instance.type) && wants(node, `${NETWORK_NODE_LABEL_PREFIX}1`, wanted),
  );
  const isAsking = zoneless.length > 0 || placeless.length > 0;
  const limited = isAsking ? session.under(withinLimit(session.signal)) : session;
  const [zoneIds, places] = await Promise.all([
    zones.idsOf(
      zoneless.map(([, { instance }]) => instance.zone),
      limited,
    ),
    topology.labelsOf(
      placeless.map(([, { instance }]) => instance.id),
      limited,
    ),
  ]);
  const told = new Map(zoneless.map(([node, { instance }]) => [node, zoneIds.get(instance.zone)]));
  const placed = new Map(placeless.map(([node, { instance }]) => [node, places.get(instance.id)]));
  const answers = [...facts].map(([node, { instance, zoneId }]): [Node, InstanceAnswer] => {
    const zone = told.get(node);
    const place = placed.get(node);
    const missing = [zone, place].find((each) => each?.kind === "fault");
    if (missing?.kind === "fault" && isPatient(node, wallClock())) {
      return [node, answerOf(forOneNode(missing.fault, session))];
    }
    const id = ALIVE.has(instance.state)
      ? (zoneId ?? (zone?.kind === "ok" ? zone.value : undefined))
      : undefined;
    const labels = {
      ...instance.labels,
      ...(id === undefined ? {} : { [ZONE_ID_LABEL]: id }),
      ...(place?.kind === "ok" ? place.value : {}),
    };
    return [node, { kind: "found", instance: { ...instance, labels } }];
  });
  return new Map(answers);
}

const ALIVE: ReadonlySet<string> = new Set(["pending", "running"]);

const IS_ASKED = { "instance-id": true, fargate: true, name: true, foreign: false, invalid: false } as const;

/** Whether a label may be going to be written: where the node does not have it, or where it is to say what EC2 says. */
function wants(node: Node, label: string, wanted: Wanted): boolean {
  const isMissing = node.metadata.labels?.[label] === undefined;
  if (isUninitialized(node)) return isMissing;
  return wanted === "all" || (wanted === "missing" && isMissing);
}

function withinLimit(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(LABELS_LIMIT_MS)]);
}

/** An initialized node gets what it lacks with a later look, and its addresses with this one. */
function isPatient(node: Node, wallClock: number): boolean {
  if (!isUninitialized(node)) return false;
  const age = (wallClock - Date.parse(node.metadata.creationTimestamp)) / 1000;
  return age < LABELS_PATIENCE_SECONDS;
}

/** EC2 has just told the instance: whatever keeps a label from us is no matter of the whole account. */
function forOneNode({ code, message }: Fault, { signal }: Session): Fault {
  if (code === "Throttled" || (code === "Aborted" && signal.aborted)) return { code, message };
  return { code: "Unavailable", message: `${message} (labels are waited for ${LABELS_LIMIT_MS / 1000} s)` };
}

import { type Fault, toErrorAnswer } from "#clouds/aws/errors.ts";
import type { InstanceFacts } from "#clouds/aws/instance.ts";
import { buildQuery } from "#clouds/aws/query.ts";
import type { Session } from "#clouds/aws/session.ts";
import { NETWORK_NODE_LABEL_PREFIX, type Topology } from "#clouds/aws/topology.ts";
import { ZONE_ID_LABEL, type Zones } from "#clouds/aws/zones.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";

/** The labels of initialized nodes for which EC2 is asked. */
export type LabelSelection = CloudCall["labels"];

/** Sources of labels other than type, zone and region; `wallClock` is milliseconds since the epoch. */
export interface LabelSources {
  readonly zones: Zones;
  readonly topology: Topology;
  readonly wallClock: () => number;
}

/**
 * Time after its creation that a node waits for its zone id and network position if EC2 cannot provide them.
 * The first initialization writes labels, and whether a resync adds them is a setting: without the wait they
 * could be lost. After this time the node joins without them, which is better than never joining.
 */
export const LABELS_PATIENCE_SECONDS = 300;

/**
 * Time that a batch waits for labels once its instances are known. Nodes that lack theirs are then retried,
 * and all others are answered. It covers a second token of DescribeInstanceTopology, which allows one per
 * second.
 */
export const LABELS_LIMIT_MS = 2_000;

/** Starts the requests that nodes like these will need, in parallel with those for instances. */
export function askAhead(
  nodes: readonly Node[],
  session: Session,
  { zones }: LabelSources,
  wanted: LabelSelection,
): void {
  if (nodes.some((node) => needsLabel(node, ZONE_ID_LABEL, wanted) && IS_ASKED[buildQuery(node).kind]))
    zones.askAhead(session);
}

/**
 * Completes instances to answers. It asks only for labels that will be written, and only for live instances.
 */
export async function withLabels(
  facts: ReadonlyMap<Node, InstanceFacts>,
  session: Session,
  sources: LabelSources,
  wanted: LabelSelection,
): Promise<ReadonlyMap<Node, InstanceAnswer>> {
  const { zones, topology, wallClock } = sources;
  const alive = [...facts].filter(([, { instance }]) => ALIVE.has(instance.state));
  for (const [, { instance, zoneId }] of alive)
    if (zoneId !== undefined) zones.remember(instance.zone, zoneId);
  const zoneless = alive.filter(
    ([node, { zoneId }]) => zoneId === undefined && needsLabel(node, ZONE_ID_LABEL, wanted),
  );
  const placeless = alive.filter(
    ([node, { instance }]) =>
      topology.isCovered(instance.type) && needsLabel(node, `${NETWORK_NODE_LABEL_PREFIX}1`, wanted),
  );
  const isAsking = zoneless.length > 0 || placeless.length > 0;
  const limited = isAsking ? session.withSignal(limitSignal(session.signal)) : session;
  const [zoneIds, places] = await Promise.all([
    zones.readIds(
      zoneless.map(([, { instance }]) => instance.zone),
      limited,
    ),
    topology.readLabels(
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
      return [node, toErrorAnswer(toNodeFault(missing.fault, session))];
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

/** Whether a label may be written: the node lacks it, or it must match EC2's value. */
function needsLabel(node: Node, label: string, wanted: LabelSelection): boolean {
  const isMissing = node.metadata.labels?.[label] === undefined;
  if (isUninitialized(node)) return isMissing;
  return wanted === "all" || (wanted === "missing" && isMissing);
}

function limitSignal(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(LABELS_LIMIT_MS)]);
}

/**
 * Whether a node waits for labels. An initialized node does not: it gets missing labels at a resync, and its
 * addresses now.
 */
function isPatient(node: Node, wallClock: number): boolean {
  if (!isUninitialized(node)) return false;
  const age = (wallClock - Date.parse(node.metadata.creationTimestamp)) / 1000;
  return age < LABELS_PATIENCE_SECONDS;
}

/** EC2 has just described the instance, so a missing label is not a problem of the whole account. */
function toNodeFault({ code, message }: Fault, { signal }: Session): Fault {
  if (code === "Throttled" || (code === "Aborted" && signal.aborted)) return { code, message };
  return { code: "Unavailable", message: `${message} (labels are waited for ${LABELS_LIMIT_MS / 1000} s)` };
}

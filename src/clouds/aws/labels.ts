import { buildQuery } from "#clouds/aws/candidates.ts";
import { type Fault, toErrorAnswer } from "#clouds/aws/errors.ts";
import type { InstanceFacts } from "#clouds/aws/instance.ts";
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
export function prefetchZoneIds(
  nodes: readonly Node[],
  session: Session,
  { zones }: LabelSources,
  selection: LabelSelection,
): void {
  if (
    nodes.some((node) => needsLabel(node, ZONE_ID_LABEL, selection) && NEEDS_ZONE_ID[buildQuery(node).kind])
  )
    zones.prefetch(session);
}

/**
 * Completes instances to answers. It asks only for labels that will be written, and only for live instances.
 */
export async function addLabels(
  facts: ReadonlyMap<Node, InstanceFacts>,
  session: Session,
  sources: LabelSources,
  selection: LabelSelection,
): Promise<ReadonlyMap<Node, InstanceAnswer>> {
  const { zones, topology, wallClock } = sources;
  const liveFacts = [...facts].filter(([, { instance }]) => ALIVE.has(instance.state));
  for (const [, { instance, zoneId }] of liveFacts)
    if (zoneId !== undefined) zones.remember(instance.zone, zoneId);
  const withoutZoneId = liveFacts.filter(
    ([node, { zoneId }]) => zoneId === undefined && needsLabel(node, ZONE_ID_LABEL, selection),
  );
  const withoutPosition = liveFacts.filter(
    ([node, { instance }]) =>
      topology.isCovered(instance.type) && needsLabel(node, `${NETWORK_NODE_LABEL_PREFIX}1`, selection),
  );
  const needsRequest = withoutZoneId.length > 0 || withoutPosition.length > 0;
  const limitedSession = needsRequest ? session.withSignal(addTimeout(session.signal)) : session;
  const [zoneIds, positions] = await Promise.all([
    zones.readIds(
      withoutZoneId.map(([, { instance }]) => instance.zone),
      limitedSession,
    ),
    topology.readLabels(
      withoutPosition.map(([, { instance }]) => instance.id),
      limitedSession,
    ),
  ]);
  const zoneIdOutcomes = new Map(
    withoutZoneId.map(([node, { instance }]) => [node, zoneIds.get(instance.zone)]),
  );
  const positionOutcomes = new Map(
    withoutPosition.map(([node, { instance }]) => [node, positions.get(instance.id)]),
  );
  const answers = [...facts].map(([node, { instance, zoneId }]): [Node, InstanceAnswer] => {
    const zoneIdOutcome = zoneIdOutcomes.get(node);
    const positionOutcome = positionOutcomes.get(node);
    const failed = [zoneIdOutcome, positionOutcome].find((each) => each?.kind === "fault");
    if (failed?.kind === "fault" && canWaitForLabels(node, wallClock())) {
      return [node, toErrorAnswer(toNodeFault(failed.fault, session))];
    }
    const id = ALIVE.has(instance.state)
      ? (zoneId ?? (zoneIdOutcome?.kind === "ok" ? zoneIdOutcome.value : undefined))
      : undefined;
    const labels = {
      ...instance.labels,
      ...(id === undefined ? {} : { [ZONE_ID_LABEL]: id }),
      ...(positionOutcome?.kind === "ok" ? positionOutcome.value : {}),
    };
    return [node, { kind: "found", instance: { ...instance, labels } }];
  });
  return new Map(answers);
}

const ALIVE: ReadonlySet<string> = new Set(["pending", "running"]);

const NEEDS_ZONE_ID = {
  "instance-id": true,
  fargate: true,
  name: true,
  foreign: false,
  invalid: false,
} as const;

/** Whether a label may be written: the node lacks it, or it must match EC2's value. */
function needsLabel(node: Node, label: string, selection: LabelSelection): boolean {
  const isMissing = node.metadata.labels?.[label] === undefined;
  if (isUninitialized(node)) return isMissing;
  return selection === "all" || (selection === "missing" && isMissing);
}

function addTimeout(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(LABELS_LIMIT_MS)]);
}

/**
 * Whether a node waits for labels. An initialized node does not: it gets missing labels at a resync, and its
 * addresses now.
 */
function canWaitForLabels(node: Node, wallClock: number): boolean {
  if (!isUninitialized(node)) return false;
  const age = (wallClock - Date.parse(node.metadata.creationTimestamp)) / 1000;
  return age < LABELS_PATIENCE_SECONDS;
}

/** EC2 has just described the instance, so a missing label is not a problem of the whole account. */
function toNodeFault({ code, message }: Fault, { signal }: Session): Fault {
  if (code === "Throttled" || (code === "Aborted" && signal.aborted)) return { code, message };
  return {
    code: "Unavailable",
    message: `${message} (a batch waits ${LABELS_LIMIT_MS / 1000} s for labels)`,
  };
}

import { answerOf } from "#clouds/aws/errors.ts";
import type { Facts } from "#clouds/aws/instance.ts";
import type { Session } from "#clouds/aws/session.ts";
import { NETWORK_NODE_LABEL_PREFIX, type Topology } from "#clouds/aws/topology.ts";
import { ZONE_ID_LABEL, type Zones } from "#clouds/aws/zones.ts";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";

/** Where labels beyond type, zone and region come from; `wallClock` is milliseconds since the epoch. */
export interface LabelSources {
  readonly zones: Zones;
  readonly topology: Topology;
  readonly wallClock: () => number;
}

/**
 * For how long after its birth a node waits for its place in the network if EC2 cannot tell it just now. Labels are
 * written with the first initialization, so leaving them out at once would lose them; but a node that never joins is
 * worse than one without them, and after this time it joins without.
 */
export const TOPOLOGY_PATIENCE_SECONDS = 300;

/** Completes instances to answers. What the node has is not asked for again, and neither what only a live instance has. */
export async function withLabels(
  facts: ReadonlyMap<Node, Facts>,
  session: Session,
  sources: LabelSources,
): Promise<ReadonlyMap<Node, InstanceAnswer>> {
  const alive = new Map([...facts].filter(([, { instance }]) => ALIVE.has(instance.state)));
  const zoneless = new Map(
    [...alive].filter(([node, { zoneId }]) => zoneId === undefined && !has(node, ZONE_ID_LABEL)),
  );
  const placeless = new Map(
    [...alive].filter(
      ([node, { instance }]) =>
        sources.topology.covers(instance.type) && !has(node, `${NETWORK_NODE_LABEL_PREFIX}1`),
    ),
  );
  const [zoneIds, places] = await Promise.all([
    sources.zones.idsOf(
      [...zoneless.values()].map(({ instance }) => instance.zone),
      session,
    ),
    sources.topology.labelsOf(
      [...placeless.values()].map(({ instance }) => instance.id),
      session,
    ),
  ]);
  const answers = [...facts].map(([node, { instance, zoneId }]): [Node, InstanceAnswer] => {
    const place = placeless.has(node) ? places.get(instance.id) : undefined;
    if (place?.kind === "fault" && isWorthWaiting(node, sources.wallClock())) {
      return [node, answerOf(place.fault)];
    }
    const id = alive.has(node) ? (zoneId ?? zoneIds.get(instance.zone)) : undefined;
    const labels = {
      ...(id === undefined ? {} : { [ZONE_ID_LABEL]: id }),
      ...(place?.kind === "ok" ? place.value : {}),
    };
    return [node, { kind: "found", instance: { ...instance, labels } }];
  });
  return new Map(answers);
}

const ALIVE: ReadonlySet<string> = new Set(["pending", "running"]);

function has(node: Node, label: string): boolean {
  return node.metadata.labels?.[label] !== undefined;
}

function isWorthWaiting(node: Node, wallClock: number): boolean {
  const uninitialized = node.spec.taints?.some(({ key }) => key === UNINITIALIZED_TAINT) ?? false;
  const age = (wallClock - Date.parse(node.metadata.creationTimestamp)) / 1000;
  return uninitialized && age < TOPOLOGY_PATIENCE_SECONDS;
}

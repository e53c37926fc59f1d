import { INSTANCE_ANNOTATION, LABEL_PAIRS, PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import { Node, type NodeCondition } from "#core/node/node.ts";
import { type ParsedObject, parseObject, type WatchContext } from "#core/watch.ts";

/** Parses a whole node or its snapshot; never throws. */
export function parseNode(value: unknown): ParsedObject<Node> {
  return parseObject(Node, value);
}

/**
 * Returns the part of a node that decisions read and events carry. Taints and addresses stay verbatim. An
 * emptied map stays as an empty map, because preconditions distinguish "empty" from "absent". Decisions on
 * the snapshot and on the node are equal; a snapshot's snapshot is itself. `labelPrefixes` are the prefixes
 * of the labels that the cluster's cloud writes; `nodeKeys` are labels and annotations that it reads.
 */
export function projectNode(
  node: Node,
  labelPrefixes: readonly string[],
  nodeKeys: readonly string[] = [],
): Node {
  const isRead = (key: string): boolean =>
    LABELS_READ.has(key) || nodeKeys.includes(key) || labelPrefixes.some((prefix) => key.startsWith(prefix));
  const isAnnotationRead = (key: string): boolean => ANNOTATIONS_READ.has(key) || nodeKeys.includes(key);
  const { labels, annotations, name, uid, resourceVersion, creationTimestamp, deletionTimestamp } =
    node.metadata;
  const { providerID, taints, podCIDRs } = node.spec;
  const { addresses, conditions } = node.status;
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(labels === undefined ? {} : { labels: filterEntries(labels, isRead) }),
      ...(annotations === undefined ? {} : { annotations: filterEntries(annotations, isAnnotationRead) }),
    },
    spec: {
      ...(providerID === undefined ? {} : { providerID }),
      ...(taints === undefined ? {} : { taints }),
      ...(podCIDRs === undefined ? {} : { podCIDRs }),
    },
    status: {
      ...(addresses === undefined ? {} : { addresses }),
      ...(conditions === undefined ? {} : { conditions: conditions.filter(isConditionRead) }),
    },
  };
}

/** Like `projectNode`, with what the cluster's cloud reads and writes. Watch halves share its result. */
export function projectWatchedNode(node: Node, { labelPrefixes, nodeKeys }: WatchContext): Node {
  return projectNode(node, labelPrefixes, nodeKeys);
}

const LABELS_READ: ReadonlySet<string> = new Set(LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]));
const ANNOTATIONS_READ: ReadonlySet<string> = new Set([PROVIDED_NODE_IP_ANNOTATION, INSTANCE_ANNOTATION]);
const CONDITIONS_READ: ReadonlySet<string> = new Set(["Ready", "NetworkUnavailable"]);

function isConditionRead({ type }: NodeCondition): boolean {
  return CONDITIONS_READ.has(type);
}

function filterEntries(
  map: Readonly<Record<string, string>>,
  isKept: (key: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => isKept(key)));
}

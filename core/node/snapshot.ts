import { INSTANCE_ANNOTATION, LABEL_PAIRS, PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { Parsed } from "#core/controller.ts";
import { Node, type NodeCondition } from "#core/node/node.ts";
import { parseObject } from "#core/parse-object.ts";

/** Parses a whole node or a snapshot of one; never throws. */
export function parseNode(value: unknown): Parsed<Node> {
  return parseObject(Node, value);
}

/**
 * The part of a node that decisions read: what an event carries of it. Taints and addresses stay verbatim, and a map of
 * which nothing is kept stays as an empty one, because preconditions tell "empty" from "absent". Deciding on the
 * snapshot and on the node give the same; a snapshot's snapshot is itself. `labelPrefixes` are those under which the cluster's cloud
 * writes labels, `nodeKeys` are labels and annotations that it reads.
 */
export function snapshotOf(
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
      ...(labels === undefined ? {} : { labels: entriesWhere(labels, isRead) }),
      ...(annotations === undefined ? {} : { annotations: entriesWhere(annotations, isAnnotationRead) }),
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

const LABELS_READ: ReadonlySet<string> = new Set(LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]));
const ANNOTATIONS_READ: ReadonlySet<string> = new Set([PROVIDED_NODE_IP_ANNOTATION, INSTANCE_ANNOTATION]);
const CONDITIONS_READ: ReadonlySet<string> = new Set(["Ready", "NetworkUnavailable"]);

function isConditionRead({ type }: NodeCondition): boolean {
  return CONDITIONS_READ.has(type);
}

function entriesWhere(
  map: Readonly<Record<string, string>>,
  isKept: (key: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => isKept(key)));
}

import {
  CLOUD_LABEL_PREFIXES,
  INSTANCE_ANNOTATION,
  LABEL_PAIRS,
  PROVIDED_NODE_IP_ANNOTATION,
} from "#core/contracts.ts";
import { type Fault, faultsOf } from "#core/faults.ts";
import { Node } from "#core/node/node.ts";

/** What a value came to at the door: a node, or what is wrong with it and whose it seems to be. */
export type ParsedNode =
  | { readonly kind: "node"; readonly node: Node }
  | { readonly kind: "malformed"; readonly name?: string; readonly uid?: string; readonly faults: Fault[] };

/** Parses a Node object, whole or a snapshot. */
export function parseNode(value: unknown): ParsedNode {
  const parsed = Node.safeParse(value);
  if (parsed.success) return { kind: "node", node: parsed.data };
  const metadata = member(value, "metadata");
  const [name, uid] = [member(metadata, "name"), member(metadata, "uid")];
  return {
    kind: "malformed",
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof uid === "string" ? { uid } : {}),
    faults: faultsOf(parsed.error),
  };
}

const READ_LABELS = new Set(LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]));
const READ_ANNOTATIONS = new Set([PROVIDED_NODE_IP_ANNOTATION, INSTANCE_ANNOTATION]);
const READ_CONDITIONS = new Set(["Ready", "NetworkUnavailable"]);

/**
 * Cuts a node down to what decisions read. A map that is there stays, even if nothing in it is kept: a patch must know an
 * absent map from one that is not empty.
 */
export function snapshotOf(node: Node): Node {
  const { labels, annotations } = node.metadata;
  const { conditions } = node.status;
  return {
    metadata: {
      ...node.metadata,
      ...(labels === undefined ? {} : { labels: pick(labels, isReadLabel) }),
      ...(annotations === undefined
        ? {}
        : { annotations: pick(annotations, (key) => READ_ANNOTATIONS.has(key)) }),
    },
    spec: node.spec,
    status: {
      ...node.status,
      ...(conditions === undefined
        ? {}
        : { conditions: conditions.filter(({ type }) => READ_CONDITIONS.has(type)) }),
    },
  };
}

function isReadLabel(key: string): boolean {
  return READ_LABELS.has(key) || CLOUD_LABEL_PREFIXES.some((prefix) => key.startsWith(prefix));
}

function pick(map: Readonly<Record<string, string>>, keep: (key: string) => boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => keep(key)));
}

function member(value: unknown, key: string): unknown {
  return value !== null && typeof value === "object" ? Reflect.get(value, key) : undefined;
}

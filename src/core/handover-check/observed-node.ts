import { FIELD_MANAGER, LABEL_PAIRS, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, projectNode } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { getMemberAt, listNodeWriters } from "#core/node-writers.ts";
import { isCcm } from "#core/second-ccm.ts";

/** A node from the API server, with the fields that are compared. */
export interface ObservedNode {
  readonly node: Node;
  /**
   * The last writer of a cloud-node-controller's fields, by field manager: another controller, this one, or
   * undefined if neither is known.
   */
  readonly initializedBy: "other" | "ours" | undefined;
  /** What a cloud-controller-manager wrote, and not a kubelet. */
  readonly written: { readonly labels: readonly string[]; readonly providerID: boolean };
}

/**
 * Parses a node to the compared fields; undefined if it is invalid. `labelPrefixes` are those of the cloud's
 * labels.
 */
export function parseObservedNode(
  object: unknown,
  labelPrefixes: readonly string[],
): ObservedNode | undefined {
  const parsed = parseNode(object);
  if (parsed.kind === "malformed") return undefined;
  const node = projectNode(parsed.object, labelPrefixes);
  const writers = listNodeWriters(object).filter(({ controller }) => controller === "cloud-node-controller");
  const managers = writers.map(({ manager }) => manager);
  const entries = listManagedEntries(object);
  return {
    node,
    initializedBy: managers.some(isCcm) ? "other" : managers.includes(FIELD_MANAGER) ? "ours" : undefined,
    written: {
      labels: Object.keys(node.metadata.labels ?? {}).filter((key) =>
        entries.some(
          (entry) => getMemberAt(entry, "fieldsV1", "f:metadata", "f:labels", `f:${key}`) !== undefined,
        ),
      ),
      providerID: entries.some(
        (entry) => getMemberAt(entry, "fieldsV1", "f:spec", "f:providerID") !== undefined,
      ),
    },
  };
}

/**
 * Returns whether a cloud-node-controller writes a label: one of the label pairs, or one with a prefix of the
 * cloud.
 */
export function isCloudLabel(key: string, labelPrefixes: readonly string[]): boolean {
  return PAIRED.has(key) || labelPrefixes.some((prefix) => key.startsWith(prefix));
}

/**
 * Returns an initialized node as it was before, as far as that is known: with the taint, and without the
 * fields of a cloud-controller-manager. Addresses stay, because initialization replaces all except a host
 * name.
 */
export function restoreUninitialized({ node, written }: ObservedNode): Node {
  if (isUninitialized(node)) return node;
  const { labels } = node.metadata;
  const { providerID, ...spec } = node.spec;
  const kept = Object.entries(labels ?? {}).filter(([key]) => !written.labels.includes(key));
  return {
    ...node,
    metadata: { ...node.metadata, ...(labels === undefined ? {} : { labels: Object.fromEntries(kept) }) },
    spec: {
      ...spec,
      ...(providerID === undefined || written.providerID ? {} : { providerID }),
      taints: [...(spec.taints ?? []), { key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" }],
    },
  };
}

const PAIRED: ReadonlySet<string> = new Set(LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]));

/**
 * Managed fields of cloud-controller-managers, this one included: fields that it wrote earlier are not a
 * kubelet's either.
 */
function listManagedEntries(object: unknown): readonly unknown[] {
  const managed = getMemberAt(object, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  return managed.filter((entry: unknown) => {
    const manager = getMemberAt(entry, "manager");
    return typeof manager === "string" && (manager === FIELD_MANAGER || isCcm(manager));
  });
}

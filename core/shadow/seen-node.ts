import { FIELD_MANAGER, LABEL_PAIRS, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode, snapshotOf } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { memberAt, writersOf } from "#core/node-writers.ts";
import { isCcm } from "#core/second-ccm.ts";

/** A node as the API server shows it, cut down to what is compared. */
export interface SeenNode {
  readonly node: Node;
  /** Who last wrote what a cloud-node-controller writes, by field manager: another controller, this one, or neither as far as is known. */
  readonly initializedBy: "other" | "ours" | undefined;
  /** What of it a cloud-controller-manager wrote, and a kubelet did not. */
  readonly written: { readonly labels: readonly string[]; readonly providerID: boolean };
}

/** Cuts a node down; undefined where it is none. `labelPrefixes` are those of the cloud's labels. */
export function seenNode(object: unknown, labelPrefixes: readonly string[]): SeenNode | undefined {
  const parsed = parseNode(object);
  if (parsed.kind === "malformed") return undefined;
  const node = snapshotOf(parsed.object, labelPrefixes);
  const writers = writersOf(object).filter(({ controller }) => controller === "cloud-node-controller");
  const managers = writers.map(({ manager }) => manager);
  const entries = entriesOf(object);
  return {
    node,
    initializedBy: managers.some(isCcm) ? "other" : managers.includes(FIELD_MANAGER) ? "ours" : undefined,
    written: {
      labels: Object.keys(node.metadata.labels ?? {}).filter((key) =>
        entries.some(
          (entry) => memberAt(entry, "fieldsV1", "f:metadata", "f:labels", `f:${key}`) !== undefined,
        ),
      ),
      providerID: entries.some(
        (entry) => memberAt(entry, "fieldsV1", "f:spec", "f:providerID") !== undefined,
      ),
    },
  };
}

/** Whether a label is one that a cloud-node-controller writes: a pair's, or one under the cloud's prefixes. */
export function isCloudLabel(key: string, labelPrefixes: readonly string[]): boolean {
  return PAIRED.has(key) || labelPrefixes.some((prefix) => key.startsWith(prefix));
}

/**
 * An initialized node as it was before, as far as that is known: with the taint, and without what a cloud-controller-manager wrote.
 * Addresses stay, as all but a host name is replaced.
 */
export function beforeInitialization({ node, written }: SeenNode): Node {
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

/** What cloud-controller-managers own, this one included: where it was at work before, a kubelet did not write that either. */
function entriesOf(object: unknown): readonly unknown[] {
  const managed = memberAt(object, "metadata", "managedFields");
  if (!Array.isArray(managed)) return [];
  return managed.filter((entry: unknown) => {
    const manager = memberAt(entry, "manager");
    return typeof manager === "string" && (manager === FIELD_MANAGER || isCcm(manager));
  });
}

import { FIELD_MANAGER, PROVIDED_NODE_IP_ANNOTATION } from "#core/contracts.ts";
import type { Fault } from "#core/faults.ts";
import { needsWork } from "#core/node/needs-work.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { parseNode, snapshotOf } from "#core/node/snapshot.ts";

/** What the relay makes of a node that it is shown. */
export type Observed =
  | {
      readonly kind: "object";
      readonly needsWork: boolean;
      readonly snapshot: Node;
      /** What is watched for drift on an initialized node, as one string. */
      readonly face: string;
      /** Who wrote the taints last, by `managedFields`; known only where there is work, and never us. */
      readonly taintManager: string | undefined;
    }
  | { readonly kind: "malformed"; readonly faults: readonly Fault[] };

/** Reads a node, at the door. */
export function observeNode(object: Readonly<Record<string, unknown>>): Observed {
  const parsed = parseNode(object);
  if (parsed.kind === "malformed") return { kind: "malformed", faults: parsed.faults };
  const { node } = parsed;
  const needed = needsWork(node);
  return {
    kind: "object",
    needsWork: needed,
    snapshot: snapshotOf(node),
    face: faceOf(node),
    taintManager: needed ? taintManagerOf(object) : undefined,
  };
}

/** Provided node IP, provider ID and addresses, in one string that is equal where they are. */
export function faceOf(node: Node): string {
  return face(
    node.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION],
    node.spec.providerID,
    node.status.addresses ?? [],
  );
}

/** The same of a node as a report says that it was written; the annotation is as it was sent. */
export function faceWritten(
  sent: Node,
  wrote: { readonly providerID: string; readonly addresses: readonly NodeAddress[] },
): string {
  return face(sent.metadata.annotations?.[PROVIDED_NODE_IP_ANNOTATION], wrote.providerID, wrote.addresses);
}

function face(
  nodeIP: string | undefined,
  providerID: string | undefined,
  addresses: readonly NodeAddress[],
): string {
  const listed = addresses.map(({ type, address }) => `${type}=${address}`);
  return [nodeIP ?? "", providerID ?? "", ...listed].join(" ");
}

/** `spec.taints` is one atomic field: whoever wrote the list last owns all of it. */
function taintManagerOf(object: Readonly<Record<string, unknown>>): string | undefined {
  const managed = memberOf(memberOf(object, "metadata"), "managedFields");
  if (!Array.isArray(managed)) return undefined;
  const writers = managed
    .filter((entry) => memberOf(memberOf(memberOf(entry, "fieldsV1"), "f:spec"), "f:taints") !== undefined)
    .map((entry) => ({ manager: memberOf(entry, "manager"), time: String(memberOf(entry, "time") ?? "") }))
    .sort((a, b) => (a.time < b.time ? 1 : -1));
  for (const { manager } of writers) {
    if (typeof manager === "string" && manager !== FIELD_MANAGER) return manager;
  }
  return undefined;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

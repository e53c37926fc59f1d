import type { Because } from "#core/decision.ts";
import type { Node } from "#core/node/node.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { sentenceOfFaults } from "#functions/parts/sentence-of-faults.ts";

/** An object of the event; `index` is its place there. */
export type Entry = NodeEntry | MalformedEntry;

export interface NodeEntry {
  readonly kind: "node";
  readonly index: number;
  readonly node: Node;
}

/** With its name and uid, as far as it has them. */
export interface MalformedEntry {
  readonly kind: "malformed";
  readonly index: number;
  readonly name?: string;
  readonly uid?: string;
  readonly because: Because;
}

/** Parses the event's objects one by one, so that one that is malformed fails alone. */
export function parseNodes(objects: readonly unknown[]): Entry[] {
  return objects.map((object, index): Entry => {
    const parsed = parseNode(object);
    if (parsed.kind === "node") return { kind: "node", index, node: parsed.node };
    const { name, uid, faults } = parsed;
    return {
      kind: "malformed",
      index,
      ...(name === undefined ? {} : { name }),
      ...(uid === undefined ? {} : { uid }),
      because: { code: "Malformed", message: `not a Node: ${sentenceOfFaults(faults, "object")}` },
    };
  });
}

/** The entries that are nodes. */
export function nodesOf(entries: readonly Entry[]): NodeEntry[] {
  return entries.filter((entry) => entry.kind === "node");
}

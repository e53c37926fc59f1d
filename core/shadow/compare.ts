import type { Decision, Write } from "#core/decision.ts";
import { isSameJson, patched } from "#core/json-patch.ts";
import { byType } from "#core/node/addresses.ts";
import type { Node } from "#core/node/node.ts";
import type { Difference } from "#core/shadow/difference.ts";
import { isCloudLabel } from "#core/shadow/seen-node.ts";

/** What comparing came to: differences, or that the cloud could not be asked now. */
export type Compared =
  | { readonly kind: "compared"; readonly differences: readonly Difference[] }
  | { readonly kind: "later"; readonly message: string };

/** Codes of decisions that say nothing of the node: the cloud could not be asked. */
const PASSES: ReadonlySet<string> = new Set(["NoAnswer", "Throttled", "Unavailable", "Aborted"]);

/**
 * Compares what became of a node that another controller initialized with what the decision on the node before would have made of it:
 * addresses in the order of each type, provider ID, and the labels of the cloud.
 */
export function compareInitialized(
  before: Node,
  after: Node,
  decision: Decision,
  labelPrefixes: readonly string[],
): Compared {
  if (isPassing(decision)) return { kind: "later", message: decision.because.message };
  const node = after.metadata.name;
  if (decision.kind !== "change") {
    const ours = `${decision.because.code}: ${decision.because.message}`;
    const theirs = after.spec.providerID ?? "";
    return { kind: "compared", differences: [{ code: "InitializedByThemAlone", node, ours, theirs }] };
  }
  const wanted = afterWrites(before, decision.writes);
  return {
    kind: "compared",
    differences: [
      ...addressDifferences(wanted, after),
      ...providerIdDifferences(wanted, after),
      ...labelDifferences(wanted, after, labelPrefixes),
    ],
  };
}

/** Whether a decision says nothing but that the cloud could not be asked. */
export function isPassing({ kind, because: { code } }: Decision): boolean {
  return kind === "retry" && PASSES.has(code);
}

/** A node as patches of it leave it. */
export function afterWrites(node: Node, writes: readonly Write[]): Node {
  return writes.reduce(
    (before, write) =>
      write.on === "cluster" && write.verb === "patch" ? patched(before, write.patch) : before,
    node,
  );
}

function addressDifferences(wanted: Node, { metadata, status }: Node): Difference[] {
  const [ours, theirs] = [wanted.status, status].map(({ addresses = [] }) =>
    byType(addresses).map(({ type, address }) => `${type}=${address}`),
  ) as [string[], string[]];
  if (isSameJson(ours, theirs)) return [];
  const isSameSet = isSameJson(ours.toSorted(), theirs.toSorted());
  return [{ code: isSameSet ? "AddressOrder" : "Addresses", node: metadata.name, ours, theirs }];
}

function providerIdDifferences(wanted: Node, after: Node): Difference[] {
  const [ours, theirs] = [wanted, after].map(({ spec }) => spec.providerID ?? "");
  return ours === theirs ? [] : [{ code: "ProviderID", node: after.metadata.name, ours, theirs }];
}

type Labels = Readonly<Record<string, string>>;

function labelDifferences(wanted: Node, after: Node, labelPrefixes: readonly string[]): Difference[] {
  const [ours, theirs] = [wanted, after].map(({ metadata }) => metadata.labels ?? {}) as [Labels, Labels];
  const keys = new Set([...Object.keys(ours), ...Object.keys(theirs)]);
  return [...keys]
    .filter((key) => isCloudLabel(key, labelPrefixes) && ours[key] !== theirs[key])
    .toSorted()
    .map((key): Difference => {
      const values = { node: after.metadata.name, about: key, ours: ours[key], theirs: theirs[key] };
      if (theirs[key] === undefined) return { code: "LabelMissing", ...values };
      return { code: ours[key] === undefined ? "LabelExtra" : "LabelDiffers", ...values };
    });
}

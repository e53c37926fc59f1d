import type { Decision, Write } from "#core/decision.ts";
import { isCloudLabel } from "#core/handover-check/observed-node.ts";
import { applyOperations, isSameJson } from "#core/json-patch.ts";
import { sortAddressesByType } from "#core/node/addresses.ts";
import type { Node } from "#core/node/node.ts";

/** The result of a comparison: differences, or that the cloud could not be asked. */
export type CompareResult =
  | { readonly kind: "compared"; readonly differences: readonly Difference[] }
  | { readonly kind: "later"; readonly message: string };

/** Codes of decisions that say nothing about the node, because the cloud could not be asked. */
const PASSES: ReadonlySet<string> = new Set(["NoAnswer", "Throttled", "Unavailable", "Aborted"]);

/**
 * Compares a node that another controller initialized with the result of our decision on the node before it.
 * It compares addresses in the order of each type, the provider ID, and the cloud's labels.
 */
export function compareInitialized(
  before: Node,
  after: Node,
  decision: Decision,
  labelPrefixes: readonly string[],
): CompareResult {
  if (isPassing(decision)) return { kind: "later", message: decision.because.message };
  const node = after.metadata.name;
  if (decision.kind !== "change") {
    const ours = `${decision.because.code}: ${decision.because.message}`;
    const theirs = after.spec.providerID ?? "";
    return { kind: "compared", differences: [{ code: "InitializedByThemAlone", node, ours, theirs }] };
  }
  const wanted = applyWrites(before, decision.writes);
  return {
    kind: "compared",
    differences: [
      ...compareAddresses(wanted, after),
      ...compareProviderIds(wanted, after),
      ...compareLabels(wanted, after, labelPrefixes),
    ],
  };
}

/** Returns whether a decision only says that the cloud could not be asked. */
export function isPassing({ kind, because: { code } }: Decision): boolean {
  return kind === "retry" && PASSES.has(code);
}

/** Returns a node with patches applied. */
export function applyWrites(node: Node, writes: readonly Write[]): Node {
  return writes.reduce(
    (before, write) =>
      write.on === "cluster" && write.verb === "patch" ? applyOperations(before, write.patch) : before,
    node,
  );
}

function compareAddresses(wanted: Node, { metadata, status }: Node): Difference[] {
  const [ours, theirs] = [wanted.status, status].map(({ addresses = [] }) =>
    sortAddressesByType(addresses).map(({ type, address }) => `${type}=${address}`),
  ) as [string[], string[]];
  if (isSameJson(ours, theirs)) return [];
  const isSameSet = isSameJson(ours.toSorted(), theirs.toSorted());
  return [{ code: isSameSet ? "AddressOrder" : "Addresses", node: metadata.name, ours, theirs }];
}

function compareProviderIds(wanted: Node, after: Node): Difference[] {
  const [ours, theirs] = [wanted, after].map(({ spec }) => spec.providerID ?? "");
  return ours === theirs ? [] : [{ code: "ProviderID", node: after.metadata.name, ours, theirs }];
}

type Labels = Readonly<Record<string, string>>;

function compareLabels(wanted: Node, after: Node, labelPrefixes: readonly string[]): Difference[] {
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

/** The differences between another controller's work and ours, by stable code. */
const DIFFERENCES = {
  Addresses: "the addresses of the node are others",
  AddressOrder: "the addresses of a type are the same, in another order",
  ProviderID: "the provider ID is another one",
  LabelMissing: "a label of the cloud that we would write is missing",
  LabelDiffers: "a label of the cloud has another value",
  LabelExtra: "there is a label of the cloud that we would not write",
  InitializedByThemAlone: "the node was initialized, and we would leave its taint for now",
  InitializedByUsAlone: "the node still waits, and we would have initialized it",
  ShutdownTaintMissing: "the instance is stopped, and the node carries no shutdown taint",
  ShutdownTaintExtra: "the node carries a shutdown taint that we would not put there, or take away",
  DeletedByThemAlone: "the node was deleted, and we would keep it",
  DeletedByUsAlone: "the node is still there, and we would have deleted it",
} as const;

/** The stable code of a difference. */
export type DifferenceCode = keyof typeof DIFFERENCES;

/** One difference on one node; both values are JSON. */
export interface Difference {
  readonly code: DifferenceCode;
  readonly node: string;
  /** The subject among several, such as a label key. */
  readonly about?: string;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** All codes of differences, in catalogue order. */
export const DIFFERENCE_CODES = Object.keys(DIFFERENCES) as readonly DifferenceCode[];

/** A known difference that does not count: all of a code, or those of a code about one subject. */
export interface IgnoredDifference {
  readonly code: DifferenceCode;
  readonly about: string | undefined;
}

/**
 * Parses `CODE` or `CODE:ABOUT`, such as `LabelMissing:topology.k8s.aws/zone-id`; undefined if the code is
 * unknown.
 */
export function parseIgnored(text: string): IgnoredDifference | undefined {
  const colon = text.indexOf(":");
  const name = colon < 0 ? text : text.slice(0, colon);
  const code = DIFFERENCE_CODES.find((each) => each === name);
  return code && { code, about: colon < 0 ? undefined : text.slice(colon + 1) };
}

/** Returns whether a difference is ignored. */
export function isIgnored(difference: Difference, ignored: readonly IgnoredDifference[]): boolean {
  return ignored.some(
    ({ code, about }) => code === difference.code && (about === undefined || about === difference.about),
  );
}

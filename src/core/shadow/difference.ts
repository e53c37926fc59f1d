/** The differences between another controller's work and ours, by stable code. */
export const DIFFERENCES = {
  Addresses: "the addresses of the node are others",
  AddressOrder: "the addresses of a type are the same, in another order",
  ProviderID: "the provider ID is another one",
  LabelMissing: "a label of the cloud that we would write is not there",
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

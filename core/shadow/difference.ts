/** What can differ between what another controller did and what this one would have done, by its stable code. */
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
  /** Which of several, such as the key of a label. */
  readonly about?: string;
  readonly ours: unknown;
  readonly theirs: unknown;
}

/** The codes of all differences, in the order in which they are listed. */
export const DIFFERENCE_CODES = Object.keys(DIFFERENCES) as readonly DifferenceCode[];

/** Differences that are known and do not count: all of a code, or those of a code about one thing. */
export interface Ignored {
  readonly code: DifferenceCode;
  readonly about: string | undefined;
}

/** Reads `CODE` or `CODE:ABOUT`, such as `LabelMissing:topology.k8s.aws/zone-id`; undefined where there is no such code. */
export function parseIgnored(text: string): Ignored | undefined {
  const colon = text.indexOf(":");
  const name = colon < 0 ? text : text.slice(0, colon);
  const code = DIFFERENCE_CODES.find((each) => each === name);
  return code && { code, about: colon < 0 ? undefined : text.slice(colon + 1) };
}

/** Whether a difference is one of those that do not count. */
export function isIgnored(difference: Difference, ignored: readonly Ignored[]): boolean {
  return ignored.some(
    ({ code, about }) => code === difference.code && (about === undefined || about === difference.about),
  );
}

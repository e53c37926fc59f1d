import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { parsePairs } from "#clouds/aws/load-balancers/annotations/readers.ts";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";
import { hasLabel } from "#core/service/state-annotation.ts";

/** Labels that a node must have; an empty value matches any value. */
export type TargetNodeLabels = Readonly<Record<string, string>>;

/** Reads `target-node-labels`; undefined if it names no label. */
export const readTargetNodeLabels: Reader<TargetNodeLabels | undefined> = (written) => {
  const labels = parsePairs(written);
  if (labels.length === 0) return accept(undefined);
  const isGood = labels.every(
    ([key, value]) => checkLabelKey(key) === undefined && checkLabelValue(value) === undefined,
  );
  return isGood
    ? accept(Object.fromEntries(labels))
    : reject("labels as key=value,key=value, or a key alone for any value");
};

/**
 * Whether a node has all of the labels; `marks` are its label hashes as `src/core/service/state-annotation.ts` writes
 * them.
 */
export function hasLabels(hashes: string | undefined, required: TargetNodeLabels | undefined): boolean {
  return Object.entries(required ?? {}).every(
    ([key, value]) => hashes !== undefined && hasLabel(hashes, key, value),
  );
}

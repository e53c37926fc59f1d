import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { pairsOf } from "#clouds/aws/load-balancers/annotations/reading.ts";
import { faultOfLabelKey, faultOfLabelValue } from "#core/label-syntax.ts";
import { hasLabel } from "#core/service/label-marks.ts";

/** Labels that a node must have; an empty value is any value. */
export type TargetNodeLabels = Readonly<Record<string, string>>;

/** Reads `target-node-labels`; undefined where it names none. */
export const targetNodeLabels: Reader<TargetNodeLabels | undefined> = (written) => {
  const labels = pairsOf(written);
  if (labels.length === 0) return is(undefined);
  const isGood = labels.every(
    ([key, value]) => faultOfLabelKey(key) === undefined && faultOfLabelValue(value) === undefined,
  );
  return isGood
    ? is(Object.fromEntries(labels))
    : mayBe("labels as key=value,key=value, or a key alone for any value");
};

/** Whether a node has all of the labels; `marks` are its own, as `core/service/label-marks.ts` writes them. */
export function hasLabels(marks: string | undefined, wanted: TargetNodeLabels | undefined): boolean {
  return Object.entries(wanted ?? {}).every(
    ([key, value]) => marks !== undefined && hasLabel(marks, key, value),
  );
}

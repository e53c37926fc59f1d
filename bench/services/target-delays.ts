import type { RecordedCall } from "#test/clouds/aws/moto/start-mended-moto.ts";

/** An operation that changes which instances a target group sends to. */
export type TargetOperation = "elbv2:RegisterTargets" | "elbv2:DeregisterTargets";

/**
 * Seconds from each node's change to the answer that its instance is a target of each target group, or none any more: the first
 * successful call counts. One entry for each node and group that was told so far, ascending.
 */
export function targetDelays(
  calls: readonly RecordedCall[],
  operation: TargetOperation,
  changedMs: ReadonlyMap<string, number>,
): readonly number[] {
  const told = new Map<string, number>();
  for (const { name, form, code, atMs } of calls) {
    if (name !== operation || code !== undefined) continue;
    for (const id of idsIn(form)) {
      const changed = changedMs.get(id);
      const key = `${form["TargetGroupArn"]} ${id}`;
      if (changed !== undefined && !told.has(key)) told.set(key, (atMs - changed) / 1_000);
    }
  }
  return [...told.values()].toSorted((one, other) => one - other);
}

function idsIn(form: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(form).flatMap(([key, value]) =>
    /^Targets\.member\.\d+\.Id$/.test(key) ? [value] : [],
  );
}

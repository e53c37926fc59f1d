import type { RecordedCall } from "#test/clouds/aws/moto/start-mended-moto.ts";

/** An operation that changes a target group's instances. */
export type TargetOperation = "elbv2:RegisterTargets" | "elbv2:DeregisterTargets";

/**
 * Returns the seconds from each node's change until its instance is in each target group, or is no longer in
 * it: the first successful call counts. One entry for each completed pair of node and group, ascending.
 */
export function getTargetDelays(
  calls: readonly RecordedCall[],
  operation: TargetOperation,
  changedMs: ReadonlyMap<string, number>,
): readonly number[] {
  const told = new Map<string, number>();
  for (const { name, form, code, atMs } of calls) {
    if (name !== operation || code !== undefined) continue;
    for (const id of listIds(form)) {
      const changed = changedMs.get(id);
      const key = `${form["TargetGroupArn"]} ${id}`;
      if (changed !== undefined && !told.has(key)) told.set(key, (atMs - changed) / 1_000);
    }
  }
  return [...told.values()].toSorted((one, other) => one - other);
}

function listIds(form: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(form).flatMap(([key, value]) =>
    /^Targets\.member\.\d+\.Id$/.test(key) ? [value] : [],
  );
}

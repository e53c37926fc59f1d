import type { ObjectPatch } from "#clouds/cluster-objects.ts";
import {
  formatEntries,
  ORPHANS_ANNOTATION,
  STATE_ANNOTATION,
  type StoredVipAssignments,
  type VipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { add, formatPointer, remove, setEntries, test } from "#core/json-patch.ts";

const ANNOTATIONS = "/metadata/annotations";

/**
 * Builds the patch from the ConfigMap as read to its desired state; undefined if they are equal. It requires
 * the version that was read, so that concurrent writes are not overwritten.
 */
export function buildVipAssignmentsPatch(
  before: StoredVipAssignments,
  after: VipAssignments,
): ObjectPatch | undefined {
  const entries = formatEntries(after.entries);
  const isSame = formatEntries(before.entries) === entries;
  const marks = formatMarks(after);
  const set = [
    ...(isSame ? [] : [{ key: STATE_ANNOTATION, value: entries, tests: [] }]),
    ...(marks === undefined || formatMarks(before) === marks
      ? []
      : [{ key: ORPHANS_ANNOTATION, value: marks, tests: [] }]),
  ];
  const { operations } = setEntries(ANNOTATIONS, before.hasAnnotations, set);
  const patch = [
    ...operations,
    ...(marks === undefined && before.hasMarks
      ? [remove(`${ANNOTATIONS}${formatPointer(ORPHANS_ANNOTATION)}`)]
      : []),
    ...(formatCanonicalJson(before.data) === formatCanonicalJson(after.data)
      ? []
      : [add("/data", after.data)]),
  ];
  if (patch.length === 0) return undefined;
  return { tests: [test("/metadata/resourceVersion", before.resourceVersion)], operations: patch };
}

/** Formats the marks of existing entries; undefined without any. */
function formatMarks({ entries, marks }: VipAssignments): string | undefined {
  const uids = new Set(entries.map(({ uid }) => uid));
  const kept = Object.entries(marks).filter(([uid]) => uids.has(uid));
  return kept.length === 0 ? undefined : JSON.stringify(Object.fromEntries(kept));
}

import type { ObjectPatch } from "#clouds/cluster-objects.ts";
import {
  type Ledger,
  ORPHANS_ANNOTATION,
  STATE_ANNOTATION,
  type StoredLedger,
  writtenEntries,
} from "#clouds/keepalived/ledger.ts";
import { canonicalJson } from "#core/hash.ts";
import { add, pointer, remove, setEntries, test } from "#core/json-patch.ts";

const ANNOTATIONS = "/metadata/annotations";

/**
 * The patch that makes of the ConfigMap as it was read what it is to be; undefined where it is that already. It holds for the version
 * that was read, and for no other: whoever was faster is not overwritten.
 */
export function ledgerPatch(before: StoredLedger, after: Ledger): ObjectPatch | undefined {
  const entries = writtenEntries(after.entries);
  const isSame = writtenEntries(before.entries) === entries;
  const marks = writtenMarks(after);
  const set = [
    ...(isSame ? [] : [{ key: STATE_ANNOTATION, value: entries, tests: [] }]),
    ...(marks === undefined || writtenMarks(before) === marks
      ? []
      : [{ key: ORPHANS_ANNOTATION, value: marks, tests: [] }]),
  ];
  const { operations } = setEntries(ANNOTATIONS, before.hasAnnotations, set);
  const patch = [
    ...operations,
    ...(marks === undefined && before.hasMarks
      ? [remove(`${ANNOTATIONS}${pointer(ORPHANS_ANNOTATION)}`)]
      : []),
    ...(canonicalJson(before.data) === canonicalJson(after.data) ? [] : [add("/data", after.data)]),
  ];
  if (patch.length === 0) return undefined;
  return { tests: [test("/metadata/resourceVersion", before.resourceVersion)], operations: patch };
}

/** Those of entries that are there; undefined where there are none. */
function writtenMarks({ entries, marks }: Ledger): string | undefined {
  const uids = new Set(entries.map(({ uid }) => uid));
  const kept = Object.entries(marks).filter(([uid]) => uids.has(uid));
  return kept.length === 0 ? undefined : JSON.stringify(Object.fromEntries(kept));
}

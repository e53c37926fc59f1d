import type { ClusterObjects, ObjectFault, ObjectPatch } from "#clouds/cluster-objects.ts";
import { applyChange, type Change, type ChangeResult } from "#clouds/keepalived/load-balancers/change.ts";
import {
  formatEntries,
  ORPHANS_ANNOTATION,
  readVipAssignments,
  STATE_ANNOTATION,
  type StoredVipAssignments,
  type VipAssignments,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { add, formatPointer, remove, setEntries, test } from "#core/json-patch.ts";
import { CONFIG_MAPS, formatObjectKey, type ObjectName } from "#core/resources/resource.ts";

/** The assignments as read, or why they are missing. */
export type ReadResult = { readonly kind: "ledger"; readonly ledger: StoredVipAssignments } | StoreFault;

type StoreFault =
  /** The ConfigMap is missing, or its content is invalid. */
  { readonly kind: "missing" | "unreadable"; readonly message: string } | ObjectFault;

/** The result of a change: `conflict` if concurrent writes won every time. */
export type StoreResult = ChangeResult | StoreFault | { readonly kind: "conflict"; readonly message: string };

/** Called for each request to the API server. */
export type OnRequest = (operation: "ReadConfigMap" | "PatchConfigMap") => void;

/** Reads and writes the ConfigMap for this process. Never rejects. */
export interface VipStore {
  read(signal: AbortSignal, onRequest: OnRequest): Promise<ReadResult>;
  /** Changes that arrive during a write are written together after it. */
  change(change: Change, signal: AbortSignal, onRequest: OnRequest): Promise<StoreResult>;
}

/** Maximum attempts: after a conflict the ConfigMap is read and the change decided again. */
const MAX_ATTEMPTS = 5;

/** Maximum changes per patch. */
const MAX_TOGETHER = 100;

interface PendingChange {
  readonly change: Change;
  readonly signal: AbortSignal;
  readonly onRequest: OnRequest;
  readonly settle: (kept: StoreResult) => void;
}

/**
 * Creates a store. It first writes on the last version that it read: a patch names its version, so an
 * outdated one costs only a read. An answer without a write always uses a new read.
 */
export function createVipStore(objects: ClusterObjects, at: ObjectName, serviceCIDR: string): VipStore {
  const waiting: PendingChange[] = [];
  let known: StoredVipAssignments | undefined;
  let isWriting = false;

  async function read(signal: AbortSignal, onRequest: OnRequest): Promise<ReadResult> {
    onRequest("ReadConfigMap");
    const found = await objects.read(CONFIG_MAPS, at, signal);
    known = undefined;
    if (found.kind === "error") return found;
    if (found.kind === "absent") return { kind: "missing", message: found.message };
    const assignments = readVipAssignments(found.object);
    if (typeof assignments === "string")
      return { kind: "unreadable", message: `ConfigMap ${formatObjectKey(at)}: ${assignments}` };
    known = assignments;
    return { kind: "ledger", ledger: assignments };
  }

  async function write(together: readonly PendingChange[]): Promise<readonly StoreResult[]> {
    const [first] = together;
    if (first === undefined) return [];
    const { signal, onRequest } = first;
    const all = (kept: StoreResult): readonly StoreResult[] => together.map(() => kept);
    let message = "";
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      if (signal.aborted) return all(ABORTED);
      let before = known;
      let isFresh = false;
      if (before === undefined) {
        const found = await read(signal, onRequest);
        if (found.kind !== "ledger") return all(found);
        before = found.ledger;
        isFresh = true;
      }
      const { after, answers } = applyChanges(before, together, serviceCIDR);
      const patch = buildVipAssignmentsPatch(before, after);
      if (patch === undefined) {
        if (isFresh) return answers;
        known = undefined;
        continue;
      }
      onRequest("PatchConfigMap");
      const patched = await objects.patch(CONFIG_MAPS, at, patch, signal);
      known = undefined;
      if (patched.kind === "error") return all(patched);
      if (patched.kind === "done") {
        const assignments = readVipAssignments(patched.object);
        if (typeof assignments !== "string") known = assignments;
        return answers;
      }
      message = patched.message;
    }
    return all({ kind: "conflict", message });
  }

  async function drain(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      // All changes of one invocation have one deadline.
      const { signal } = waiting[0] as PendingChange;
      const together = waiting.filter((each) => each.signal === signal).slice(0, MAX_TOGETHER);
      for (const each of together) waiting.splice(waiting.indexOf(each), 1);
      const answers = await write(together);
      for (const [index, { settle }] of together.entries()) settle(answers[index] as StoreResult);
    }
    isWriting = false;
  }

  return {
    read,
    change: (change, signal, onRequest) =>
      new Promise((settle) => {
        waiting.push({ change, signal, onRequest, settle });
        // Changes decided at the same moment are written together.
        if (!isWriting) queueMicrotask(() => isWriting || void drain());
      }),
  };
}

function applyChanges(
  before: StoredVipAssignments,
  together: readonly PendingChange[],
  serviceCIDR: string,
): { readonly after: VipAssignments; readonly answers: readonly ChangeResult[] } {
  let after: VipAssignments = before;
  const answers = together.map(({ change }) => {
    const answer = applyChange(after, change, serviceCIDR);
    if (answer.kind === "done") after = answer.ledger;
    return answer;
  });
  return { after, answers };
}

const ABORTED: ObjectFault = {
  kind: "error",
  code: "Aborted",
  message: "aborted before the ConfigMap was written",
};

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

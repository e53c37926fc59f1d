import type { ClusterObjects, ObjectFault } from "#clouds/cluster-objects.ts";
import { type Change, type Changed, changed } from "#clouds/keepalived/change.ts";
import { type Ledger, readLedger, type StoredLedger } from "#clouds/keepalived/ledger.ts";
import { ledgerPatch } from "#clouds/keepalived/patch-ledger.ts";
import { CONFIG_MAPS, keyOfName, type ObjectName } from "#core/resources/resource.ts";

/** A ledger as it was read, or why there is none. */
export type ReadLedger = { readonly kind: "ledger"; readonly ledger: StoredLedger } | LedgerFault;

type LedgerFault =
  /** The ConfigMap is not there, or does not say what it has to. */
  { readonly kind: "missing" | "unreadable"; readonly message: string } | ObjectFault;

/** What came of a change: `conflict` where others were faster time and again. */
export type Kept = Changed | LedgerFault | { readonly kind: "conflict"; readonly message: string };

/** Told of each request to the API server. */
export type OnRequest = (operation: "ReadConfigMap" | "PatchConfigMap") => void;

/** The one who reads and writes the ConfigMap for this process. Never rejects. */
export interface Keeper {
  read(signal: AbortSignal, onRequest: OnRequest): Promise<ReadLedger>;
  /** Changes that come while one is being written are written together after it. */
  change(change: Change, signal: AbortSignal, onRequest: OnRequest): Promise<Kept>;
}

/** Whoever finds the ConfigMap changed reads it and decides anew, so often in all. */
const MAX_ATTEMPTS = 5;
/** Changes in one patch. */
const MAX_TOGETHER = 100;

interface Waiting {
  readonly change: Change;
  readonly signal: AbortSignal;
  readonly onRequest: OnRequest;
  readonly settle: (kept: Kept) => void;
}

/**
 * Makes one. What was read last is written on first: a patch says of which version it is, so one that is no longer true costs a read, and
 * an answer without a write is given on what has just been read alone.
 */
export function createKeeper(objects: ClusterObjects, at: ObjectName, serviceCIDR: string): Keeper {
  const waiting: Waiting[] = [];
  let known: StoredLedger | undefined;
  let isWriting = false;

  async function read(signal: AbortSignal, onRequest: OnRequest): Promise<ReadLedger> {
    onRequest("ReadConfigMap");
    const found = await objects.read(CONFIG_MAPS, at, signal);
    known = undefined;
    if (found.kind === "error") return found;
    if (found.kind === "absent") return { kind: "missing", message: found.message };
    const ledger = readLedger(found.object);
    if (typeof ledger === "string")
      return { kind: "unreadable", message: `ConfigMap ${keyOfName(at)}: ${ledger}` };
    known = ledger;
    return { kind: "ledger", ledger };
  }

  async function write(together: readonly Waiting[]): Promise<readonly Kept[]> {
    const [first] = together;
    if (first === undefined) return [];
    const { signal, onRequest } = first;
    const all = (kept: Kept): readonly Kept[] => together.map(() => kept);
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
      const { after, answers } = changedTogether(before, together, serviceCIDR);
      const patch = ledgerPatch(before, after);
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
        const ledger = readLedger(patched.object);
        if (typeof ledger !== "string") known = ledger;
        return answers;
      }
      message = patched.message;
    }
    return all({ kind: "conflict", message });
  }

  async function drain(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      // Those of one invocation have one deadline.
      const { signal } = waiting[0] as Waiting;
      const together = waiting.filter((each) => each.signal === signal).slice(0, MAX_TOGETHER);
      for (const each of together) waiting.splice(waiting.indexOf(each), 1);
      const answers = await write(together);
      for (const [index, { settle }] of together.entries()) settle(answers[index] as Kept);
    }
    isWriting = false;
  }

  return {
    read,
    change: (change, signal, onRequest) =>
      new Promise((settle) => {
        waiting.push({ change, signal, onRequest, settle });
        // Those that are decided in the same moment go together.
        if (!isWriting) queueMicrotask(() => isWriting || void drain());
      }),
  };
}

function changedTogether(
  before: StoredLedger,
  together: readonly Waiting[],
  serviceCIDR: string,
): { readonly after: Ledger; readonly answers: readonly Changed[] } {
  let after: Ledger = before;
  const answers = together.map(({ change }) => {
    const answer = changed(after, change, serviceCIDR);
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

import type { Budget } from "#clouds/aws/budget.ts";
import {
  countFreeFilterValues,
  describeInstances,
  type FoundInstance,
  type InstanceReader,
  type Listing,
} from "#clouds/aws/describe-instances.ts";
import { buildAbortedFault, type Fault, type Outcome, toErrorAnswer } from "#clouds/aws/errors.ts";
import { buildResolutionById, type Resolution } from "#clouds/aws/resolution.ts";
import { groupById, type ReadById, readById } from "#clouds/aws/resolve.ts";
import { createSession } from "#clouds/aws/session.ts";
import { type CallIds, createLookUpQueue } from "#clouds/aws/shared-reads/look-up-queue.ts";
import type { CloudCall } from "#clouds/cloud.ts";
import { fault } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";
import { addUsage, type CloudUsage, NO_CLOUD_USAGE } from "#core/report.ts";

/** Reads instances by id for several clusters of one principal. */
export interface SharedReads {
  /** Adds a cluster. */
  join(): SharedReader;
}

/** The reads of one cluster. */
export interface SharedReader {
  /** Begins a batch, with its share of the quota. */
  begin(call: BatchCall): BatchReads;
  /** Ends this cluster's look-ups as aborted; calls of other clusters continue. */
  leave(): void;
}

type BatchCall = Pick<CloudCall, "share" | "onRequest">;

/** The reads of one batch. */
export interface BatchReads {
  readonly readById: ReadById;
  /** Returns the usage of the calls that are charged to this batch; each call is charged to one batch. */
  getUsage(): CloudUsage;
  end(): void;
}

export interface SharedReadsOptions {
  /** Signs in as the principal of all clusters that join. */
  readonly ec2: InstanceReader;
  /** The account's quotas; a shared call spends one token. */
  readonly budget: Budget;
  readonly sleep: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

/** Maximum number of calls in flight; look-ups that come meanwhile go together in the next call. */
const MAX_CALLS = 4;

/** Maximum number of ids of one cluster that wait: its invocations in flight have at most a few hundred. */
const MAX_WAITING = 1_000;

/** Maximum time that a look-up waits for its call: long enough for 200 full calls. */
const MAX_WAIT_MS = 10_000;

/**
 * A batch's share of the quota counts for this long after its end. Relays divide the quota among as many
 * invocations as ran at a time within seconds; those in progress now may be one of twenty.
 */
const SHARE_MS = 5_000;

/** Time without shared calls after their session was refused. */
const REFUSED_MS = 600_000;

/**
 * Creates shared reads without clusters.
 *
 * A look-up goes at once while few calls are in flight and the budget has a token. Otherwise it waits, and
 * goes with all others that wait. Only this module sees whole answers. It checks each instance for the
 * cluster whose node names it, so a cluster's code gets its own instances and the words about others.
 */
export function createSharedReads({ ec2, budget, sleep, now }: SharedReadsOptions): SharedReads {
  const queue = createLookUpQueue<SharedReader, LookUp>({
    maxIds: countFreeFilterValues([]),
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    now,
  });
  const calls = new Set<SharedCall>();
  let refusedUntilMs = Number.NEGATIVE_INFINITY;
  /** The shares of batches that have ended, the oldest first. */
  const endedShares: { readonly leave: () => void; readonly endedMs: number }[] = [];

  /** Opens a share, and returns a function that lets it end soon. */
  function enterBudget(share: number): () => void {
    while (endedShares[0] !== undefined && now() - endedShares[0].endedMs > SHARE_MS)
      endedShares.shift()?.leave();
    const leave = budget.enter(share);
    return () => void endedShares.push({ leave, endedMs: now() });
  }

  function startCalls(): void {
    answerAll(queue.takeOverdue(), () => toResult(OVERDUE));
    // One call at a time waits for a token, because it takes what has come until then.
    while (!queue.isEmpty() && calls.size < MAX_CALLS && [...calls].every(({ ids }) => ids !== undefined))
      void sendCall();
  }

  async function sendCall(): Promise<void> {
    const call: SharedCall = { ids: undefined, end: new AbortController() };
    calls.add(call);
    const session = createSession<InstanceReader>({
      ec2: {
        describeInstances(request, signal) {
          const filter = { Name: "instance-id", Values: [...takeIds(call).keys()] };
          signal.throwIfAborted();
          return ec2.describeInstances({ ...request, Filters: [filter] }, signal);
        },
      },
      ...{ budget, sleep, signal: call.end.signal },
      onRequest: (request) => {
        for (const lookUp of listOpen(call.ids)) lookUp.batch.onRequest?.(request);
      },
    });
    const listing = await describeInstances(session, []).catch((error) =>
      fault("Unavailable", `EC2: ${error}`),
    );
    const isUnused = !calls.delete(call);
    // A call that gets no token has taken no ids: all that wait fail, as they would without sharing.
    if (!isUnused) settle(call.ids ?? queue.takeAll(), listing, session.getUsage());
    startCalls();
  }

  /** Takes the ids once the call has its token; a second attempt has the same ids. */
  function takeIds(call: SharedCall): CallIds<LookUp> {
    if (call.ids !== undefined) return call.ids;
    call.ids = queue.take();
    endUnusedCalls();
    startCalls();
    return call.ids;
  }

  function settle(ids: CallIds<LookUp>, listing: Outcome<Listing>, usage: CloudUsage): void {
    listOpen(ids)[0]?.charge(usage);
    const isRefused = listing.kind === "fault" && isSessionRefused(listing.fault);
    if (isRefused) refusedUntilMs = now() + REFUSED_MS;
    const results = groupById([...ids.keys()], listing);
    answerAll(ids, (id) => (isRefused ? REFUSED : results.get(id)));
  }

  /** Aborts the calls whose look-ups have all ended. */
  function endUnusedCalls(): void {
    for (const call of calls) {
      if (call.ids === undefined ? !queue.isEmpty() : listOpen(call.ids).length > 0) continue;
      calls.delete(call);
      call.end.abort();
    }
  }

  function join(): SharedReader {
    const open = new Set<LookUp>();
    let hasLeft = false;

    /** Resolves to the results of all ids, at the latest when the signal aborts. */
    async function lookUp(
      ids: ReadonlySet<string>,
      signal: AbortSignal,
      batch: Pick<LookUp, "batch" | "charge">,
    ): Promise<ReadonlyMap<string, Result>> {
      const results = new Map<string, Result>();
      const { promise, resolve } = Promise.withResolvers<void>();
      const entry: LookUp = {
        ...batch,
        isOpen: () => results.size < ids.size,
        answer(id, result) {
          if (!results.has(id)) results.set(id, result);
          if (results.size === ids.size) resolve();
        },
        abort() {
          queue.remove(reader, entry);
          for (const id of ids) entry.answer(id, toResult(buildAbortedFault(OPERATION)));
          endUnusedCalls();
        },
      };
      open.add(entry);
      signal.addEventListener("abort", entry.abort);
      if (signal.aborted) entry.abort();
      else if (queue.add(reader, entry, ids)) startCalls();
      else for (const id of ids) entry.answer(id, toResult(OVERDUE));
      await promise;
      signal.removeEventListener("abort", entry.abort);
      open.delete(entry);
      return results;
    }

    const reader: SharedReader = {
      begin(batch) {
        const leaveBudget = enterBudget(batch.share);
        let usage = NO_CLOUD_USAGE;
        const charge = (added: CloudUsage): void => {
          usage = addUsage(usage, added);
        };
        return {
          async readById(ids, session, ownership) {
            if (ids.size === 0 || hasLeft || now() < refusedUntilMs) return readById(ids, session, ownership);
            const results = await lookUp(new Set(ids.values()), session.signal, { batch, charge });
            const refused = [...ids].filter(([, id]) => results.get(id) === REFUSED);
            const resolutions = new Map(await readById(new Map(refused), session, ownership));
            for (const [node, id] of ids) {
              const result = results.get(id);
              if (result !== REFUSED) resolutions.set(node, buildResolutionById(node, id, result, ownership));
            }
            return resolutions;
          },
          getUsage: () => usage,
          end: leaveBudget,
        };
      },
      leave() {
        hasLeft = true;
        for (const entry of open) entry.abort();
      },
    };
    return reader;
  }

  return { join };
}

const OPERATION = "DescribeInstances";

/** The session was refused: the cluster makes its own call. */
const REFUSED = Symbol("refused");

/** EC2's result for one id; undefined if no such instance exists. */
type Result = FoundInstance | Resolution | typeof REFUSED | undefined;

/** A request for instances by id, of one batch of one cluster. */
interface LookUp {
  readonly batch: BatchCall;
  /** Adds the usage of a call to the batch. */
  charge(usage: CloudUsage): void;
  /** Whether some id has no result. */
  isOpen(): boolean;
  /** Sets the result of an id; only the first counts. */
  answer(id: string, result: Result): void;
  abort(): void;
}

/** A call in flight; `ids` is undefined while it waits for its token. */
interface SharedCall {
  ids: CallIds<LookUp> | undefined;
  readonly end: AbortController;
}

function listOpen(ids: CallIds<LookUp> | undefined): readonly LookUp[] {
  return [...new Set([...(ids?.values() ?? [])].flat())].filter((lookUp) => lookUp.isOpen());
}

function answerAll(ids: CallIds<LookUp>, getResult: (id: string) => Result): void {
  for (const [id, lookUps] of ids) for (const lookUp of lookUps) lookUp.answer(id, getResult(id));
}

/**
 * Whether AWS refused the shared session, in EC2 or in STS. It has another name and policy than the cluster's
 * own session, which may be allowed.
 */
function isSessionRefused({ code, transient, thrown }: Fault): boolean {
  return code === "Denied" || (code === "Unavailable" && transient !== true && thrown !== undefined);
}

function toResult(error: Fault): Resolution {
  return { kind: "answer", answer: toErrorAnswer(error) };
}

const OVERDUE: Fault = {
  code: "Throttled",
  message: `${OPERATION}: too many look-ups of the account wait for its quota`,
};

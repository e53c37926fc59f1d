import type { Cluster } from "#config/cluster.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import type { IssueCode } from "#core/node/issues.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { IN_PROGRESS, ISSUES, LIMIT_REACHED } from "#core/service/issues.ts";
import type { Stop } from "#core/stop.ts";
import type { Watch } from "#core/watch.ts";
import { buildBatchEvent, fillBatch } from "#delivery/batch-event.ts";
import { type RelatedSource, withRelated } from "#delivery/related-batch.ts";
import { createSemaphore, type Semaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { type Invocation, type Invoker, invokeUntil, isRefusal } from "#platforms/invoker.ts";
import type { SweptObject } from "#sweep/select.ts";

/** The options of sending one controller's objects of one cluster. */
export interface SenderOptions {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly nextEventId: () => string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** When it is aborted, the sender sends nothing more. */
  readonly signal: AbortSignal;
  /** When it is aborted, the sender abandons invocations in flight. */
  readonly giveUp: AbortSignal;
  /** The cluster's invocations in flight, over all controllers. */
  readonly semaphore: Semaphore;
  /** Returns the operators' stop for the cluster. Default: no stop. Never rejects. */
  readonly readStop?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** The related objects that decisions read; complete. */
  readonly sources: readonly RelatedSource[];
}

/** The counts of sent objects and their results. */
export interface SendCounts {
  readonly invocations: number;
  /** Objects with a report. */
  readonly reported: number;
  /** Objects that should have been sent and have no report. */
  readonly unreported: number;
  /** Objects too large for any event. */
  readonly tooLarge: number;
  /** Objects that a relay should have delivered, without those that wait for a reason of their own. */
  readonly overdue: number;
  /** Orphaned cloud resources, as last reported; undefined without an audit. */
  readonly orphans: number | undefined;
  /** Why the last invocation without a report failed. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** Sends one controller's objects in batches, work before resyncs. */
export interface Sender {
  add(object: SweptObject): void;
  /** Sends the full batches and waits for permits, which slows the list down. */
  sendFull(): Promise<void>;
  /** Sends everything and waits for what is in flight. */
  sendAll(): Promise<void>;
  counts(): SendCounts;
}

/** Resyncs are held back up to this many bytes of JSON, as long as work may come. */
const MAX_RESYNC_BYTES = 2_000_000;

/** Retries after a temporary refusal by the platform: after one, two and four seconds, less some jitter. */
const MAX_REFUSALS = 3;

const REFUSED_WAIT_MS = 1_000;

/** Creates a sender. */
export function createSender(options: SenderOptions): Sender {
  const { cluster, watch, clock, random, signal, semaphore } = options;
  // These batches are decided under a shared state: a second batch would only lose the race for it.
  const own = createSemaphore(() => (watch.scope === "batch" ? 1 : Number.POSITIVE_INFINITY), 1_000);
  const work: SweptObject[] = [];
  const looks: SweptObject[] = [];
  const flights = new Set<Promise<void>>();
  let lookBytes = 0;
  let added = 0;
  let reported = 0;
  let tooLarge = 0;
  let invocations = 0;
  let overdue = 0;
  let orphans: SendCounts["orphans"];
  let failure: SendCounts["failure"];

  async function enter(): Promise<boolean> {
    const patience = createAbortPatience(signal);
    if ((await own.acquire(patience)) !== "entered") return false;
    if ((await semaphore.acquire(patience)) === "entered") return true;
    own.release();
    return false;
  }

  /** Takes one batch from a queue as soon as it may be sent. */
  async function sendOne(queue: SweptObject[]): Promise<boolean> {
    if (!(await enter())) return false;
    const filled = fillBatch(queue);
    const { objects, tooLarge: beyond, lists } = related(filled.objects);
    const gone = new Set<SweptObject>([...filled.tooLarge, ...beyond]);
    tooLarge += gone.size;
    const taken = new Set([...objects, ...gone]);
    queue.splice(0, queue.length, ...queue.filter((each) => !taken.has(each)));
    const flight = (objects.length === 0 ? Promise.resolve() : fly(objects, lists)).finally(() => {
      flights.delete(flight);
      semaphore.release();
      own.release();
    });
    flights.add(flight);
    return true;
  }

  function related(batch: readonly SweptObject[]) {
    if (options.sources.length === 0) return { objects: batch, tooLarge: [], lists: undefined };
    return withRelated(batch, options.sources);
  }

  async function fly(
    objects: readonly SweptObject[],
    lists: ReturnType<typeof related>["lists"],
  ): Promise<void> {
    const facts = { cluster, clusterHash: cluster.hash, controller: watch.name, reason: "sweep" } as const;
    const stopped = { stop: await options.readStop?.(cluster.name), deletes: watch.deletes };
    const id = options.nextEventId();
    const event = buildBatchEvent({ ...facts, ...stopped, id, related: lists, busy: false }, objects);
    let invocation: Invocation;
    for (let refusals = 0; ; refusals += 1) {
      invocations += 1;
      invocation = await invokeUntil(options.invoker, event, options.giveUp);
      const mayPass = isRefusal(invocation) && invocation.kind === "failed" && invocation.code !== "Denied";
      if (!mayPass || refusals === MAX_REFUSALS) break;
      await pause(clock, REFUSED_WAIT_MS * 2 ** refusals * (0.5 + random() / 2), signal);
      if (signal.aborted) break;
    }
    if (invocation.kind === "report") settle(objects, invocation.report);
    else failure = { code: invocation.code, message: invocation.message };
  }

  function settle(objects: readonly SweptObject[], report: Report): void {
    const named = new Map(report.objects.map((entry) => [entry.index, entry]));
    for (const [index, object] of objects.entries()) {
      const entry = named.get(index);
      if (entry?.uid !== object.uid) continue;
      reported += 1;
      orphans = entry.orphans?.count ?? orphans;
      if (object.isOverdue && isExcused(entry)) overdue -= 1;
    }
  }

  return {
    add(object) {
      added += 1;
      if (object.isOverdue) overdue += 1;
      if (object.isWork) work.push(object);
      else {
        looks.push(object);
        lookBytes += Buffer.byteLength(JSON.stringify(object.snapshot));
      }
    },
    async sendFull() {
      while (work.length >= MAX_BATCH_OBJECTS) if (!(await sendOne(work))) return;
      if (lookBytes <= MAX_RESYNC_BYTES) return;
      lookBytes = 0;
      while (looks.length > 0) if (!(await sendOne(looks))) return;
    },
    async sendAll() {
      for (const queue of [work, looks]) while (queue.length > 0 && (await sendOne(queue)));
      await Promise.all(flights);
    },
    counts: () => ({
      ...{ invocations, reported, tooLarge, overdue, orphans, failure },
      unreported: added - reported - tooLarge,
    }),
  };
}

const OF_NODES: readonly IssueCode[] = [
  "InstanceNotFound",
  "InstanceTerminated",
  "Foreign",
  "Ambiguous",
  "ForeignProviderID",
  "InvalidProviderID",
  "InvalidAddress",
  "ProvidedNodeIPInvalid",
  "ProvidedNodeIPUnmatched",
  "NoNodeAddress",
];

const OF_SERVICES: readonly string[] = [...Object.keys(ISSUES), IN_PROGRESS, LIMIT_REACHED];

/**
 * Reasons that are not a delivery problem: the function processed the object, and the cause is the object,
 * its instance or its load balancer. Throttling, an unreachable cloud or a denied request are not among them.
 */
const OWN_REASONS: ReadonlySet<string> = new Set([...OF_NODES, ...OF_SERVICES]);

/** Whether a reported overdue object would also wait after a timely delivery. */
function isExcused({ outcome, because }: Pick<ObjectReport, "outcome" | "because">): boolean {
  return outcome === "skipped" || (outcome === "retry" && OWN_REASONS.has(because.code));
}

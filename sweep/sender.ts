import type { Cluster } from "#config/cluster.ts";
import type { Watch } from "#core/controller.ts";
import { MAX_BATCH_OBJECTS } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import type { Stop } from "#core/stop.ts";
import { eventOf } from "#delivery/event-of-batch.ts";
import { fillBatch } from "#delivery/fill-batch.ts";
import { invokeUntil } from "#delivery/invoke-until.ts";
import { type Invocation, type Invoker, isRefusal } from "#delivery/invoker.ts";
import { type RelatedSource, withRelated } from "#delivery/related-of-batch.ts";
import { untilAborted } from "#kube/client/on-abort.ts";
import { createSlots, type Slots } from "#kube/client/slots.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";
import { isExcused } from "#sweep/gap.ts";
import type { SweptObject } from "#sweep/select.ts";

/** What sending the objects of one controller of one cluster takes. */
export interface SenderOptions {
  readonly cluster: Cluster;
  readonly watch: Watch;
  readonly invoker: Pick<Invoker, "invoke">;
  readonly nextEventId: () => string;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Nothing is sent any more once it fires … */
  readonly signal: AbortSignal;
  /** … and what is in flight is given up once this one does. */
  readonly giveUp: AbortSignal;
  /** Of the cluster: its invocations in flight, over all controllers. */
  readonly slots: Slots;
  /** What operators have stopped for the cluster; nothing without it. Never rejects. */
  readonly stopOf?: ((cluster: string) => Promise<Stop | undefined>) | undefined;
  /** What decisions read of others; complete by now. */
  readonly sources: readonly RelatedSource[];
}

/** What was sent, and what came of it. */
export interface SentCounts {
  readonly invocations: number;
  /** Objects of which there is a report. */
  readonly reported: number;
  /** Objects that should have been sent, and have no report. */
  readonly unreported: number;
  /** Objects that no event can carry. */
  readonly tooLarge: number;
  /** Objects that a relay should have brought by now, but for those that wait for a reason of their own. */
  readonly overdue: number;
  /** How much in the cloud nothing has a use for, as last reported; undefined where nobody looked. */
  readonly orphans: number | undefined;
  /** Why the last invocation without a report had none. */
  readonly failure: { readonly code: string; readonly message: string } | undefined;
}

/** Sends objects of one controller in batches, work before looks. */
export interface Sender {
  add(object: SweptObject): void;
  /** Sends the batches that are full; waits for slots, so that whoever lists does not run ahead. */
  sendFull(): Promise<void>;
  /** Sends all there is, and waits for what is in flight. */
  sendAll(): Promise<void>;
  counts(): SentCounts;
}

/** Looks are kept back up to so many bytes of JSON, as long as there may be work. */
const MAX_LOOK_BYTES = 2_000_000;

/** What the platform refuses for a moment is sent again after one, two and four seconds, less some jitter. */
const MAX_REFUSALS = 3;
const REFUSED_WAIT_MS = 1_000;

/** Nothing was sent yet. */
export function createSender(options: SenderOptions): Sender {
  const { cluster, watch, clock, random, signal, slots } = options;
  // Decided together under a state of the cluster's: a second batch would only lose the race for it.
  const own = createSlots(() => (watch.scope === "batch" ? 1 : Number.POSITIVE_INFINITY), 1_000);
  const work: SweptObject[] = [];
  const looks: SweptObject[] = [];
  const flights = new Set<Promise<void>>();
  let lookBytes = 0;
  let added = 0;
  let reported = 0;
  let tooLarge = 0;
  let invocations = 0;
  let overdue = 0;
  let orphans: SentCounts["orphans"];
  let failure: SentCounts["failure"];

  async function enter(): Promise<boolean> {
    const patience = untilAborted(signal);
    if ((await own.enter(patience)) !== "entered") return false;
    if ((await slots.enter(patience)) === "entered") return true;
    own.leave();
    return false;
  }

  /** Takes one batch off a queue, as soon as it may be sent. */
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
      slots.leave();
      own.leave();
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
    const stopped = { stop: await options.stopOf?.(cluster.name), deletes: watch.deletes };
    const id = options.nextEventId();
    const event = eventOf({ ...facts, ...stopped, id, related: lists, busy: false }, objects);
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
      if (lookBytes <= MAX_LOOK_BYTES) return;
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

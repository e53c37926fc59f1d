import type { ActionAnswer } from "#core/capability.ts";
import { isDispensable } from "#core/cluster-events.ts";
import type { CloudAction, Write } from "#core/decision.ts";
import type { Reason } from "#core/reason.ts";
import type { ClusterUsage, ObjectReport } from "#core/report.ts";
import { createAdaptiveConcurrency } from "#kube/apply/adaptive-concurrency.ts";
import { applyDecision } from "#kube/apply/apply-decision.ts";
import type { AppliedController, ApplyContext, ApplyItem, Decider } from "#kube/apply/context.ts";
import type { AppliedObject } from "#kube/apply/outcome.ts";
import { type RecordedEvents, recordEvents } from "#kube/apply/record-events.ts";
import { createChangePermits } from "#kube/apply/stop.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A batch of decisions and how to carry them out. */
export interface ApplyOptions {
  readonly transport: Transport;
  readonly controller: AppliedController;
  readonly items: readonly ApplyItem[];
  readonly decide: Decider;
  /** Carries out one cloud action; never rejects. */
  readonly act?: ((action: CloudAction, signal: AbortSignal) => Promise<ActionAnswer>) | undefined;
  /** Returns why a write is held back now. Without it, no write is held back. Never rejects. */
  readonly held?: ((write: Write) => Promise<Reason | undefined>) | undefined;
  /**
   * When it is aborted, no request starts; those in flight are awaited for `graceMs`, and the rest is
   * retried.
   */
  readonly signal: AbortSignal;
  /** Names this function or process in Events. */
  readonly reportingInstance: string;
  readonly now: Date;
  /** Milliseconds of a monotonic clock. Default: the process's. */
  readonly monotonicMs?: (() => number) | undefined;
  /**
   * Whether other objects wait for the same server. Dispensable Events are then dropped, because a patch of a
   * node matters more.
   */
  readonly busy?: boolean;
  /** Requests in flight at a time. */
  readonly maxInFlight?: number;
  readonly graceMs?: number;
  /** Time limit for all Events of the batch together, in milliseconds. */
  readonly eventsTimeoutMs?: number;
}

/** One entry for each item, in order, and the usage. */
export interface ApplyResult {
  readonly objects: readonly ObjectReport[];
  readonly usage: ClusterUsage;
}

/**
 * Carries out decisions; it is the only writer to clusters. Objects are processed concurrently, the writes of
 * one object in sequence. Events follow after all writes. Never rejects: unfinished work is reported as due
 * again.
 */
export async function applyDecisions(options: ApplyOptions): Promise<ApplyResult> {
  const grace = startGrace(options.signal, options.graceMs ?? DEFAULT_GRACE_MS);
  const halting = new AbortController();
  const context: ApplyContext = {
    transport: options.transport,
    controller: options.controller,
    decide: options.decide,
    act: options.act,
    held: options.held ?? (() => Promise.resolve(undefined)),
    concurrency: createAdaptiveConcurrency(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT),
    newTurn: createChangePermits(MAX_CHANGE_PERMITS, options.signal),
    deadline: options.signal,
    giveUp: AbortSignal.any([grace.signal, halting.signal]),
    now: options.now,
    monotonicMs: options.monotonicMs ?? (() => performance.now()),
    usage: { writes: 0, reads: 0, conflicts: 0, throttled: 0, events: 0, eventsDropped: 0 },
    halted: undefined,
    halt(stop) {
      context.halted ??= stop;
      halting.abort();
    },
    unanswered: 0,
  };
  const applied = await Promise.all(options.items.map((item) => applyDecision(item, context)));
  grace.end();
  const said = await recordAll(applied, options, context);
  const objects = applied.map(({ report }) => {
    const known = report.uid === undefined ? undefined : said.get(report.uid);
    return known === undefined ? report : { ...report, said: [...known] };
  });
  return { objects, usage: context.usage };
}

const DEFAULT_MAX_IN_FLIGHT = 32;

/** Objects with concurrent cloud changes. */
const MAX_CHANGE_PERMITS = 3;
const DEFAULT_GRACE_MS = 500;
const DEFAULT_EVENTS_TIMEOUT_MS = 500;

async function recordAll(
  applied: readonly AppliedObject[],
  options: ApplyOptions,
  context: ApplyContext,
): Promise<RecordedEvents["said"]> {
  const events = applied.flatMap((object) => object.events);
  const wanted = options.busy ? events.filter(({ event }) => !isDispensable(event)) : events;
  const { recorded, dropped, said } = await recordEvents(wanted, {
    transport: options.transport,
    now: options.now,
    source: options.controller.eventSource,
    reportingInstance: options.reportingInstance,
    timeoutMs: options.eventsTimeoutMs ?? DEFAULT_EVENTS_TIMEOUT_MS,
    signal: options.signal,
  });
  context.usage.events += recorded;
  context.usage.eventsDropped += dropped + events.length - wanted.length;
  return said;
}

/** Returns a signal that follows another one after a delay. */
function startGrace(outer: AbortSignal, graceMs: number): { readonly signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => controller.abort(), graceMs);
  };
  if (outer.aborted) begin();
  else outer.addEventListener("abort", begin, { once: true });
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      outer.removeEventListener("abort", begin);
    },
  };
}

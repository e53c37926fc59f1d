import type { ActionAnswer } from "#core/capability.ts";
import { isDispensable } from "#core/cluster-events.ts";
import type { Because, CloudAction, Write } from "#core/decision.ts";
import type { ClusterUsage, ObjectReport } from "#core/report.ts";
import { applyDecision } from "#kube/apply/apply-decision.ts";
import { createGate } from "#kube/apply/concurrency.ts";
import type { AppliedController, ApplyContext, ApplyItem, Decider } from "#kube/apply/context.ts";
import type { AppliedObject } from "#kube/apply/outcome.ts";
import { type RecordedEvents, recordEvents } from "#kube/apply/record-events.ts";
import { createTurns } from "#kube/apply/turns.ts";
import type { Transport } from "#kube/client/transport.ts";

/** One batch of decisions, and how to carry them out. */
export interface ApplyOptions {
  readonly transport: Transport;
  readonly controller: AppliedController;
  readonly items: readonly ApplyItem[];
  readonly decide: Decider;
  /** Carries out one action of the cloud; never rejects. */
  readonly act?: ((action: CloudAction, signal: AbortSignal) => Promise<ActionAnswer>) | undefined;
  /** Why a write is held back that was to be sent now; nothing is without it. Never rejects. */
  readonly held?: ((write: Write) => Promise<Because | undefined>) | undefined;
  /** Once aborted no request starts; those in flight are awaited for `graceMs`, and the rest is reported as due. */
  readonly signal: AbortSignal;
  /** Names this function or process in Events. */
  readonly reportingInstance: string;
  readonly now: Date;
  /** Milliseconds of a clock that never steps; the process's own without it. */
  readonly monotonicMs?: (() => number) | undefined;
  /** Whether other objects wait for the same server: dispensable Events are dropped then, as a patch of a node is worth more. */
  readonly busy?: boolean;
  /** Requests in flight at a time. */
  readonly maxInFlight?: number;
  readonly graceMs?: number;
  /** Milliseconds for all Events of the batch together. */
  readonly eventsTimeoutMs?: number;
}

/** One entry for each item, in their order, and what it took. */
export interface Applied {
  readonly objects: readonly ObjectReport[];
  readonly usage: ClusterUsage;
}

/**
 * Carries decisions out: the only writer to clusters. Objects go side by side, the writes of one object one after the
 * other; Events follow when all writes are done. Never rejects: what was not done is reported as due again.
 */
export async function applyDecisions(options: ApplyOptions): Promise<Applied> {
  const grace = startGrace(options.signal, options.graceMs ?? DEFAULT_GRACE_MS);
  const halting = new AbortController();
  const context: ApplyContext = {
    transport: options.transport,
    controller: options.controller,
    decide: options.decide,
    act: options.act,
    held: options.held ?? (() => Promise.resolve(undefined)),
    gate: createGate(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT),
    newTurn: createTurns(MAX_TURNS, options.signal),
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

/** Objects for whose sake the cloud is changed at a time. */
const MAX_TURNS = 3;
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

/** A signal that follows another one after a while. */
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

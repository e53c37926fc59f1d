import { createHash } from "node:crypto";
import { NODE_EVENT_SOURCE } from "#core/contracts.ts";
import type { ClusterEvent, ObjectReference } from "#core/decision.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { startTimeLimit } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";

/** An Event to be recorded, and the object it is about. */
export interface ObjectEvent {
  readonly object: ObjectReference;
  readonly event: ClusterEvent;
}

/** How Events are recorded. */
export interface RecordEventsOptions {
  readonly transport: Transport;
  readonly now: Date;
  /** Who says so: the function's or process's own name. */
  readonly reportingInstance: string;
  /** Milliseconds for all of them together; what is not recorded by then is dropped. */
  readonly timeoutMs: number;
  /** Once aborted nothing more is recorded. */
  readonly signal: AbortSignal;
}

/** Records Events, best effort: at most 8 at once, in bounded time. Never rejects. */
export async function recordEvents(
  events: readonly ObjectEvent[],
  options: RecordEventsOptions,
): Promise<{ readonly recorded: number; readonly dropped: number }> {
  const left = new Map(events.map((event) => [eventName(event, options.now), event]));
  const total = left.size;
  const time = startTimeLimit(options.timeoutMs, options.signal);
  let recorded = 0;
  const work = async (): Promise<void> => {
    for (const [name, event] of left) {
      if (time.reached()) return;
      left.delete(name);
      if (await recordEvent(name, event, options, time.signal)) recorded += 1;
    }
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work));
  time.end();
  return { recorded, dropped: total - recorded };
}

/**
 * The name of an Event: a hash of uid, reason, code and a 10-minute window, so that whoever says the same again
 * meets `AlreadyExists`, without any memory. A DNS subdomain, at most 253 characters.
 */
export function eventName({ object, event }: ObjectEvent, now: Date): string {
  const window = Math.floor(now.getTime() / WINDOW_MS);
  const facts = JSON.stringify([object.uid, event.reason, event.code, window]);
  const hash = createHash("sha256").update(facts).digest("hex").slice(0, 16);
  const prefix = object.name.slice(0, MAX_NAME - hash.length - 1).replace(/[^a-z0-9]+$/, "");
  return `${prefix}.${hash}`;
}

const MAX_AT_ONCE = 8;
const WINDOW_MS = 600_000;
const MAX_NAME = 253;
const MAX_MESSAGE = 1_024;
/** Events of objects without a namespace stand here, as the stock controllers' do. */
const NAMESPACE = "default";

async function recordEvent(
  name: string,
  objectEvent: ObjectEvent,
  options: RecordEventsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await options.transport.send({
      method: "POST",
      path: `/api/v1/namespaces/${NAMESPACE}/events`,
      body: eventObject(name, objectEvent, options),
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      signal,
    });
    const { kind } = classifyAnswer(response);
    return kind === "applied" || kind === "exists";
  } catch {
    // Dropped, and counted as such: an Event is never worth a retry.
    return false;
  }
}

function eventObject(name: string, { object, event }: ObjectEvent, options: RecordEventsOptions): unknown {
  const seconds = `${options.now.toISOString().slice(0, 19)}Z`;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: NAMESPACE },
    // Without the uid `kubectl describe node` does not show it.
    involvedObject: { apiVersion: "v1", kind: object.kind, name: object.name, uid: object.uid },
    type: event.type,
    reason: event.reason,
    message: event.message.slice(0, MAX_MESSAGE),
    source: { component: NODE_EVENT_SOURCE },
    reportingComponent: NODE_EVENT_SOURCE,
    reportingInstance: options.reportingInstance,
    firstTimestamp: seconds,
    lastTimestamp: seconds,
    count: 1,
  };
}

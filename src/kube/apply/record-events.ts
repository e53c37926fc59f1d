import { createHash } from "node:crypto";
import { isEmittedOnce, limitOnKind, renderEvent } from "#core/cluster-events.ts";
import type { ClusterEvent } from "#core/decision.ts";
import { MAX_REPORTED_WARNINGS } from "#core/event.ts";
import type { ObjectReference } from "#core/reason.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { startTimeLimit } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";

/** An Event to record, and the object of the decision. */
export interface ObjectEvent {
  readonly object: ObjectReference;
  readonly event: ClusterEvent;
  /** Keys of the Events known to be recorded, as in `RecordedEvents.said`. */
  readonly said?: readonly string[] | undefined;
}

/** The result of recording Events. */
export interface RecordedEvents {
  /** Sent and recorded. */
  readonly recorded: number;
  /** Not recorded, as far as is known. */
  readonly dropped: number;
  /** Keys of the recorded Warnings by the uid of the object of the decision, for the next invocation. */
  readonly said: ReadonlyMap<string, readonly string[]>;
}

/** The options of recording Events. */
export interface RecordEventsOptions {
  readonly transport: Transport;
  readonly now: Date;
  /** The `source.component`: the controller. */
  readonly source: string;
  /** The name of the function or process, reported in the Event. */
  readonly reportingInstance: string;
  /** Time limit for all Events together, in milliseconds; later ones are dropped. */
  readonly timeoutMs: number;
  /** When it is aborted, no further Event is recorded. */
  readonly signal: AbortSignal;
}

/**
 * Records Events, best effort: at most 8 at once, in bounded time, without those known to be recorded. Never
 * rejects.
 */
export async function recordEvents(
  events: readonly ObjectEvent[],
  options: RecordEventsOptions,
): Promise<RecordedEvents> {
  const said = new Map<string, string[]>();
  const say = (event: ObjectEvent): void => {
    // Normal Events belong to a change, which happens once; only Warnings repeat.
    if (renderEvent(event.event).type === "Normal") return;
    const before = said.get(event.object.uid) ?? [];
    const key = formatEventKey(event, options.now);
    if (before.length < MAX_REPORTED_WARNINGS && !before.includes(key))
      said.set(event.object.uid, [...before, key]);
  };
  const isSaid = (event: ObjectEvent): boolean =>
    event.said?.includes(formatEventKey(event, options.now)) === true;
  for (const event of events.filter(isSaid)) say(event);
  const wanted = events.filter((event) => !isSaid(event));
  const named = new Map(wanted.map((event) => [formatEventName(event, options.now), event]));
  const semaphore = createSemaphore(() => MAX_AT_ONCE, named.size);
  const time = startTimeLimit(options.timeoutMs, options.signal);
  let recorded = 0;
  const record = async ([name, event]: readonly [string, ObjectEvent]): Promise<void> => {
    if ((await semaphore.acquire(time)) !== "entered") return;
    if (await recordEvent(name, event, options, time.signal)) {
      recorded += 1;
      say(event);
    }
    semaphore.release();
  };
  await Promise.all([...named].map(record));
  time.end();
  return { recorded, dropped: named.size - recorded, said };
}

/**
 * Returns the name of an Event: the object's name, and a hash of uid, reason, code and a 10-minute window.
 * One Event per reason leaves out the code. Recording the same Event again gives `AlreadyExists`, so no
 * memory is needed. If a cluster has a limit for this kind of Event, the window has that many names and the
 * object's uid chooses one. A DNS subdomain of at most 253 characters.
 */
export function formatEventName(event: ObjectEvent, now: Date): string {
  const key = formatEventKey(event, now);
  const { kind, name } = getEventObject(event);
  const named = limitOnKind(event.event.reason, kind) === undefined ? name : kind.toLowerCase();
  const prefix = named.slice(0, MAX_NAME - key.length - 1).replace(/(?<![^a-z0-9])[^a-z0-9]+$/, "");
  return `${prefix}.${key}`;
}

function formatEventKey(objectEvent: ObjectEvent, now: Date): string {
  const { event } = objectEvent;
  const { kind, uid } = getEventObject(objectEvent);
  const code = isEmittedOnce(event.reason) ? "" : event.code;
  const { reason } = renderEvent(objectEvent.event);
  const window = Math.floor(now.getTime() / WINDOW_MS);
  const own = [uid, reason, code, window];
  const limit = limitOnKind(event.reason, kind);
  return hash(
    limit === undefined ? own : [kind, reason, window, Number.parseInt(hash(own).slice(0, 8), 16) % limit],
  );
}

function hash(facts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}

function getEventObject({ object, event }: ObjectEvent): ObjectReference {
  return event.about ?? object;
}

const MAX_AT_ONCE = 8;
const WINDOW_MS = 600_000;
const MAX_NAME = 253;
/** The namespace of Events for objects without a namespace, as in the stock controllers. */
const DEFAULT_NAMESPACE = "default";

async function recordEvent(
  name: string,
  objectEvent: ObjectEvent,
  options: RecordEventsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace = DEFAULT_NAMESPACE } = getEventObject(objectEvent);
  try {
    const response = await options.transport.send({
      method: "POST",
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      body: buildEventObject(name, objectEvent, options),
      accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
      signal,
    });
    const { kind } = classifyAnswer(response);
    return kind === "applied" || kind === "exists";
  } catch {
    // Counted as dropped: an Event is never worth a retry.
    return false;
  }
}

function buildEventObject(name: string, objectEvent: ObjectEvent, options: RecordEventsOptions): unknown {
  const seconds = `${options.now.toISOString().slice(0, 19)}Z`;
  const { type, reason, message } = renderEvent(objectEvent.event);
  const about = getEventObject(objectEvent);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: about.namespace ?? DEFAULT_NAMESPACE },
    // Without the uid, `kubectl describe` does not show the Event.
    involvedObject: about,
    type,
    reason,
    message,
    source: { component: options.source },
    reportingComponent: options.source,
    reportingInstance: options.reportingInstance,
    firstTimestamp: seconds,
    lastTimestamp: seconds,
    count: 1,
  };
}

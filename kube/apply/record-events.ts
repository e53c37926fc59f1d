import { createHash } from "node:crypto";
import { inWords, isSaidOnce, limitOnKind } from "#core/cluster-events.ts";
import type { ClusterEvent, ObjectReference } from "#core/decision.ts";
import { MAX_SAID } from "#core/event.ts";
import { classifyAnswer } from "#kube/client/answer.ts";
import { createSlots } from "#kube/client/slots.ts";
import { startTimeLimit } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";

/** An Event to be recorded, and the object that was decided on. */
export interface ObjectEvent {
  readonly object: ObjectReference;
  readonly event: ClusterEvent;
  /** What tells the Events apart that are known to be recorded already, as `RecordedEvents.said` has it. */
  readonly said?: readonly string[] | undefined;
}

/** What became of Events. */
export interface RecordedEvents {
  /** Sent, and there now. */
  readonly recorded: number;
  /** Not there, as far as is known. */
  readonly dropped: number;
  /** By the uid of the object that was decided on: which Warnings are there, now or before; for the next time. */
  readonly said: ReadonlyMap<string, readonly string[]>;
}

/** How Events are recorded. */
export interface RecordEventsOptions {
  readonly transport: Transport;
  readonly now: Date;
  /** The `source.component`: the controller. */
  readonly source: string;
  /** Who says so: the function's or process's own name. */
  readonly reportingInstance: string;
  /** Milliseconds for all of them together; what is not recorded by then is dropped. */
  readonly timeoutMs: number;
  /** Once aborted nothing more is recorded. */
  readonly signal: AbortSignal;
}

/** Records Events, best effort: at most 8 at once, in bounded time, and none that is known to be there. Never rejects. */
export async function recordEvents(
  events: readonly ObjectEvent[],
  options: RecordEventsOptions,
): Promise<RecordedEvents> {
  const said = new Map<string, string[]>();
  const say = (event: ObjectEvent): void => {
    // Normal ones go with a change, which is not made again: only Warnings repeat.
    if (inWords(event.event).type === "Normal") return;
    const before = said.get(event.object.uid) ?? [];
    const key = keyOf(event, options.now);
    if (before.length < MAX_SAID && !before.includes(key)) said.set(event.object.uid, [...before, key]);
  };
  const isSaid = (event: ObjectEvent): boolean => event.said?.includes(keyOf(event, options.now)) === true;
  for (const event of events.filter(isSaid)) say(event);
  const wanted = events.filter((event) => !isSaid(event));
  const named = new Map(wanted.map((event) => [eventName(event, options.now), event]));
  const slots = createSlots(() => MAX_AT_ONCE, named.size);
  const time = startTimeLimit(options.timeoutMs, options.signal);
  let recorded = 0;
  const record = async ([name, event]: readonly [string, ObjectEvent]): Promise<void> => {
    if ((await slots.enter(time)) !== "entered") return;
    if (await recordEvent(name, event, options, time.signal)) {
      recorded += 1;
      say(event);
    }
    slots.leave();
  };
  await Promise.all([...named].map(record));
  time.end();
  return { recorded, dropped: named.size - recorded, said };
}

/**
 * Returns the name of an Event: the object's, and a hash of uid, reason, code and a 10-minute window (without the code where one of
 * the reason is enough). Whoever records the same Event again gets `AlreadyExists`, without any memory. Where a cluster has a limit
 * on Events of the kind, the window has so many names for them, and the object's uid chooses one. A DNS subdomain of at most 253
 * characters.
 */
export function eventName(event: ObjectEvent, now: Date): string {
  const key = keyOf(event, now);
  const { kind, name } = aboutOf(event);
  const named = limitOnKind(event.event.reason, kind) === undefined ? name : kind.toLowerCase();
  const prefix = named.slice(0, MAX_NAME - key.length - 1).replace(/(?<![^a-z0-9])[^a-z0-9]+$/, "");
  return `${prefix}.${key}`;
}

function keyOf(objectEvent: ObjectEvent, now: Date): string {
  const { event } = objectEvent;
  const { kind, uid } = aboutOf(objectEvent);
  const code = isSaidOnce(event.reason) ? "" : event.code;
  const { reason } = inWords(objectEvent.event);
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

function aboutOf({ object, event }: ObjectEvent): ObjectReference {
  return event.about ?? object;
}

const MAX_AT_ONCE = 8;
const WINDOW_MS = 600_000;
const MAX_NAME = 253;
/** Events of objects without a namespace stand here, as the stock controllers' do. */
const DEFAULT_NAMESPACE = "default";

async function recordEvent(
  name: string,
  objectEvent: ObjectEvent,
  options: RecordEventsOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { namespace = DEFAULT_NAMESPACE } = aboutOf(objectEvent);
  try {
    const response = await options.transport.send({
      method: "POST",
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
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

function eventObject(name: string, objectEvent: ObjectEvent, options: RecordEventsOptions): unknown {
  const seconds = `${options.now.toISOString().slice(0, 19)}Z`;
  const { type, reason, message } = inWords(objectEvent.event);
  const about = aboutOf(objectEvent);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: about.namespace ?? DEFAULT_NAMESPACE },
    // Without the uid `kubectl describe` does not show it.
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

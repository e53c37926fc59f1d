import * as z from "zod";
import type { ListedObjects, ObjectCount, StateReference, StateResult } from "#core/controller.ts";
import { parseJson } from "#core/parse-json.ts";
import type { Reason } from "#core/reason.ts";
import type { ObjectReport } from "#core/report.ts";
import { formatCollectionPath, type Resource } from "#core/resources/resource.ts";
import type { ApiObject, Related, Watch } from "#core/watch.ts";
import { readObject } from "#kube/apply/requests.ts";
import { classifyAnswer, classifyFailure } from "#kube/client/answer.ts";
import type { UnreachableCode } from "#kube/client/errors.ts";
import { createSemaphore } from "#kube/client/semaphore.ts";
import { createAbortPatience } from "#kube/client/time-limit.ts";
import type { Transport } from "#kube/client/transport.ts";
import { listAll } from "#kube/follow/list.ts";

/** An object of a batch; `index` is its position in the event. */
export interface BatchEntry {
  readonly index: number;
  readonly object: ApiObject;
}

/** The current objects of a batch; those with a report need no further decision. */
export interface ReadBatch {
  readonly objects: readonly ReadEntry[];
  readonly reads: number;
}

/** One object of the batch. */
export interface ReadEntry {
  readonly index: number;
  readonly object: ApiObject | undefined;
  readonly report: ObjectReport | undefined;
}

const MAX_AT_ONCE = 32;

/**
 * The API server is temporarily unavailable. The state is unknown, and a batch that needs it is retried soon.
 */
export interface StateUnavailable {
  readonly kind: "unavailable";
  readonly because: Reason;
  readonly afterSeconds: number;
}

/** Every retry costs a call to the cloud while the cluster's API server is unavailable. */
const AWAY_SECONDS = 5;

/**
 * Failures that end by themselves: the server restarts, or the network is briefly down. Others need an
 * operator.
 */
const PASSING: ReadonlySet<UnreachableCode | undefined> = new Set([
  "ConnectionRefused",
  "ConnectFailed",
  "ConnectTimedOut",
  "ConnectionLost",
  "TimedOut",
  // A 5xx answer.
  undefined,
]);

/** Reads the object under which a batch is decided. */
export async function readState(
  transport: Transport,
  { at, ...resource }: Omit<StateReference, "counted" | "listed">,
  signal: AbortSignal,
): Promise<StateResult | StateUnavailable> {
  const read = await readObject(transport, resource, at, parseAny, signal);
  if (read.kind === "object") return { kind: "object", object: read.raw };
  if (read.kind === "unavailable" && PASSING.has(read.code)) {
    const message = `${resource.name} ${at.name} cannot be read: ${read.message}`;
    return { kind: "unavailable", because: { code: "Unavailable", message }, afterSeconds: AWAY_SECONDS };
  }
  return read.kind === "gone" ? { kind: "absent" } : { kind: "unreadable", message: read.message };
}

/** Counts the objects of a resource by a list of one. */
export async function countObjects(
  transport: Transport,
  resource: Pick<Resource, "apiVersion" | "name">,
  signal: AbortSignal,
): Promise<ObjectCount> {
  const unknown = (message: string): ObjectCount => ({ kind: "unknown", message });
  try {
    const path = `${formatCollectionPath(resource)}?limit=1`;
    const response = await transport.send({ method: "GET", path, accept: METADATA_ONLY_LIST, signal });
    const answer = classifyAnswer(response);
    if (answer.kind !== "applied") return unknown(answer.message);
    const list = CountedList.safeParse(parseJson(response.body));
    if (!list.success) return unknown("a successful answer that is not a list");
    const { items, metadata } = list.data;
    // If the list continues, the server must state the remaining number.
    if (metadata.remainingItemCount === undefined && (metadata.continue ?? "") !== "")
      return unknown("the list does not say how many more there are");
    return { kind: "count", count: (items?.length ?? 0) + (metadata.remainingItemCount ?? 0) };
  } catch (error) {
    return unknown(classifyFailure(error).message);
  }
}

/** Lists all objects of a resource, page by page, and keeps what `project` returns for each. */
export async function listObjects(
  transport: Transport,
  { resource, project }: Pick<Related, "resource" | "project">,
  signal: AbortSignal,
): Promise<ListedObjects> {
  const list = await listAll(transport, formatCollectionPath(resource), project, signal);
  if (list.kind !== "list") return { kind: "unknown", message: list.message };
  if (!list.complete) return { kind: "unknown", message: `there are more ${resource.name} than are listed` };
  return { kind: "list", items: list.items };
}

const METADATA_ONLY_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

const CountedList = z.looseObject({
  metadata: z.looseObject({
    continue: z.string().optional(),
    remainingItemCount: z.int().min(0).optional(),
  }),
  // An empty metadata list has null here.
  items: z.array(z.unknown()).nullable(),
});

/** Rereads the objects of a batch after a shared write. */
export async function readAgain(
  transport: Transport,
  controller: Pick<Watch, "parse" | "resource">,
  entries: readonly BatchEntry[],
  signal: AbortSignal,
): Promise<ReadBatch> {
  const semaphore = createSemaphore(() => MAX_AT_ONCE, entries.length);
  const read = async (entry: BatchEntry): Promise<ReadEntry> => {
    if ((await semaphore.acquire(createAbortPatience(signal))) !== "entered")
      return retryEntry(entry, "DeadlineReached", "not read in time");
    try {
      return await readEntry(transport, controller, entry, signal);
    } finally {
      semaphore.release();
    }
  };
  return { objects: await Promise.all(entries.map(read)), reads: entries.length };
}

async function readEntry(
  transport: Transport,
  controller: Pick<Watch, "parse" | "resource">,
  entry: BatchEntry,
  signal: AbortSignal,
): Promise<ReadEntry> {
  const { name, uid } = entry.object.metadata;
  const parse = (value: unknown) => controller.parse(value);
  const read = await readObject(transport, controller.resource, entry.object.metadata, parse, signal);
  if (read.kind === "object" && read.object.metadata.uid === uid) {
    return { index: entry.index, object: read.object, report: undefined };
  }
  if (read.kind !== "object" && read.kind !== "gone") return retryEntry(entry, "Unavailable", read.message);
  const because = { code: "Gone", message: `${name} with uid ${uid} is gone` };
  return withReport(entry, { outcome: "skipped", because });
}

function retryEntry(entry: BatchEntry, code: string, message: string): ReadEntry {
  return withReport(entry, { outcome: "retry", because: { code, message }, afterSeconds: 2 });
}

function withReport(
  { index, object }: BatchEntry,
  part: Pick<ObjectReport, "outcome" | "because" | "afterSeconds">,
): ReadEntry {
  const { namespace, name, uid } = object.metadata;
  const about = { index, ...(namespace === undefined ? {} : { namespace }), name, uid };
  return { index, object: undefined, report: { ...about, ...part } };
}

const AnyObject = z.looseObject({ metadata: z.looseObject({}) });

function parseAny(value: unknown) {
  const parsed = AnyObject.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data } as const;
  return { kind: "malformed", faults: [] } as const;
}

import { parseJson } from "#core/parse-json.ts";
import { type ObjectName, withQuery } from "#core/resources/resource.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { freeChunks } from "#kube/client/byte-buffer.ts";
import type { Excess } from "#kube/client/errors.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import { type ApiResponse, formatNamespacedPath, type Transport } from "#kube/client/transport.ts";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createListReader } from "#kube/follow/list-reader.ts";
import { getMetadata, isVersion } from "#kube/follow/object-key.ts";
import { createListBudget, createPageSize, type PageSize } from "#kube/follow/page-size.ts";
import {
  createFailure,
  limitMet,
  type RequestFailure,
  toErrorFailure,
  toRequestFailure,
} from "#kube/follow/request-failure.ts";

/** One page of a list, without its objects. */
export type ListPage =
  | {
      readonly kind: "page";
      /** Number of its objects. */
      readonly objects: number;
      readonly resourceVersion: string;
      /** The token of the next page; undefined on the last one. */
      readonly next: string | undefined;
      /** Remaining objects, if the server states the number. */
      readonly remaining: number | undefined;
      /** Bytes of its JSON. */
      readonly bytes: number;
    }
  /** The token has expired: the list must restart, or `next` continues it as it is now, without a common version. */
  | { readonly kind: "expired"; readonly next: string | undefined }
  | RequestFailure;

/** One page of a list with its objects. */
export type FullPage =
  | (Extract<ListPage, { readonly kind: "page" }> & { readonly items: readonly unknown[] })
  | Exclude<ListPage, { readonly kind: "page" }>;

/** A complete list with one resourceVersion, or a failure. */
export type CompleteList<T> =
  | {
      readonly kind: "list";
      /** What was kept of its objects. */
      readonly items: readonly T[];
      /** Number of objects seen. */
      readonly objects: number;
      /** False if the list exceeds twice the followed objects: an object that it lacks may still exist. */
      readonly complete: boolean;
      readonly resourceVersion: string;
    }
  | RequestFailure;

/** The limits of a list, and how to read it. */
export interface ListOptions {
  readonly size?: PageSize;
  readonly bounds?: FollowBounds;
  /** Measures the list's time limit. Default: no limit. */
  readonly clock?: Clock;
}

/** Restarts after expired tokens before the list counts as failed. */
const MAX_RESTARTS = 3;

/** A page of 500 nodes can have 10 MB. */
const PAGE_TIMEOUT_MS = 30_000;

/** Requests only the names of objects that are too large to read. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * Reads one page, or smaller ones if the answer is too large; `size` remembers the result for later pages. It
 * never sends a resourceVersion, because a list must not go back in time. It calls `onObject` with each object; if
 * the page fails after that, the text was not a list.
 */
export async function listPage(
  transport: Transport,
  path: string,
  token: string | undefined,
  onObject: (object: unknown) => void,
  signal: AbortSignal,
  { size = createPageSize(), bounds = DEFAULT_BOUNDS }: ListOptions = {},
): Promise<ListPage> {
  for (;;) {
    const query = { limit: size.limit(), continue: token };
    const page = await readPage(transport, path, query, onObject, signal, bounds, size);
    if (page.kind !== "failed") return page;
    // On a slow link the page may always time out; the next list requests less.
    if (page.code === "TimedOut") size.halve();
    if (page.code !== "AnswerTooLarge") return page;
    if (page.excess === "pieces") return limitMet("answerPieces", page.message);
    if (!size.halve()) return createTooLargeFailure(transport, path, token, signal, page.excess);
  }
}

/** Reads only the first object's metadata, for the list's version and number of objects. */
export function listVersion(
  transport: Transport,
  path: string,
  signal: AbortSignal,
  bounds: FollowBounds = DEFAULT_BOUNDS,
): Promise<ListPage> {
  return readPage(transport, path, { limit: 1 }, () => {}, signal, bounds, undefined, METADATA_ONLY);
}

/**
 * Reads one object as a list of at most one, which needs only the right to list; the list is empty if the
 * object is not found.
 */
export async function listByName(
  transport: Transport,
  path: string,
  { name, namespace }: ObjectName,
  signal: AbortSignal,
  bounds: FollowBounds = DEFAULT_BOUNDS,
): Promise<FullPage> {
  const query = { limit: 1, fieldSelector: `metadata.name=${name}` };
  const items: unknown[] = [];
  const onObject = (object: unknown): void => void items.push(object);
  const inNamespace = formatNamespacedPath(path, namespace);
  const page = await readPage(transport, inNamespace, query, onObject, signal, bounds, undefined);
  return page.kind === "page" ? { ...page, items } : page;
}

/**
 * Reads a whole list and projects each page as it arrives; an expired token restarts it. `project` receives
 * the number of kept objects, and returns undefined to keep none.
 */
export async function listAll<T>(
  transport: Transport,
  path: string,
  project: (object: unknown, kept: number) => T | undefined,
  signal: AbortSignal,
  { size = createPageSize(), bounds = DEFAULT_BOUNDS, clock }: ListOptions = {},
): Promise<CompleteList<T>> {
  const budget = createListBudget(bounds, path, clock);
  for (let restarts = 0; restarts <= MAX_RESTARTS; restarts += 1) {
    const items: T[] = [];
    let objects = 0;
    let token: string | undefined;
    for (;;) {
      const refused = budget.refuses();
      if (refused !== undefined) return refused;
      const page = await listPage(transport, path, token, take, signal, { size, bounds });
      if (page.kind === "failed") return page;
      if (page.kind === "expired") break;
      budget.spend(page.bytes);
      const complete = page.next === undefined;
      if (complete || objects > 2 * bounds.objects)
        return { kind: "list", items, objects, complete, resourceVersion: page.resourceVersion };
      token = page.next;
    }

    function take(object: unknown): void {
      objects += 1;
      const kept = project(object, items.length);
      if (kept !== undefined) items.push(kept);
    }
  }
  return createFailure(
    "Expired",
    `the list of ${path} expired ${MAX_RESTARTS + 1} times before it was complete`,
  );
}

type Query = Readonly<Record<string, string | number | undefined>>;

async function readPage(
  transport: Transport,
  path: string,
  query: Query & { readonly limit: number },
  onObject: (object: unknown) => void,
  signal: AbortSignal,
  bounds: FollowBounds,
  size: PageSize | undefined,
  accept?: string,
): Promise<ListPage> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  try {
    const answer = await transport.send({
      method: "GET",
      path: withQuery(path, String(parameters)),
      // One object is below the size that servers compress.
      compressed: size !== undefined,
      ...(accept === undefined ? {} : { accept }),
      maxBytes: bounds.pageBytes,
      maxValues: bounds.pageValues,
      chunked: true,
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
    });
    if (answer.status === 410 && query["continue"] !== undefined)
      return { kind: "expired", next: parseNewToken(answer) };
    if (answer.status !== 200) return toRequestFailure(answer);
    const page = parsePage(answer, query.limit, onObject);
    if (page.kind !== "page") return page;
    if (page.objects > query.limit)
      return limitMet(
        "pageItems",
        `a page of ${path} has ${page.objects} objects, and ${query.limit} were asked for`,
      );
    size?.fits(page.objects, page.bytes, bounds.pageBytes);
    return page;
  } catch (error) {
    return toErrorFailure(error);
  }
}

/** Returns a failure that names the object, if its name can be read. */
async function createTooLargeFailure(
  transport: Transport,
  path: string,
  token: string | undefined,
  signal: AbortSignal,
  excess: Excess | undefined,
): Promise<RequestFailure> {
  const parameters = new URLSearchParams({ limit: "1", ...(token === undefined ? {} : { continue: token }) });
  const request = {
    method: "GET",
    path: withQuery(path, String(parameters)),
    accept: METADATA_ONLY,
    signal,
    maxBytes: MAX_METADATA_BYTES,
    maxValues: MAX_OBJECT_VALUES,
  } as const;
  const objects: unknown[] = [];
  const answer = await transport.send(request).catch(() => undefined);
  if (answer !== undefined) parsePage(answer, 1, (object) => objects.push(object));
  const { namespace, name } = getMetadata(objects[0]);
  const fullName = `${namespace === undefined ? "" : `${namespace}/`}${name}`;
  const which = typeof name === "string" ? ` (${sanitizeText(fullName)})` : "";
  return limitMet(
    excess === "values" ? "pageValues" : "pageBytes",
    `one object of ${path}${which} is larger than what is read at a time; see what has filled it`,
  );
}

/** Metadata can be as large as any object; the name is not worth reading more. */
const MAX_METADATA_BYTES = 2 * 1024 * 1024;

/** Longest token or version in characters; kube-apiserver's token has an object's name and little more. */
const MAX_TOKEN = 4_096;

function parseToken(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the token in the answer to an expired one. */
function parseNewToken({ body }: ApiResponse): string | undefined {
  const token = parseToken(getMetadata(parseJson(body))["continue"]);
  return token === undefined || token.length > MAX_TOKEN ? undefined : token;
}

/** Calls `onObject` with each object, but with at most `limit`. */
function parsePage(
  { body, chunks = [new TextEncoder().encode(body)] }: ApiResponse,
  limit: number,
  onObject: (object: unknown) => void,
): ListPage {
  const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  const rubbish = createFailure("BadList", `the answer is not a Kubernetes list (${bytes} characters)`);
  let objects = 0;
  const reader = createListReader((object) => {
    objects += 1;
    if (objects <= limit) onObject(object);
  });
  try {
    for (const chunk of chunks) reader.add(chunk);
    const metadata = reader.end();
    const { resourceVersion, continue: token } = metadata;
    if (!isVersion(resourceVersion)) return rubbish;
    const next = parseToken(token);
    if (next !== undefined && next.length > MAX_TOKEN) return rubbish;
    const more: unknown = next === undefined ? 0 : metadata["remainingItemCount"];
    const remaining = Number.isSafeInteger(more) && Number(more) >= 0 ? Number(more) : undefined;
    return { kind: "page", objects, resourceVersion, next, remaining, bytes };
  } catch (error) {
    if (error instanceof SyntaxError) return rubbish;
    throw error;
  } finally {
    freeChunks(chunks);
  }
}

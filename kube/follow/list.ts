import { type ObjectName, withQuery } from "#core/resources/resource.ts";
import { shown } from "#core/shown-text.ts";
import type { Excess } from "#kube/client/errors.ts";
import { MAX_OBJECT_VALUES } from "#kube/client/json-values.ts";
import { collectionOfNamespace } from "#kube/client/resource-path.ts";
import type { Transport } from "#kube/client/transport.ts";
import { DEFAULT_BOUNDS, type FollowBounds } from "#kube/follow/bounds.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createListBudget } from "#kube/follow/list-budget.ts";
import { isVersion, metadataOf } from "#kube/follow/object-key.ts";
import { createPageSize, type PageSize } from "#kube/follow/page-size.ts";
import {
  failed,
  failureOf,
  failureOfError,
  limitMet,
  type RequestFailure,
} from "#kube/follow/request-failure.ts";

/** One page of a list. */
export type ListPage =
  | {
      readonly kind: "page";
      readonly items: readonly unknown[];
      readonly resourceVersion: string;
      /** Where the next page starts; undefined on the last one. */
      readonly next: string | undefined;
      /** Objects behind it, where the server says how many. */
      readonly remaining: number | undefined;
      /** Of its JSON. */
      readonly characters: number;
    }
  /** The token has expired: a list that began with it has to begin again. */
  | { readonly kind: "expired" }
  | RequestFailure;

/** A list all of one resourceVersion, or nothing. */
export type CompleteList<T> =
  | {
      readonly kind: "list";
      /** What was kept of its objects. */
      readonly items: readonly T[];
      /** Objects that were seen. */
      readonly objects: number;
      /** False where the list goes on beyond twice the objects that may be followed: what it does not show may be there all the same. */
      readonly complete: boolean;
      readonly resourceVersion: string;
    }
  | RequestFailure;

/** What a list may take, and how it is read. */
export interface ListOptions {
  readonly size?: PageSize;
  readonly bounds?: FollowBounds;
  /** Whose seconds the whole list is bounded by; by none without it. */
  readonly clock?: Clock;
}

/** How often a list whose tokens expire is begun anew before it counts as failed. */
const MAX_RESTARTS = 3;

/** A page of 500 nodes can have 10 MB. */
const PAGE_TIMEOUT_MS = 30_000;

/** The names alone of what is too large to be read. */
const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/**
 * Reads one page, smaller ones where the answer is too large; `size` keeps what was learnt for the pages that follow. Never with a
 * resourceVersion: a list must not go back in time.
 */
export async function listPage(
  transport: Transport,
  path: string,
  token: string | undefined,
  signal: AbortSignal,
  { size = createPageSize(), bounds = DEFAULT_BOUNDS }: ListOptions = {},
): Promise<ListPage> {
  for (;;) {
    const query = { limit: size.limit(), continue: token };
    const page = await readPage(transport, path, query, signal, bounds, size);
    if (page.kind !== "failed") return page;
    // On a slow link a page may never be there in time: the next list asks for less.
    if (page.code === "TimedOut") size.halve();
    if (page.code !== "AnswerTooLarge") return page;
    if (page.excess === "pieces") return limitMet("answerPieces", page.message);
    if (!size.halve()) return tooLarge(transport, path, token, signal, page.excess);
  }
}

/** Reads the first object's metadata alone, for what the page says of the whole list: its version, and how many objects it has. */
export function listVersion(
  transport: Transport,
  path: string,
  signal: AbortSignal,
  bounds: FollowBounds = DEFAULT_BOUNDS,
): Promise<ListPage> {
  return readPage(transport, path, { limit: 1 }, signal, bounds, undefined, METADATA_ONLY);
}

/** Reads one object as a list of at most one, which needs no right but to list; the list is empty where there is none. */
export function listByName(
  transport: Transport,
  path: string,
  { name, namespace }: ObjectName,
  signal: AbortSignal,
  bounds: FollowBounds = DEFAULT_BOUNDS,
): Promise<ListPage> {
  const query = { limit: 1, fieldSelector: `metadata.name=${name}` };
  return readPage(transport, collectionOfNamespace(path, namespace), query, signal, bounds, undefined);
}

/**
 * Reads a whole list, each page projected as it comes; a token that expires begins it again. `project` is told how many objects are
 * kept already, and keeps none by answering undefined.
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
      const page = await projectPage();
      if (page.kind === "failed") return page;
      if (page.kind === "expired") break;
      const complete = page.next === undefined;
      if (complete || objects > 2 * bounds.objects)
        return { kind: "list", items, objects, complete, resourceVersion: page.resourceVersion };
      token = page.next;
    }

    // In a function of its own: one that waits holds all that it has named, and a page takes several times its size.
    async function projectPage() {
      const page = await listPage(transport, path, token, signal, { size, bounds });
      if (page.kind !== "page") return page;
      budget.spend(page.characters);
      objects += page.items.length;
      for (const item of page.items) {
        const kept = project(item, items.length);
        if (kept !== undefined) items.push(kept);
      }
      return { kind: "projected", next: page.next, resourceVersion: page.resourceVersion } as const;
    }
  }
  return failed("Expired", `the list of ${path} expired ${MAX_RESTARTS + 1} times before it was complete`);
}

type Query = Readonly<Record<string, string | number | undefined>>;

async function readPage(
  transport: Transport,
  path: string,
  query: Query & { readonly limit: number },
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
      // One object is below what servers compress.
      compressed: size !== undefined,
      ...(accept === undefined ? {} : { accept }),
      maxBytes: bounds.pageBytes,
      maxValues: bounds.pageValues,
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
    });
    if (answer.status === 410 && query["continue"] !== undefined) return { kind: "expired" };
    if (answer.status !== 200) return failureOf(answer);
    const page = pageOf(answer.body);
    if (page.kind !== "page") return page;
    if (page.items.length > query.limit)
      return limitMet(
        "pageItems",
        `a page of ${path} has ${page.items.length} objects, and ${query.limit} were asked for`,
      );
    size?.fits(page.items.length, answer.body.length, bounds.pageBytes);
    return page;
  } catch (error) {
    return failureOfError(error);
  }
}

/** Says which object it is, if that can be had. */
async function tooLarge(
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
  const page = await transport.send(request).then(
    ({ body }) => pageOf(body),
    () => undefined,
  );
  const { namespace, name } = metadataOf(page?.kind === "page" ? page.items[0] : undefined);
  const fullName = `${namespace === undefined ? "" : `${namespace}/`}${name}`;
  const which = typeof name === "string" ? ` (${shown(fullName)})` : "";
  return limitMet(
    excess === "values" ? "pageValues" : "pageBytes",
    `one object of ${path}${which} is larger than what is read at a time; see what has filled it`,
  );
}

/** Metadata can be as large as any object, but then its name is not worth reading it. */
const MAX_METADATA_BYTES = 2 * 1024 * 1024;

/** Characters that a token or a version may have; a token of kube-apiserver's has the name of an object and little more. */
const MAX_TOKEN = 4_096;

function pageOf(body: string): ListPage {
  const rubbish = failed("BadList", `the answer is no list of Kubernetes' (${body.length} characters)`);
  try {
    const { items, metadata } = JSON.parse(body);
    // An empty list of Go's is null.
    const list: unknown = items ?? [];
    const { resourceVersion } = metadata;
    if (!Array.isArray(list) || !isVersion(resourceVersion)) return rubbish;
    const next =
      typeof metadata.continue === "string" && metadata.continue !== "" ? metadata.continue : undefined;
    if (next !== undefined && next.length > MAX_TOKEN) return rubbish;
    const more: unknown = next === undefined ? 0 : metadata.remainingItemCount;
    const remaining = Number.isSafeInteger(more) && Number(more) >= 0 ? Number(more) : undefined;
    return { kind: "page", items: list, resourceVersion, next, remaining, characters: body.length };
  } catch {
    return rubbish;
  }
}

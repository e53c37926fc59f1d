import type { ObjectName } from "#core/resources/resource.ts";
import { collectionOfNamespace } from "#kube/client/resource-path.ts";
import type { Transport } from "#kube/client/transport.ts";
import { metadataOf } from "#kube/follow/object-key.ts";
import { createPageSize, type PageSize } from "#kube/follow/page-size.ts";
import { failed, failureOf, failureOfError, type RequestFailure } from "#kube/follow/request-failure.ts";

/** One page of a list. */
export type ListPage =
  | {
      readonly kind: "page";
      readonly items: readonly unknown[];
      readonly resourceVersion: string;
      /** Where the next page starts; undefined on the last one. */
      readonly next: string | undefined;
    }
  /** The token has expired: a list that began with it has to begin again. */
  | { readonly kind: "expired" }
  | RequestFailure;

/** A list that is complete, all of one resourceVersion, or nothing. */
export type CompleteList<T> =
  | { readonly kind: "list"; readonly items: readonly T[]; readonly resourceVersion: string }
  | RequestFailure;

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
  size: PageSize = createPageSize(),
): Promise<ListPage> {
  for (;;) {
    const page = await readPage(transport, path, { limit: size.limit(), continue: token }, signal, size);
    if (page.kind !== "failed") return page;
    // On a slow link a page may never be there in time: the next list asks for less.
    if (page.code === "TimedOut") size.halve();
    if (page.code !== "AnswerTooLarge") return page;
    if (!size.halve()) return tooLarge(transport, path, token, signal);
  }
}

/** Reads one object as a list of at most one, which needs no right but to list; the list is empty where there is none. */
export function listByName(
  transport: Transport,
  path: string,
  { name, namespace }: ObjectName,
  signal: AbortSignal,
): Promise<ListPage> {
  const query = { limit: 1, fieldSelector: `metadata.name=${name}` };
  return readPage(transport, collectionOfNamespace(path, namespace), query, signal, undefined);
}

/** Reads a whole list, each page projected as it comes; a token that expires begins it again. */
export async function listAll<T>(
  transport: Transport,
  path: string,
  project: (object: unknown) => T,
  signal: AbortSignal,
  size: PageSize = createPageSize(),
): Promise<CompleteList<T>> {
  for (let restarts = 0; restarts <= MAX_RESTARTS; restarts += 1) {
    const items: T[] = [];
    let token: string | undefined;
    for (;;) {
      const page = await projectPage();
      if (page.kind === "failed") return page;
      if (page.kind === "expired") break;
      if (page.next === undefined) return { kind: "list", items, resourceVersion: page.resourceVersion };
      token = page.next;
    }

    // In a function of its own: one that waits holds all that it has named, and a page takes several times its size.
    async function projectPage() {
      const page = await listPage(transport, path, token, signal, size);
      if (page.kind !== "page") return page;
      for (const item of page.items) items.push(project(item));
      return { kind: "projected", next: page.next, resourceVersion: page.resourceVersion } as const;
    }
  }
  return failed("Expired", `the list of ${path} expired ${MAX_RESTARTS + 1} times before it was complete`);
}

type Query = Readonly<Record<string, string | number | undefined>>;

async function readPage(
  transport: Transport,
  path: string,
  query: Query,
  signal: AbortSignal,
  size: PageSize | undefined,
): Promise<ListPage> {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  try {
    const answer = await transport.send({
      method: "GET",
      path: `${path}?${parameters}`,
      // One object is below what servers compress.
      compressed: size !== undefined,
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
    });
    if (answer.status === 410 && query["continue"] !== undefined) return { kind: "expired" };
    if (answer.status !== 200) return failureOf(answer);
    const page = pageOf(answer.body);
    if (page.kind === "page") size?.fits(page.items.length, answer.body.length);
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
): Promise<RequestFailure> {
  const parameters = new URLSearchParams({ limit: "1", ...(token === undefined ? {} : { continue: token }) });
  const request = { method: "GET", path: `${path}?${parameters}`, accept: METADATA_ONLY, signal } as const;
  const page = await transport.send(request).then(
    ({ body }) => pageOf(body),
    () => undefined,
  );
  const { namespace, name } = metadataOf(page?.kind === "page" ? page.items[0] : undefined);
  const which = typeof name === "string" ? ` (${namespace === undefined ? "" : `${namespace}/`}${name})` : "";
  return failed(
    "ObjectTooLarge",
    `one object of ${path}${which} is larger than what is read at a time; see what has filled it`,
  );
}

function pageOf(body: string): ListPage {
  const rubbish = failed("BadList", `the answer is no list of Kubernetes' (${body.length} characters)`);
  try {
    const { items, metadata } = JSON.parse(body);
    // An empty list of Go's is null.
    const list: unknown = items ?? [];
    if (!Array.isArray(list) || typeof metadata?.resourceVersion !== "string") return rubbish;
    const next =
      typeof metadata.continue === "string" && metadata.continue !== "" ? metadata.continue : undefined;
    return { kind: "page", items: list, resourceVersion: metadata.resourceVersion, next };
  } catch {
    return rubbish;
  }
}

import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiResponse, Transport } from "#kube/client/transport.ts";

/** Why a list or a watch came to nothing; `code` is stable and one of few, `message` holds the server's own words, cut. */
export interface RequestFailure {
  readonly kind: "failed";
  readonly code: string;
  readonly message: string;
  /** What the server asked us to wait, in milliseconds; 0 where it did not. */
  readonly retryAfterMs: number;
}

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

/** Objects a page; small enough for one page to be parsed without a pause that anybody notices. */
export const PAGE_LIMIT = 500;

/** How often a list whose tokens expire is begun anew before it counts as failed. */
const MAX_RESTARTS = 3;

/** A page of 500 nodes can have 10 MB. */
const PAGE_TIMEOUT_MS = 30_000;

/** Reads one page; `query` is added to the path, such as a field selector. Never with a resourceVersion: a list must not go back in time. */
export async function listPage(
  transport: Transport,
  path: string,
  token: string | undefined,
  signal: AbortSignal,
  query: Readonly<Record<string, string>> = {},
): Promise<ListPage> {
  const parameters = new URLSearchParams({ limit: String(PAGE_LIMIT), ...query });
  if (token !== undefined) parameters.set("continue", token);
  try {
    const answer = await transport.send({
      method: "GET",
      path: `${path}?${parameters}`,
      signal,
      timeoutMs: PAGE_TIMEOUT_MS,
    });
    if (answer.status === 410 && token !== undefined) return { kind: "expired" };
    return answer.status === 200 ? pageOf(answer.body) : failureOf(answer);
  } catch (error) {
    return failureOfError(error);
  }
}

/** Reads a whole list, each page projected as it comes; a token that expires begins it again. */
export async function listAll<T>(
  transport: Transport,
  path: string,
  project: (object: unknown) => T,
  signal: AbortSignal,
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
      const page = await listPage(transport, path, token, signal);
      if (page.kind !== "page") return page;
      for (const item of page.items) items.push(project(item));
      return { kind: "projected", next: page.next, resourceVersion: page.resourceVersion } as const;
    }
  }
  const message = `the list of ${path} expired ${MAX_RESTARTS + 1} times before it was complete`;
  return { kind: "failed", code: "Expired", message, retryAfterMs: 0 };
}

/** What an answer other than 200 means. */
export function failureOf(
  answer: Pick<ApiResponse, "status" | "headers"> & { readonly body?: string },
): RequestFailure {
  const seconds = Number(answer.headers["retry-after"] ?? 0);
  return {
    kind: "failed",
    code: STATUS_CODES.get(answer.status) ?? (answer.status >= 500 ? "ServerError" : "UnexpectedStatus"),
    message: `${answer.status}: ${wordsOf(answer.body)}`,
    retryAfterMs: Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 30) * 1000 : 0,
  };
}

/** What no answer means; whatever is not of the network is `Unexpected`, as nothing may end the loop that asks. */
export function failureOfError(error: unknown): RequestFailure {
  const message = error instanceof Error ? error.message : String(error);
  return {
    kind: "failed",
    code: error instanceof ApiUnreachable ? error.code : "Unexpected",
    message,
    retryAfterMs: 0,
  };
}

const STATUS_CODES: ReadonlyMap<number, string> = new Map([
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [410, "Gone"],
  [429, "TooManyRequests"],
]);

const MAX_WORDS = 300;

function wordsOf(body: string | undefined): string {
  if (body === undefined) return "no words";
  try {
    const { message } = JSON.parse(body);
    return String(message ?? body).slice(0, MAX_WORDS);
  } catch {
    return body.slice(0, MAX_WORDS);
  }
}

function pageOf(body: string): ListPage {
  const rubbish: RequestFailure = {
    kind: "failed",
    code: "BadList",
    message: `the answer is no list of Kubernetes' (${body.length} characters)`,
    retryAfterMs: 0,
  };
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

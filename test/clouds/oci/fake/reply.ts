import type { IncomingMessage } from "node:http";

/** A request that arrived and whose signature holds. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON; undefined where there was none. */
  readonly body: unknown;
}

/** What a request is answered with; `destroy` breaks the connection, `hang` never answers. */
export type FakeReply =
  | "destroy"
  | "hang"
  | {
      readonly status: number;
      /** Sent as JSON; a text is sent as it is, and undefined not at all. */
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** One operation of a service: what it may be asked, and what it answers. */
export interface FakeRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Of the whole path; groups are handed on. */
  readonly path: RegExp;
  /** Parameters of the query that must be there; `limit` and `page` may be with those that are paged. */
  readonly required?: readonly string[];
  readonly allowed?: readonly string[];
  readonly paged?: true;
  answer(request: FakeRequest, ...groups: readonly string[]): FakeReply | readonly unknown[];
}

/** An error as Oracle words it. */
export function refusal(status: number, code: string, message = `${code}, says the fake`): FakeReply {
  return { status, body: { code, message } };
}

/** Oracle does not say whether something is not there or not for you. */
export const NOT_FOUND: FakeReply = refusal(
  404,
  "NotAuthorizedOrNotFound",
  "Authorization failed or requested resource not found.",
);

/** How lists are cut into pages. */
export interface Paging {
  /** At most so many on a page, whatever was asked for. */
  pageLimit: number;
  /** Every list has an empty page before its last one. */
  emptyPages: boolean;
}

/** The page that a request asks for; undefined where there is no such page. */
export function pageOf(
  items: readonly unknown[],
  { query }: FakeRequest,
  { pageLimit, emptyPages }: Paging,
): FakeReply | undefined {
  const { limit = "100", page = "0" } = query;
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > 1_000) return undefined;
  const match = /^(\d+)(e?)$/.exec(page);
  const start = Number(match?.[1] ?? Number.NaN);
  if (match === null || start > items.length) return undefined;
  const size = Math.min(Number(limit), pageLimit);
  if (emptyPages && match[2] === "" && items.length - start <= size)
    return { status: 200, body: [], headers: { "opc-next-page": `${start}e` } };
  const shown = items.slice(start, start + size);
  const next = start + size;
  const headers: Record<string, string> = next < items.length ? { "opc-next-page": String(next) } : {};
  return { status: 200, body: shown, headers };
}

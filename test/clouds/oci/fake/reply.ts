import type { IncomingMessage } from "node:http";

/** A request that arrived with a valid signature. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
}

/** The answer to a request; `destroy` breaks the connection, `hang` never answers. */
export type FakeReply =
  | "destroy"
  | "hang"
  | {
      readonly status: number;
      /** Sent as JSON; a text is sent unchanged, and undefined not at all. */
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** One operation of a service: its requests and its answers. */
export interface FakeRoute {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Matches the whole path; its groups are passed on. */
  readonly path: RegExp;
  /** Required parameters of the query; paged operations also take `limit` and `page`. */
  readonly required?: readonly string[];
  readonly allowed?: readonly string[];
  readonly paged?: true;
  answer(request: FakeRequest, ...groups: readonly string[]): FakeReply | readonly unknown[];
}

/** Builds an error in Oracle's format. */
export function buildRefusal(status: number, code: string, message = `${code}, says the fake`): FakeReply {
  return { status, body: { code, message } };
}

/** Oracle does not distinguish between missing and forbidden resources. */
export const NOT_FOUND: FakeReply = buildRefusal(
  404,
  "NotAuthorizedOrNotFound",
  "Authorization failed or requested resource not found.",
);

/** How lists are cut into pages. */
export interface Paging {
  /** The maximum page size, for any request. */
  pageLimit: number;
  /** Every list has an empty page before its last one. */
  emptyPages: boolean;
}

/** Returns the requested page; undefined if it does not exist. */
export function findPage(
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

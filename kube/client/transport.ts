/** One request to an API server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  /** Path and query, such as `/api/v1/nodes?limit=500`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body; `application/json` without it. */
  readonly contentType?: string;
  /** `application/json` without it. */
  readonly accept?: string;
  /** Whether `send` asks for an answer in gzip, which is worth it for large ones (docs/decisions/0006-gzip-for-lists.md). */
  readonly compressed?: boolean;
  /** Bytes that the answer to `send` may have, decompressed, and JSON values; never more bytes than the transport's own bound. */
  readonly maxBytes?: number;
  readonly maxValues?: number;
  /** The user in whose stead it is sent, which whoever signs in has to have the right to (`impersonate`). */
  readonly actAs?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds until the whole answer must be there; 10,000 without it. Ignored by `stream` once headers are there. */
  readonly timeoutMs?: number;
}

/** A whole answer of an API server, whatever its status; the body is not parsed. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** An answer whose body arrives in pieces; ends when the server ends it, throws when the connection is lost. */
export interface ApiStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Identifies the connection that it came on, by reference alone; undefined where that is not known. */
  readonly connection?: object | undefined;
  /** Gives the stream up; with its connection, where a server would go on sending whatever is reset. */
  close(options?: { readonly connection?: boolean }): void;
}

/**
 * What signs requests in: a header, asked for before each request, and nothing that could be logged. `fresh` bypasses
 * any cache: the server has refused the last one. The signal is aborted once no request of this client waits any more.
 */
export type Authorization = (
  signal?: AbortSignal,
  options?: { readonly fresh?: boolean },
) => Promise<string | undefined>;

/**
 * A narrow client of one API server over one HTTP/2 connection. Rejects with `ApiUnreachable` where no answer came;
 * any HTTP status is an answer. A 401 ends the use of a connection: what it was signed in with is read anew, and the request is sent
 * once more on a new one, unless that was tried a moment ago. A connection that turns out dead, or that the server is closing (GOAWAY), costs one
 * retry on a new one for requests that were certainly not processed, and for GET and PATCH (all our patches carry
 * preconditions) in any case.
 */
export interface Transport {
  send(request: ApiRequest): Promise<ApiResponse>;
  stream(request: ApiRequest): Promise<ApiStream>;
  close(): Promise<void>;
}

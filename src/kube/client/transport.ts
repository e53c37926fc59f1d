/** One request to an API server. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE" | "PUT";
  /** Path and query, such as `/api/v1/nodes?limit=500`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** The type of the body. Default: `application/json`. */
  readonly contentType?: string;
  /** Default: `application/json`. */
  readonly accept?: string;
  /**
   * Whether `send` requests a gzip answer, which pays off for large ones
   * (docs/decisions/0006-gzip-for-lists.md).
   */
  readonly compressed?: boolean;
  /**
   * Limits of the answer to `send`: decompressed bytes, and JSON values. The bytes never exceed the
   * transport's own limit.
   */
  readonly maxBytes?: number;
  readonly maxValues?: number;
  /** Whether `send` returns the body of a 200 in `chunks`, because it may be too large to be held twice. */
  readonly chunked?: boolean;
  /** The impersonated user; the signed-in identity needs the right to impersonate (`impersonate`). */
  readonly actAs?: string;
  readonly signal?: AbortSignal;
  /**
   * Milliseconds until the whole answer must have arrived; default 10,000. `stream` ignores it after the
   * headers.
   */
  readonly timeoutMs?: number;
}

/** A whole answer of an API server with any status; the body is not parsed. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Empty if `chunks` has it. */
  readonly body: string;
  /** The decompressed body, if the request is `chunked`; the caller may free it (`freeChunks`). */
  readonly chunks?: readonly Uint8Array<ArrayBuffer>[];
}

/**
 * An answer whose body arrives in chunks; it ends when the server ends it, and throws when the connection is
 * lost.
 */
export interface ApiStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Identifies its connection by reference only; undefined if unknown. */
  readonly connection?: object | undefined;
  /** Abandons the stream, optionally with its connection, for a server that ignores resets. */
  close(options?: { readonly connection?: boolean }): void;
}

/**
 * Returns the authorization header of each request; it must never be logged. `fresh` bypasses any cache,
 * because the server rejected the last one. The signal is aborted once no request of this client waits.
 */
export type Authorization = (
  signal?: AbortSignal,
  options?: { readonly fresh?: boolean },
) => Promise<string | undefined>;

/**
 * A narrow client of one API server over one HTTP/2 connection. Rejects with `ApiUnreachable` if no answer
 * came; any HTTP status is an answer. After a 401 it closes the connection to new requests,
 * and reads the credentials again. It then sends the request once more on a new connection, unless it just
 * did so. If a connection is dead or the server closes it (GOAWAY), requests are retried once on a new one.
 * This applies to requests that were certainly not processed, and always to GET and PATCH, because all our
 * patches carry preconditions.
 */
export interface Transport {
  send(request: ApiRequest): Promise<ApiResponse>;
  stream(request: ApiRequest): Promise<ApiStream>;
  close(): Promise<void>;
}

/** Wraps a transport so that every request impersonates a user; the caller closes the original. */
export function impersonate(
  transport: Transport,
  user: string,
  bounds: Pick<ApiRequest, "maxBytes"> = {},
): Transport {
  return {
    send: (request) => transport.send({ ...bounds, ...request, actAs: user }),
    stream: (request) => transport.stream({ ...request, actAs: user }),
    close: async () => {},
  };
}

/**
 * Returns the path of a collection in one namespace: `/api/v1/services` and `a` give
 * `/api/v1/namespaces/a/services`.
 */
export function formatNamespacedPath(path: string, namespace: string | undefined): string {
  if (namespace === undefined) return path;
  const resource = path.lastIndexOf("/");
  return `${path.slice(0, resource)}/namespaces/${encodeURIComponent(namespace)}${path.slice(resource)}`;
}

import type { IncomingHttpHeaders } from "node:http";

/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer, or none: `destroy` breaks the connection, `hang` never answers. */
export type FakeAnswer = "destroy" | "hang" | Answer;

/** A request that arrived. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** Parsed, with whole numbers beyond 53 bits as bigints; undefined without a body, or if it is not JSON. */
  readonly body?: unknown;
}

/** Answers the requests for one sort of resource; undefined for others. */
export type Resource = (request: FakeRequest, refuse: Refuse) => Answer | undefined;

/** Rejects a request that no client of the API should send; `close` reports it. */
export type Refuse = (status: number, id: string, because?: string) => Answer;

/** Builds an error in DigitalOcean's words. */
export function buildErrorAnswer(
  status: number,
  id: string,
  headers: Readonly<Record<string, string>> = {},
  message = `${id}, says the fake`,
): Answer {
  const body = JSON.stringify({ id, message, request_id: "req-1" });
  return { status, body, headers: { "content-type": "application/json", ...headers } };
}

/** Builds an answer with a JSON body. */
export function buildJsonAnswer(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body) };
}

/** The caller may not do it. */
export const FORBIDDEN = buildErrorAnswer(403, "forbidden");

/** The resource does not exist. */
export const NOT_FOUND = buildErrorAnswer(404, "not_found");

/** Returns digits of any length as a JSON number. */
export function toJsonNumber(id: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(id);
}

import type { IncomingHttpHeaders } from "node:http";

/** What a request is answered with. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The same, or none at all: `destroy` breaks the connection, `hang` never answers. */
export type FakeAnswer = "destroy" | "hang" | Answer;

/** A request that arrived. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  /** Parsed, with whole numbers beyond 53 bits as bigints; undefined where there was none, or none that is JSON. */
  readonly body?: unknown;
}

/** Answers what is asked of one sort of resource; undefined for what is not its own. */
export type Resource = (request: FakeRequest, refuse: Refuse) => Answer | undefined;

/** Answers a request as wrong that no client of the API should send, and has it told at the end. */
export type Refuse = (status: number, id: string, because?: string) => Answer;

/** An error as DigitalOcean words it. */
export function errorAnswer(
  status: number,
  id: string,
  headers: Readonly<Record<string, string>> = {},
  message = `${id}, says the fake`,
): Answer {
  const body = JSON.stringify({ id, message, request_id: "req-1" });
  return { status, body, headers: { "content-type": "application/json", ...headers } };
}

/** What is asked for, as JSON. */
export function jsonAnswer(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body) };
}

/** That the caller may not do it. */
export const FORBIDDEN = errorAnswer(403, "forbidden");

/** That there is no such thing. */
export const NOT_FOUND = errorAnswer(404, "not_found");

/** Whole digits as a JSON number, however many there are. */
export function digits(id: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(id);
}

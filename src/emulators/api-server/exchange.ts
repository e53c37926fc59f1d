import { channel } from "node:diagnostics_channel";

/** The channel on which embedded API servers publish an `Exchange` for each answer and each line of a watch. */
export const EXCHANGES = "serverless-ccm:embedded-api-server";

/** A request to an embedded API server, with its answer or one line of its watch. */
export interface Exchange {
  readonly user: string | undefined;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly contentType: string | undefined;
  /** Undefined if the server answered before it read the body. */
  readonly body: string | undefined;
  /** The JSON of the object as a write left it, before its representation for the answer. */
  readonly written: string | undefined;
  readonly answer:
    | { readonly status: number; readonly contentType: string; readonly body: string }
    | { readonly line: string };
}

type Request = Omit<Exchange, "answer">;

const exchanges = channel(EXCHANGES);
const requests = new WeakMap<object, Request>();

/** Notes a request until its answer is published; without a subscriber this and all below cost nothing. */
export function noteRequest(
  answer: object,
  request: Readonly<Record<"method" | "path", string>> & { readonly contentType: string | undefined },
): void {
  if (!exchanges.hasSubscribers) return;
  requests.set(answer, { ...request, user: undefined, body: undefined, written: undefined });
}

/** Adds to a noted request. */
export function noteMore(answer: object, more: Partial<Request>): void {
  const request = requests.get(answer);
  if (request !== undefined) requests.set(answer, { ...request, ...more });
}

/** Publishes the answer to a noted request, or one line of its watch. */
export function publishAnswer(answer: object, published: Exchange["answer"]): void {
  const request = requests.get(answer);
  if (request !== undefined) exchanges.publish({ ...request, answer: published } satisfies Exchange);
}

import { MAX_EVENT_BYTES } from "#core/event.ts";

/**
 * What both sides of functions over HTTP agree on: how a function is addressed, which headers travel with an event
 * and its report, how large both may be, and what each status means. An event is the JSON body of a POST to the
 * function's URL; status 200 answers with the report.
 */

/** The part of a URL template that stands for the function's name, such as `node`. */
export const FUNCTION_PLACEHOLDER = "{function}";

/** The largest request body in bytes. */
export const MAX_REQUEST_BYTES = MAX_EVENT_BYTES;

/** The largest answer in bytes: that of Lambda, so that a report fits on each platform. */
export const MAX_ANSWER_BYTES = 6 * 1024 * 1024;

/** The media type of events, reports and errors. CloudEvents calls a body of this kind binary mode. */
export const JSON_TYPE = "application/json";

/**
 * The header with the milliseconds that the caller gives the function. The function takes the smaller of it and its
 * own limit. A duration and not a moment, because the clocks of both machines may differ.
 */
export const TIMEOUT_HEADER = "serverless-ccm-timeout-ms";

/** Builds the CloudEvents 1.0 headers of an event or a report. `source` and `type` are ours, `id` may be anything. */
export function buildCloudEventHeaders(
  id: string,
  source: string,
  type: "serverless-ccm.event" | "serverless-ccm.report",
): Readonly<Record<string, string>> {
  return {
    "ce-specversion": "1.0",
    "ce-id": encodeHeaderValue(id),
    "ce-source": encodeHeaderValue(source),
    "ce-type": type,
  };
}

/** Percent-encodes what CloudEvents' HTTP binding excludes from header values: all but visible ASCII, `"` and `%`. */
function encodeHeaderValue(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]|["%]/gu, (each) =>
      [...Buffer.from(each, "utf8")]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
        .join(""),
    );
}

/** The body of every answer that is no report. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
}

/** Every code with which the server answers, and its status. */
export const ERROR_STATUS = {
  /** The function rejects the whole event: nothing was done. */
  EventRejected: 400,
  Unauthenticated: 401,
  /** The caller is known and not allowed. */
  Forbidden: 403,
  FunctionMissing: 404,
  MethodNotAllowed: 405,
  /** The body did not arrive in time. */
  RequestTimeout: 408,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  /** Without authentication, only this machine's own names and addresses are answered. */
  WrongHost: 421,
  TooManyInvocations: 429,
  /** The function failed; it writes no more. */
  FunctionError: 500,
  /** The process ends, and starts no invocation. */
  Draining: 503,
  /** The function did not end in time; it may still be writing. */
  TimedOut: 504,
} as const satisfies Readonly<Record<string, number>>;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** What a status other than 200 means: the code of a failed invocation, and whether the function may run. */
export interface Failure {
  readonly code: "BadReport" | "Denied" | "FunctionError" | "Rejected" | "Throttled" | "Unreachable";
  readonly mayRun: boolean;
  /** What an operator should do. */
  readonly advice?: string;
}

/**
 * Reads a status other than 200; `code` is that of our own server's body, undefined for a body of others. Proxies
 * answer with these statuses, too: where the function may have started, the failure says so.
 */
export function readFailure(status: number, code: string | undefined): Failure {
  if (status >= 300 && status < 400)
    return { ...DENIED, advice: "redirects are not followed: name the final URL" };
  // A queue or a broker has accepted the event, and the function runs at some time.
  if (status < 300) return { code: "BadReport", mayRun: true, advice: "name the URL of the function itself" };
  if (status === 500) {
    // A proxy's own failure says nothing about the function.
    return code === "FunctionError" ? { code, mayRun: false } : { code: "Unreachable", mayRun: true };
  }
  return STATUSES.get(status) ?? (status < 500 ? DENIED : { code: "Unreachable", mayRun: true });
}

const DENIED: Failure = { code: "Denied", mayRun: false };

const REJECTED: Failure = { code: "Rejected", mayRun: false };

const CREDENTIALS = "check the token or the client certificate, its audience and subject";

const STATUSES: ReadonlyMap<number, Failure> = new Map([
  [400, REJECTED],
  [401, { ...DENIED, advice: CREDENTIALS }],
  [403, { ...DENIED, advice: CREDENTIALS }],
  [404, { ...DENIED, advice: "check the URL template, and that the function is served there" }],
  // The body did not arrive, so nothing was started; a proxy may mean its own wait for the function.
  [408, { code: "Unreachable", mayRun: true }],
  [413, REJECTED],
  [415, REJECTED],
  [429, { code: "Throttled", mayRun: false }],
  // No capacity, or a process that starts or ends.
  [503, { code: "Unreachable", mayRun: false }],
]);

/** Returns whether a host of a URL or a Host header, without a port, is this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\]|::1)$/i.test(host);
}

/**
 * Returns what is wrong with a URL template; undefined if nothing is. Tokens travel to this URL, so it is https, or
 * http on this machine.
 */
export function checkUrlTemplate(template: string): string | undefined {
  if (!template.includes(FUNCTION_PLACEHOLDER))
    return `has no ${FUNCTION_PLACEHOLDER}: give a URL such as https://{function}.fns.example.com, or https://fns.example.com/{function}`;
  const url = URL.parse(formatFunctionUrl(template, "node"));
  if (url === null) return "is not a URL; give one such as https://{function}.fns.example.com";
  if (url.username !== "" || url.password !== "")
    return "holds credentials; give them in a file of their own";
  if (url.search !== "" || url.hash !== "") return "has a query or a fragment; leave it out";
  if (url.protocol === "https:") return undefined;
  if (url.protocol !== "http:") return `has the scheme ${url.protocol} give https:`;
  return isLoopback(url.hostname) ? undefined : "is plain http, which is for this machine alone; give https:";
}

/** Returns the URL of a function. */
export function formatFunctionUrl(template: string, functionName: string): string {
  return template.replaceAll(FUNCTION_PLACEHOLDER, functionName);
}

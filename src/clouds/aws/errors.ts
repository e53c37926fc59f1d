import type { BaseOutcome, CloudError } from "#clouds/outcome.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { DENIED, isCodeIn, THROTTLED, UNAUTHORIZED, UNSUPPORTED } from "#platforms/aws/error-codes.ts";

/** The reason why a request to AWS failed, in the form of a node's answer. */
export interface Fault extends CloudError {
  /** The service said that this single operation is not available here or not allowed. */
  readonly refused?: true;
  /** Some of the requested ids do not exist; the service then returns none of the others. */
  readonly unknownIds?: true;
  /** The SDK's error, if there was one. */
  readonly thrown?: unknown;
}

/** The result of a request. */
export type Outcome<Value> = BaseOutcome<Value, Fault>;

/** The fault of an aborted request. */
export function buildAbortedFault(operation: string): Fault {
  return { code: "Aborted", message: `${operation}: aborted before AWS answered` };
}

/** Converts a fault to a node's answer. */
export function toErrorAnswer({ code, message }: Fault): InstanceAnswer {
  return { kind: "error", code, message };
}

/** Classifies an error that the SDK threw at `operation`. */
export function classify(error: unknown, operation: string): Fault {
  const { name, status, message } = parseSdkError(error);
  const text = `${operation}: ${message}`;
  if (isCodeIn(THROTTLED, name) || status === 429) return { code: "Throttled", message: text };
  if (name === UNAUTHORIZED) return { code: "Denied", message: text, refused: true };
  if (DENIED.has(name)) return { code: "Denied", message: text };
  if (UNSUPPORTED.has(name)) return { code: "Unavailable", message: text, refused: true };
  if (UNKNOWN_IDS.test(name)) return { code: "Unavailable", message: text, unknownIds: true };
  if (status === 401 || status === 403) return { code: "Denied", message: text };
  if (status === undefined || status >= 500) return { code: "Unavailable", message: text, transient: true };
  return { code: "Unavailable", message: text };
}

/** The instance does not exist, or the id is malformed. */
const UNKNOWN_IDS = /^InvalidInstanceID\b/;

/** Reads the service's code from `name`, and the HTTP status from `$metadata` if there was an answer. */
function parseSdkError(error: unknown): { name: string; status: number | undefined; message: string } {
  if (!(error instanceof Error)) return { name: "", status: undefined, message: String(error) };
  const { $metadata } = error as Error & { readonly $metadata?: { readonly httpStatusCode?: number } };
  const [line = ""] = error.message.split("\n");
  const message = error.name === "Error" ? line : `${error.name}: ${line}`;
  return { name: error.name, status: $metadata?.httpStatusCode, message: message.slice(0, 500) };
}

/**
 * An error of AWS: the service's own code without the SDK's changes, and the request id for AWS's support.
 */
export interface AwsError {
  readonly code: string;
  readonly message: string;
  /** Undefined without an answer. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
}

/** Parses an error that the SDK threw. */
export function parseAwsError(thrown: unknown): AwsError {
  if (!(thrown instanceof Error))
    return { code: "", message: String(thrown), status: undefined, requestId: undefined };
  const { $metadata, Code, Error: body } = thrown as SdkError;
  const code = Code ?? body?.Code ?? thrown.name.replace(/Exception$/, "");
  const [line = ""] = thrown.message.split("\n");
  return {
    code,
    message: line.slice(0, 500),
    status: $metadata?.httpStatusCode,
    requestId: $metadata?.requestId,
  };
}

/** The SDK renames some errors of the API's model, and keeps the service's code in other fields. */
interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly Code?: string;
  readonly Error?: { readonly Code?: string };
}

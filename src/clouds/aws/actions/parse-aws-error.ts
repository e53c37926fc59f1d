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

/** What AWS said in an error: its own code, without what the SDK makes of it, and under which id it can tell more. */
export interface AwsError {
  readonly code: string;
  readonly message: string;
  /** Undefined where there was no answer. */
  readonly status: number | undefined;
  readonly requestId: string | undefined;
}

/** Reads whatever the SDK threw. */
export function errorOf(thrown: unknown): AwsError {
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

/** The SDK gives errors names of its own where the API's model has some, and keeps what was sent beside. */
interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string };
  readonly Code?: string;
  readonly Error?: { readonly Code?: string };
}

import { DENIED, isCodeIn, THROTTLED, UNAUTHORIZED } from "#platforms/aws/error-codes.ts";
import { type SecretCode, SecretError } from "#platforms/secrets/secret-error.ts";

/** The requested secret for messages, and the error code if AWS rejects the request or does not answer. */
export interface SecretRequest {
  /** For example `the secret a of Secrets Manager`. */
  readonly what: string;
  /** What the caller needs, as the end of a sentence. */
  readonly needs: string;
  readonly denied: SecretCode;
  readonly unavailable: SecretCode;
}

/**
 * Converts an error of the SDK. It keeps AWS's own message, but not that of a library, which may quote what
 * it has read.
 */
export function toSecretError(
  error: unknown,
  { what, needs, denied, unavailable }: SecretRequest,
): SecretError {
  if (error instanceof SecretError) return error;
  const { name, words } = parseError(error);
  if (name === "CredentialsProviderError")
    return new SecretError("NoAwsCredentials", `${what}: this process has no credentials of AWS; ${CHAIN}`);
  if (MISSING.has(name))
    return new SecretError("SecretNotFound", `${what} was not found (${words}); ${needs}`);
  if (isCodeIn(THROTTLED, name))
    return new SecretError(
      unavailable,
      `${what}: AWS has too many requests (${words}); the request is retried`,
    );
  if (name === UNAUTHORIZED || DENIED.has(name) || KEY_REFUSED.has(name))
    return new SecretError(denied, `${what} is refused by AWS (${words}); ${needs}`);
  const todo =
    words === NO_REGION ? "give its region" : "see the network, the region and AWS's endpoint there";
  return new SecretError(unavailable, `${what} cannot be had (${words}); ${todo}`);
}

/** The wording of src/core/aws-credentials.ts, which functions need for nothing else. */
const CHAIN = "give this process AWS credentials, by its environment, a profile or a role";

const MISSING: ReadonlySet<string> = new Set([
  "ResourceNotFoundException",
  "ParameterNotFound",
  "ParameterVersionNotFound",
  // A secret that is scheduled for deletion.
  "InvalidRequestException",
]);

/** The caller may not use the encryption key of the secret. */
const KEY_REFUSED: ReadonlySet<string> = new Set([
  "DecryptionFailure",
  "InvalidKeyId",
  "KMSAccessDeniedFault",
]);

const NO_REGION = "no region is known";
const MAX_CHARACTERS = 300;

/** Returns the code of an error, and its printable part. */
function parseError(error: unknown): { readonly name: string; readonly words: string } {
  if (!(error instanceof Error)) return { name: "", words: typeof error };
  const { name, message } = error;
  if (message === "Region is missing") return { name, words: NO_REGION };
  // Set only on errors that a service returned.
  if (isAnswer(error) && message !== "")
    return { name, words: `${name}: ${message.split("\n", 1)[0]}`.slice(0, MAX_CHARACTERS) };
  const code: unknown = Reflect.get(error, "code");
  return { name, words: typeof code === "string" ? `${name} ${code}` : name };
}

/** Whether a service understood the request and rejects it with a short message. */
function isAnswer(error: Error): boolean {
  const { $fault, $metadata } = error as Error & {
    readonly $fault?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  return $fault !== undefined && status >= 400 && status < 500;
}

import { DENIED, isCodeIn, THROTTLED, UNAUTHORIZED } from "#clouds/aws/errors.ts";
import { type SecretCode, SecretError } from "#clouds/secrets/secret-error.ts";

/** What was asked for, as messages say it, and which code it is where AWS refuses it, or does not answer. */
export interface Refusable {
  /** Such as `the secret a of Secrets Manager`. */
  readonly what: string;
  /** What whoever asks needs, as the end of a sentence. */
  readonly needs: string;
  readonly denied: SecretCode;
  readonly unavailable: SecretCode;
}

/** The error of whatever the SDK threw. AWS's own words are taken over; those of a library may quote what it has read, and are not. */
export function refusalOf(error: unknown, { what, needs, denied, unavailable }: Refusable): SecretError {
  if (error instanceof SecretError) return error;
  const { name, words } = partsOf(error);
  if (name === "CredentialsProviderError")
    return new SecretError("NoAwsCredentials", `${what}: this process has no credentials of AWS; ${CHAIN}`);
  if (MISSING.has(name))
    return new SecretError("SecretNotFound", `${what} is not there (${words}); ${needs}`);
  if (isCodeIn(THROTTLED, name))
    return new SecretError(unavailable, `${what}: AWS has too many requests (${words}); it is tried again`);
  if (name === UNAUTHORIZED || DENIED.has(name) || KEY_REFUSED.has(name))
    return new SecretError(denied, `${what} is refused by AWS (${words}); ${needs}`);
  const todo =
    words === NO_REGION ? "give its region" : "see the network, the region and AWS's endpoint there";
  return new SecretError(unavailable, `${what} cannot be had (${words}); ${todo}`);
}

/** The words of core/aws-credentials.ts, which functions have no other use for. */
const CHAIN = "give this process AWS credentials, by its environment, a profile or a role";

const MISSING: ReadonlySet<string> = new Set([
  "ResourceNotFoundException",
  "ParameterNotFound",
  "ParameterVersionNotFound",
  // Of a secret that is to be deleted.
  "InvalidRequestException",
]);

/** The key that a secret is encrypted with may not be used. */
const KEY_REFUSED: ReadonlySet<string> = new Set([
  "DecryptionFailure",
  "InvalidKeyId",
  "KMSAccessDeniedFault",
]);

const NO_REGION = "no region is known";
const MAX_WORDS = 300;

/** The code of an error, and what may be printed of it. */
function partsOf(error: unknown): { readonly name: string; readonly words: string } {
  if (!(error instanceof Error)) return { name: "", words: typeof error };
  const { name, message } = error;
  if (message === "Region is missing") return { name, words: NO_REGION };
  // Set on what a service has answered, and on nothing else.
  if (isAnswer(error) && message !== "")
    return { name, words: `${name}: ${message.split("\n", 1)[0]}`.slice(0, MAX_WORDS) };
  const code: unknown = Reflect.get(error, "code");
  return { name, words: typeof code === "string" ? `${name} ${code}` : name };
}

/** Whether a service has understood what it was sent, and says in a few words why it does not do it. */
function isAnswer(error: Error): boolean {
  const { $fault, $metadata } = error as Error & {
    readonly $fault?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode ?? 0;
  return $fault !== undefined && status >= 400 && status < 500;
}

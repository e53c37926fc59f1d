import type { ApiError } from "#clouds/http/classify.ts";
import type { Outcome } from "#clouds/http/outcome.ts";

type Secrets = Pick<Signature, "secrets">;

/** Redacts secrets in a fault's message, in case a server repeats the request. */
export function redactOutcome<Value>(outcome: Outcome<Value>, signature: Secrets): Outcome<Value> {
  if (outcome.kind === "ok") return outcome;
  return {
    kind: "fault",
    fault: { ...outcome.fault, message: redactText(outcome.fault.message, signature) },
  };
}

/** Redacts secrets in an error message. Call it before truncating: a truncated secret no longer matches. */
export function redactError(error: ApiError | undefined, signature: Secrets): ApiError | undefined {
  return error?.message === undefined ? error : { ...error, message: redactText(error.message, signature) };
}

function redactText(text: string, { secrets }: Secrets): string {
  return secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), text);
}

/** Headers that identify the sender, and the texts in them that must never be repeated; no text is empty. */
export interface Signature {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

import type { Signature } from "#clouds/http/api.ts";
import type { CloudError } from "#clouds/http/classify.ts";
import type { Outcome } from "#clouds/http/outcome.ts";

type Secrets = Pick<Signature, "secrets">;

/** Should a server repeat what it was sent, its words are not passed on. */
export function withoutSecrets<Value>(outcome: Outcome<Value>, signature: Secrets): Outcome<Value> {
  if (outcome.kind === "ok") return outcome;
  return { kind: "fault", fault: { ...outcome.fault, message: blotted(outcome.fault.message, signature) } };
}

/** The same of an error before its words are cut: half a secret would not be known as one. */
export function hushed(error: CloudError | undefined, signature: Secrets): CloudError | undefined {
  return error?.message === undefined ? error : { ...error, message: blotted(error.message, signature) };
}

function blotted(words: string, { secrets }: Secrets): string {
  return secrets.reduce((said, secret) => said.replaceAll(secret, "…"), words);
}

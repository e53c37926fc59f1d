import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import { AWS_CREDENTIALS } from "#core/aws-credentials.ts";
import type { Reason } from "#core/reason.ts";

/** Time limit of the answer, in milliseconds; nothing runs for it. */
const TIMEOUT_MS = 10_000;

/**
 * Asks Lambda whether a function exists and may be invoked, without invoking it. Returns undefined if it may.
 * Never rejects.
 */
export async function checkInvocable(
  client: LambdaClient,
  functionName: string,
  signal: AbortSignal,
): Promise<Reason | undefined> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const command = new InvokeCommand({ FunctionName: functionName, InvocationType: "DryRun" });
    await client.send(command, { abortSignal: AbortSignal.any([signal, deadline]) });
    return undefined;
  } catch (error) {
    const words = deadline.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : describeError(error);
    return parseReason(words, functionName);
  }
}

interface RejectionAdvice {
  readonly code: string;
  /** Matches the name of the SDK's error, or for some the beginning of its message. */
  readonly words: RegExp;
  /** What to do. */
  readonly advice: string;
}

const REFUSALS: readonly RejectionAdvice[] = [
  { code: "RegionMissing", words: /^Error: Region is missing/, advice: "give --region or set AWS_REGION" },
  {
    code: "CredentialsMissing",
    ...AWS_CREDENTIALS.missing,
  },
  {
    code: "CredentialsRefused",
    ...AWS_CREDENTIALS.refused,
  },
  {
    code: "FunctionMissing",
    words: /^ResourceNotFoundException: /,
    advice: "check --function-prefix or --function-arn, --region, and that it is deployed to this account",
  },
  {
    code: "Denied",
    words: /^AccessDenied/,
    advice: "allow lambda:InvokeFunction on it to this process's identity",
  },
];

const OTHERWISE: Omit<RejectionAdvice, "words"> = {
  code: "Unreachable",
  advice: "check the network, --region and, where it is set, AWS_ENDPOINT_URL_LAMBDA",
};

/**
 * Errors that only a platform returns that has the function and allows the invocation. One is throttling,
 * which comes after the permission check. The other is serverless-offline's error that dry runs are not
 * supported, which it returns only for existing functions.
 */
const INVOCABLE =
  /^(TooManyRequestsException|ThrottlingException|InvalidParameterValueException: invocationType: 'DryRun' not supported)\b/;

const MAX_WORDS = 300;

function parseReason(words: string, functionName: string): Reason | undefined {
  if (INVOCABLE.test(words)) return undefined;
  const { code, advice } = REFUSALS.find((refusal) => refusal.words.test(words)) ?? OTHERWISE;
  return { code, message: `function ${functionName}: ${words.slice(0, MAX_WORDS)} (${advice})` };
}

function describeError(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `${name}: ${message}`;
}

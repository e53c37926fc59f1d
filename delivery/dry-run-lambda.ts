import { InvokeCommand, type LambdaClient } from "@aws-sdk/client-lambda";
import { AWS_CREDENTIALS } from "#core/aws-credentials.ts";

/** Why a function cannot be invoked. */
export interface PlatformFault {
  /** Stable: `RegionMissing`, `CredentialsMissing`, `CredentialsRefused`, `FunctionMissing`, `Denied`, `Unreachable`. */
  readonly code: string;
  /** Which function, the platform's words, and what to do. */
  readonly message: string;
}

/** Longest time until an answer, in milliseconds; nothing runs for it. */
const TIMEOUT_MS = 10_000;

/** Asks Lambda whether a function is there and may be invoked, without invoking it; undefined where it may. Never rejects. */
export async function dryRunLambda(
  client: LambdaClient,
  functionName: string,
  signal: AbortSignal,
): Promise<PlatformFault | undefined> {
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const command = new InvokeCommand({ FunctionName: functionName, InvocationType: "DryRun" });
    await client.send(command, { abortSignal: AbortSignal.any([signal, deadline]) });
    return undefined;
  } catch (error) {
    const words = deadline.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : wordsOf(error);
    return faultOf(words, functionName);
  }
}

interface Refusal {
  readonly code: string;
  /** The name of what the SDK throws, or for some the beginning of its message. */
  readonly words: RegExp;
  /** What to do. */
  readonly advice: string;
}

const REFUSALS: readonly Refusal[] = [
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

const OTHERWISE: Omit<Refusal, "words"> = {
  code: "Unreachable",
  advice: "check the network, --region and, where it is set, AWS_ENDPOINT_URL_LAMBDA",
};

/**
 * What only a platform says that has the function and lets it be invoked: too much at a time, which comes after rights; and that
 * it knows no dry runs, which serverless-offline says of functions that are there alone.
 */
const INVOCABLE =
  /^(TooManyRequestsException|ThrottlingException|InvalidParameterValueException: invocationType: 'DryRun' not supported)\b/;

const MAX_WORDS = 300;

function faultOf(words: string, functionName: string): PlatformFault | undefined {
  if (INVOCABLE.test(words)) return undefined;
  const { code, advice } = REFUSALS.find((refusal) => refusal.words.test(words)) ?? OTHERWISE;
  return { code, message: `function ${functionName}: ${words.slice(0, MAX_WORDS)} (${advice})` };
}

function wordsOf(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return `${name}: ${message}`;
}

import { startLambda } from "#emulators/lambda/server.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { createEnvironments } from "#test/platforms/contract/environments.ts";
import {
  type GateAnswer,
  type GatedRequest,
  startInvocationGate,
} from "#test/platforms/contract/http-gate.ts";
import {
  type Caller,
  FUNCTION,
  type PlatformOptions,
  type PlatformUnderTest,
  type RunningPlatform,
} from "#test/platforms/contract/platform.ts";
import { isRequestSignedWith, readCredential, type SigningKey } from "#test/sts/is-signed-with.ts";

/** AWS Lambda: the emulated Invoke API, with execution environments that are processes. */
export const lambda: PlatformUnderTest = {
  name: "lambda",
  title: "AWS Lambda: the emulated Invoke API, each execution environment a process of its own",
  skipped: {},
  start,
};

const REGION = "eu-central-1";
const PREFIX = "contract-";

/** How long an environment may start: its start is no part of the function's time. */
const START_TIMEOUT_MS = 60_000;

const PERMITTED: SigningKey = { accessKeyId: "AKIAPERMITTED", secretAccessKey: "permitted" };
/** A key that Lambda knows, and that may not invoke. */
const UNAUTHORIZED: SigningKey = { accessKeyId: "AKIAUNAUTHORIZED", secretAccessKey: "unauthorized" };

/** With what each caller signs. A signature's audience is its region. */
const CALLERS: Readonly<Record<Caller, { readonly key: SigningKey; readonly region: string }>> = {
  permitted: { key: PERMITTED, region: REGION },
  unauthenticated: { key: { ...PERMITTED, secretAccessKey: "another" }, region: REGION },
  "for another audience": { key: PERMITTED, region: "us-east-1" },
  unauthorized: { key: UNAUTHORIZED, region: REGION },
};

async function start(options: PlatformOptions): Promise<RunningPlatform> {
  const { clustersFile, environment, build, concurrency } = options;
  const environments = createEnvironments({
    folder: build.folder,
    variables: { ...environment, CLUSTERS_FILE: clustersFile },
    timeoutMs: FUNCTION_TIMEOUT_MS,
  });
  const server = await startLambda({
    functions: { [PREFIX + FUNCTION]: (event, context) => environments.invoke(FUNCTION, event, context) },
    timeoutMs: START_TIMEOUT_MS + FUNCTION_TIMEOUT_MS,
    concurrency,
  });
  const gate = await startInvocationGate({
    target: async () => server.url,
    check: checkSignature,
    refusal: UNAVAILABLE,
  });
  const invoker = createLambdaInvoker({
    functionName: () => PREFIX + FUNCTION,
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
    maxInFlight: 10,
    client: { endpoint: gate.url, region: REGION, credentials: PERMITTED },
  });
  return {
    ...gate,
    relay: (caller) => ({
      flags: ["relay", "--clusters-file", clustersFile, "--function-prefix", PREFIX],
      environment: buildRelayEnvironment(gate.url, CALLERS[caller].key, CALLERS[caller].region),
    }),
    invoke: (event) => invoker.invoke(event, new AbortController().signal),
    findProcess: environments.findProcess,
    counts: environments.counts,
    scaleToZero: () => environments.renew(),
    rollOver: (next) => environments.renew(next.folder),
    close: async () => {
      await gate.close();
      await environments.close();
      await server.close();
      await invoker.close();
    },
  };
}

/** Returns what a relay needs to reach an Invoke API. */
export function buildRelayEnvironment(
  url: string,
  { accessKeyId, secretAccessKey }: SigningKey,
  region = REGION,
): Readonly<Record<string, string>> {
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_ENDPOINT_URL_LAMBDA: url,
  };
}

/** Lambda's answer while it cannot start a function. */
export const UNAVAILABLE = buildError(503, "ServiceUnavailableException", "Service Unavailable");

/** Checks a request as Lambda's front door does, by Signature Version 4. */
function checkSignature(request: GatedRequest): GateAnswer | undefined {
  const credential = readCredential(request);
  if (credential === undefined)
    return buildError(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  const key = [PERMITTED, UNAUTHORIZED].find(({ accessKeyId }) => accessKeyId === credential.accessKeyId);
  if (key === undefined)
    return buildError(
      403,
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
    );
  if (!isRequestSignedWith(request, key))
    return buildError(403, "InvalidSignatureException", "The request signature does not match.");
  if (credential.region !== REGION)
    return buildError(403, "InvalidSignatureException", "Credential should be scoped to a valid region.");
  if (key === PERMITTED) return undefined;
  const message = "User is not authorized to perform: lambda:InvokeFunction";
  return buildError(403, "AccessDeniedException", message);
}

function buildError(status: number, type: string, Message: string): GateAnswer {
  const body = Buffer.from(JSON.stringify({ Type: "User", Message }));
  return { status, headers: { "content-type": "application/json", "x-amzn-errortype": type }, body };
}

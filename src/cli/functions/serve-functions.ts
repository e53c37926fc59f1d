import type { FunctionsSettings } from "#cli/functions/functions-settings.ts";
import { loadServedFunctions } from "#cli/functions/served-functions.ts";
import { createFunctionInvoker } from "#cli/relay/function-access.ts";
import { readFunctionNames } from "#cli/relay/function-names.ts";
import { DRAIN_TIMEOUT_MS, log, toListenError, watchEndingSignals } from "#cli/relay/serve.ts";
import type { Environment } from "#clouds/provider.ts";
import { createAuthentication } from "#platforms/http/authentication.ts";
import { http } from "#platforms/http/platform.ts";
import { startFunctionServer } from "#platforms/http/server.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";

/**
 * Serves functions until SIGTERM or SIGINT, and then lets what is in flight finish; a second signal ends it at once.
 */
export async function serveFunctions(settings: FunctionsSettings, environment: Environment): Promise<void> {
  const { authentication, bindAddress, port, invoked } = settings;
  // Before the first output: its reader may end the process at once.
  const { first, second } = watchEndingSignals();
  const invoker =
    invoked &&
    createFunctionInvoker(
      { flags: invoked, functionName: readFunctionNames(invoked, []), platform: http, region: undefined },
      environment,
    );
  const { functions, webhooks } = await loadServedFunctions(settings.functions, environment, invoker);
  const server = await startFunctionServer({
    ...{ functions, webhooks, bindAddress, port, readTls: settings.readTls, log },
    authenticate: authentication && createAuthentication(authentication),
    concurrency: settings.concurrency,
    functionTimeoutMs: FUNCTION_TIMEOUT_MS,
  }).catch((error: unknown) => {
    throw toListenError(error, bindAddress, port);
  });
  log({ level: "info", event: "Serving", url: server.url, functions: settings.functions });
  if (authentication === undefined)
    log({
      level: "warn",
      event: "Unauthenticated",
      message:
        "every program on this machine can invoke the functions: give --token-file for more than a trial",
    });
  const signal = await first;
  log({ level: "info", event: "Draining", signal });
  const finished = await server.drain(AbortSignal.any([AbortSignal.timeout(DRAIN_TIMEOUT_MS), second]));
  log({ level: finished ? "info" : "warn", event: "Drained", finished });
  await Promise.all([server.close(), invoker?.close()]);
  // Cached connections to API servers and clouds would keep the process alive.
  process.exit(0);
}

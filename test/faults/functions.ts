import { fileURLToPath } from "node:url";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { WATCHES } from "#core/controllers.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type ManagedProcess, startProcess } from "#emulators/harness/managed-process.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { groupByFunction, loadControllers } from "#functions/parts/controllers.ts";
import type { PlatformFunction } from "#functions/parts/platform-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { FunctionAnswer, RunFunction } from "#test/faults/platform.ts";

/** The prefix of deployed functions' names. */
export const FUNCTION_PREFIX = "faults-";

/** A deployed function's own timeout. */
export const FUNCTION_TIMEOUT_MS = 30_000;

/** The dependencies of functions in this process. */
export interface FunctionParts {
  readonly cluster: Cluster;
  readonly cloud: Cloud;
  api(controller: string): Promise<Transport>;
  now(): Date;
}

/** Returns the name under which a controller's function is invoked. */
export function getFunctionName(controller: string): string {
  const watch = WATCHES.find(({ name }) => name === controller);
  return `${FUNCTION_PREFIX}${watch?.functionName ?? controller}`;
}

/**
 * Creates the functions of a cluster's controllers in this process, one warm environment for each identity.
 */
export async function createInProcessFunctions(parts: FunctionParts): Promise<RunFunction> {
  const controllers = await loadControllers(parts.cluster.controllers);
  const handlers = new Map(
    [...groupByFunction(controllers)].map(([functionName, carried]): [string, PlatformFunction] => {
      const handler = createControllerFunction(carried, {
        clusters: async () => parts.cluster,
        cloud: async () => parts.cloud,
        api: () => parts.api(carried[0]?.name ?? functionName),
        now: parts.now,
      });
      return [`${FUNCTION_PREFIX}${functionName}`, handler];
    }),
  );
  return async (functionName, payload) => {
    const handler = handlers.get(functionName);
    if (handler === undefined) throw new Error(`no function is called ${functionName}`);
    const deadline = performance.now() + FUNCTION_TIMEOUT_MS;
    const context = {
      awsRequestId: "faults",
      getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
    };
    try {
      return { ...OK, body: JSON.stringify(await handler(JSON.parse(payload), context)) };
    } catch (error) {
      const body = JSON.stringify({ errorType: "Error", errorMessage: getErrorMessage(error) });
      return { ...OK, headers: { "x-amz-function-error": "Unhandled" }, body };
    }
  };
}

const OK: Omit<FunctionAnswer, "body"> = { status: 200, headers: {} };

/** Deployed functions in their own process, which can be killed in the middle of a write. */
export interface FunctionProcess {
  readonly process: ManagedProcess;
  readonly run: RunFunction;
}

const PROGRAM = fileURLToPath(new URL("function-process.ts", import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** Starts the functions as a deployment does: from their environment alone. Resolves when they can be invoked. */
export async function startFunctionProcess(
  environment: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
): Promise<FunctionProcess> {
  const child = startProcess(process.execPath, [...nodeFlags, PROGRAM], {
    environment: { PATH: process.env["PATH"], ...environment },
  });
  const deadline = performance.now() + START_TIMEOUT_MS;
  let url: string | undefined;
  while (url === undefined) {
    url = /listening on (\S+)/.exec(child.output())?.[1];
    if (child.hasExited() || performance.now() > deadline) {
      await child.stop("SIGKILL");
      throw new Error(`the functions did not start: ${child.output()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const base = `${url}/2015-03-31/functions`;
  return {
    process: child,
    run: async (functionName, body) => {
      const answer = await fetch(`${base}/${functionName}/invocations`, { method: "POST", body });
      const error = answer.headers.get("x-amz-function-error");
      const headers: Record<string, string> = error === null ? {} : { "x-amz-function-error": error };
      return { status: answer.status, headers, body: await answer.text() };
    },
  };
}

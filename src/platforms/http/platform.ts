import { createHttpInvoker } from "#platforms/http/invoker.ts";
import { FUNCTION_TIMEOUT_MS } from "#platforms/invoker.ts";
import type { FunctionPlatform } from "#platforms/platform.ts";

/**
 * Functions behind URLs, wherever they run: `serverless-ccm functions`, as a process, a container or a Service of
 * Knative. A function is named by its URL.
 */
export const http: FunctionPlatform = {
  name: "http",
  async findRegion(given) {
    if (given === undefined) return undefined;
    throw new Error("is for AWS Lambda: functions over HTTP have a URL and no region; leave it out");
  },
  createInvoker: ({ functionName, maxInFlight, access }) =>
    createHttpInvoker({
      ...{ functionUrl: functionName, maxInFlight, functionTimeoutMs: FUNCTION_TIMEOUT_MS },
      ...(access === undefined ? {} : { access }),
    }),
};

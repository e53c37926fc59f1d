import { getErrorMessage } from "#core/error-message.ts";
import type { ControllerName } from "#core/event.ts";
import { Report } from "#core/report.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";

/** The part of Lambda's context that our functions use. */
export interface FunctionContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/**
 * A function as the platform sees it: JSON in, JSON out. An error that it throws means a failed invocation.
 */
export type FunctionHandler = (event: unknown, context: FunctionContext) => Promise<unknown>;

/** The functions by their controllers; a `Map` implements it. */
export interface FunctionsByController {
  get(controller: ControllerName): FunctionHandler | undefined | Promise<FunctionHandler | undefined>;
}

/**
 * Creates an invoker that runs the functions in this process by the platform's rules: it passes JSON, each
 * invocation has `timeoutMs`, and a thrown error becomes a `FunctionError`. A function that exceeds the limit
 * ends by its own deadline, and its objects stay in flight until then.
 */
export function createInProcessInvoker(functions: FunctionsByController, timeoutMs: number): Invoker {
  let invocations = 0;
  return {
    async invoke(event): Promise<Invocation> {
      invocations += 1;
      const deadline = performance.now() + timeoutMs;
      const context: FunctionContext = {
        awsRequestId: `in-process-${invocations}`,
        getRemainingTimeInMillis: () => Math.max(0, deadline - performance.now()),
      };
      try {
        const invoked = await functions.get(event.controller);
        if (invoked === undefined) return buildMissingInvocation(event.controller);
        const answer = await invoked(JSON.parse(JSON.stringify(event)), context);
        return parseInvocation(answer);
      } catch (error) {
        const message = getErrorMessage(error);
        return { kind: "failed", code: "FunctionError", message, settleMs: 0 };
      }
    },
    close: () => Promise.resolve(),
  };
}

function buildMissingInvocation(controller: ControllerName): Invocation {
  const message = `no function of this process carries out ${controller}`;
  return { kind: "failed", code: "Denied", message, settleMs: 0 };
}

function parseInvocation(answer: unknown): Invocation {
  const parsed = Report.safeParse(answer);
  if (parsed.success) return { kind: "report", report: parsed.data };
  return { kind: "failed", code: "BadReport", message: parsed.error.message.slice(0, 500), settleMs: 0 };
}

import type { ControllerName } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";
import { Report } from "#core/report.ts";
import type { Invocation, Invoker } from "#delivery/invoker.ts";

/** What a function sees of its platform; the part of Lambda's context that ours use. */
export interface FunctionContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** A function as the platform sees it: JSON in, JSON out; a throw is a failed invocation. */
export type FunctionHandler = (event: unknown, context: FunctionContext) => Promise<unknown>;

/** The functions by their controllers; a `Map` is one. */
export interface FunctionsByController {
  get(controller: ControllerName): FunctionHandler | undefined | Promise<FunctionHandler | undefined>;
}

/**
 * An invoker that runs the functions in this process, under the platform's own rules: what passes is JSON, each
 * invocation has `timeoutMs`, and a throw is a `FunctionError`. A function that overruns is left to end by itself, as
 * the deadline inside it makes it do, and its objects stay in flight until then.
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
        if (invoked === undefined) return missing(event.controller);
        const answer = await invoked(JSON.parse(JSON.stringify(event)), context);
        return invocationOf(answer);
      } catch (error) {
        const message = messageOf(error);
        return { kind: "failed", code: "FunctionError", message, settleMs: 0 };
      }
    },
    close: () => Promise.resolve(),
  };
}

function missing(controller: ControllerName): Invocation {
  const message = `no function of this process carries out ${controller}`;
  return { kind: "failed", code: "Denied", message, settleMs: 0 };
}

function invocationOf(answer: unknown): Invocation {
  const parsed = Report.safeParse(answer);
  if (parsed.success) return { kind: "report", report: parsed.data };
  return { kind: "failed", code: "BadReport", message: parsed.error.message.slice(0, 500), settleMs: 0 };
}

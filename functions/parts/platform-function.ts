import type { Context } from "aws-lambda";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import type { FunctionContext } from "#functions/parts/deadline.ts";

/** A function as a platform calls it, Lambda or an invoker in the same process; rejects with `EventRejected`. */
export type PlatformFunction = (event: unknown, context: FunctionContext) => Promise<Report>;

/**
 * Gives a middy handler the shape that every platform can call. Its first middleware makes an `Event` of what comes in, and
 * of the context it reads no more than `FunctionContext` has: so both can go as what middy's types ask for.
 */
export function platformFunction(
  handler: (event: Event, context: Context) => Promise<Report>,
): PlatformFunction {
  // Two parameters, by name: Lambda on Node 24 refuses functions that could be taking a callback.
  return (event, context) => handler(event as Event, context as Context);
}

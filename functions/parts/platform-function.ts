import type { Context } from "aws-lambda";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import type { FunctionContext } from "#functions/parts/deadline.ts";

/**
 * The handler that a platform calls: Lambda or an invoker in the same process. Rejects with `EventRejected`.
 */
export type PlatformFunction = (event: unknown, context: FunctionContext) => Promise<Report>;

/**
 * Converts a middy handler to the signature that every platform calls. Its first middleware turns the input
 * into an `Event` and reads only the fields of `FunctionContext`, so both can be cast to the types of middy.
 */
export function createPlatformFunction(
  handler: (event: Event, context: Context) => Promise<Report>,
): PlatformFunction {
  // Exactly two parameters: Lambda on Node 24 refuses functions that could take a callback.
  return (event, context) => handler(event as Event, context as Context);
}

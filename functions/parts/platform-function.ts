import type { Context } from "aws-lambda";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";

/**
 * Milliseconds before the platform's end at which no new work starts; half of them are for requests in
 * flight.
 */
const RESERVE_MS = 1_000;

/** The part of Lambda's context that our functions use. */
export interface FunctionContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
  /** Its account is the function's own; undefined on platforms without ARNs. */
  readonly invokedFunctionArn?: string;
  /** Lets an invoker in the same process end the work earlier. */
  readonly signal?: AbortSignal;
}

/** The end of an invocation. */
export interface Deadline {
  /** When it is aborted, no new request starts. */
  readonly signal: AbortSignal;
  /** Milliseconds to await requests in flight after that. */
  readonly settleMs: number;
}

/**
 * Creates the deadline of an invocation, one second before the platform's: later writes would be frozen or
 * lost, and a late answer has no effect.
 */
export function createDeadline(context: FunctionContext): Deadline {
  const leftMs = context.getRemainingTimeInMillis() - RESERVE_MS;
  // A timer of 0 ms fires one turn late, after the first requests were sent.
  const timeout = leftMs > 0 ? AbortSignal.timeout(Math.floor(leftMs)) : AbortSignal.abort();
  const signal = context.signal ? AbortSignal.any([timeout, context.signal]) : timeout;
  return { signal, settleMs: RESERVE_MS / 2 };
}

/**
 * The handler that a platform calls: Lambda or an invoker in the same process. Rejects with `EventRejected`.
 */
export type PlatformFunction = (event: unknown, context: FunctionContext) => Promise<Report>;

/**
 * Converts a middy handler to the signature that every platform calls. Its first middleware turns the input
 * into an `Event`, and reads only the fields of `FunctionContext`. So both can be cast to the types of middy.
 */
export function createPlatformFunction(
  handler: (event: Event, context: Context) => Promise<Report>,
): PlatformFunction {
  // Exactly two parameters: Lambda on Node 24 refuses functions that could take a callback.
  return (event, context) => handler(event as Event, context as Context);
}

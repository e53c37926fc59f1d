/** Milliseconds before the platform's own end at which no new work starts; half of them is for what is in flight. */
const RESERVE_MS = 1_000;

/** What a function sees of its platform: the part of Lambda's context that ours use. */
export interface FunctionContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
  /** Its account is the function's own; undefined where no platform has one. */
  readonly invokedFunctionArn?: string;
  /** An invoker in the same process may end the work earlier. */
  readonly signal?: AbortSignal;
}

/** When to stop. */
export interface Deadline {
  /** Once aborted, no request starts any more. */
  readonly signal: AbortSignal;
  /** Milliseconds for which requests in flight are awaited after that. */
  readonly settleMs: number;
}

/**
 * The deadline of this invocation, a second before the platform's: what is written after the answer would be frozen or
 * lost, and an answer that comes too late is none.
 */
export function deadlineOf(context: FunctionContext): Deadline {
  const leftMs = context.getRemainingTimeInMillis() - RESERVE_MS;
  // A timer of 0 ms fires a turn too late: by then the first requests would be out.
  const timeout = leftMs > 0 ? AbortSignal.timeout(Math.floor(leftMs)) : AbortSignal.abort();
  const signal = context.signal ? AbortSignal.any([timeout, context.signal]) : timeout;
  return { signal, settleMs: RESERVE_MS / 2 };
}

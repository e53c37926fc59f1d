import { getErrorMessage } from "#core/error-message.ts";
import type { Event } from "#core/event.ts";
import { ABANDONED, type Invocation, type Invoker } from "#delivery/invoker.ts";

/** Invokes, and stops waiting for the answer when the signal fires. Never rejects. */
export async function invokeUntil(
  invoker: Pick<Invoker, "invoke">,
  event: Event,
  signal: AbortSignal,
): Promise<Invocation> {
  let onAbort = (): void => {};
  const abandoned = new Promise<Invocation>((resolve) => {
    onAbort = () => resolve(createFailure(ABANDONED, "the caller no longer waits"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([invoker.invoke(event, signal), abandoned]);
  } catch (error) {
    // An invoker that violates its contract costs one batch a retry and does not end the relay.
    return createFailure("InvokerFault", getErrorMessage(error));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function createFailure(code: string, message: string): Invocation {
  return { kind: "failed", code, message, settleMs: 0 };
}

import type { Event } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";
import { ABANDONED, type Invocation, type Invoker } from "#delivery/invoker.ts";

/** Invokes, and waits for no answer any more once the signal fires. Never rejects. */
export async function invokeUntil(
  invoker: Pick<Invoker, "invoke">,
  event: Event,
  signal: AbortSignal,
): Promise<Invocation> {
  let onAbort = (): void => {};
  const abandoned = new Promise<Invocation>((resolve) => {
    onAbort = () => resolve(failed(ABANDONED, "nobody waits for it any more"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([invoker.invoke(event, signal), abandoned]);
  } catch (error) {
    // An invoker that breaks its word costs one batch one retry, not the relay its life.
    return failed("InvokerFault", messageOf(error));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function failed(code: string, message: string): Invocation {
  return { kind: "failed", code, message, settleMs: 0 };
}

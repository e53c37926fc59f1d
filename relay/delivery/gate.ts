import type { Event } from "#core/event.ts";
import { messageOf } from "#core/message-of.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { createFunctionGate, type FunctionGate } from "#relay/delivery/function-gate.ts";
import { ABANDONED, type Invocation, type Invoker } from "#relay/delivery/invoker.ts";

/** Leave for one invocation; it is over when that is, or when it is left. */
export interface Passage extends Pick<Invoker, "invoke"> {
  /** There is nothing to send after all. */
  leave(): void;
}

/**
 * Stands before an invoker for all clusters together. What the platform refuses (too many at once, unreachable, denied) is
 * waited out here, once for everybody; those that wait keep what they have to send, and batches stay whole.
 */
export interface Gate {
  /**
   * Leave for one invocation of a controller's function; where there is none now, `waiter` stands in the queue, and is called
   * when it is its turn: then it asks again at once, or has no use for it.
   */
  enter(controller: string, waiter: () => void): Passage | undefined;
  /** Takes a waiter out of all queues. */
  forget(waiter: () => void): void;
}

export interface GateOptions {
  readonly invoker: Pick<Invoker, "invoke">;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * A gate for each function, as the platform refuses by function: one that is missing or has used up its own concurrency
 * stops no other, and a limit that they share is met by each of them.
 */
export function createGate({ invoker, clock, random }: GateOptions): Gate {
  const gates = new Map<string, FunctionGate>();

  function gateOf(controller: string): FunctionGate {
    const gate = gates.get(controller) ?? createFunctionGate(clock, random);
    gates.set(controller, gate);
    return gate;
  }

  return {
    enter(controller, waiter) {
      const place = gateOf(controller).enter(waiter);
      if (place === undefined) return undefined;
      return {
        leave: () => place.leave(),
        async invoke(event, signal) {
          const invocation = await invokeUntil(invoker, event, signal);
          place.ended(invocation);
          return invocation;
        },
      };
    },
    forget(waiter) {
      for (const gate of gates.values()) gate.forget(waiter);
    },
  };
}

/** Invokes, and gives up as soon as the signal fires: nobody waits for what is left to itself then. */
async function invokeUntil(
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

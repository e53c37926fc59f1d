import type { Event } from "#core/event.ts";
import type { Clock } from "#kube/follow/clock.ts";
import { type Invocation, type Invoker, isRefusal, readPlatformSign } from "#platforms/invoker.ts";
import type { PlatformHealth } from "#relay/delivery/platform-health.ts";

export interface FallbackOptions {
  readonly health: PlatformHealth;
  readonly clock: Pick<Clock, "now">;
  /** Called for each event that is kept from the platform. */
  readonly onEvent: (event: Event) => void;
}

/**
 * Creates an invoker that uses the platform while it works and `inProcess` while it fails.
 *
 * If the platform may have begun an invocation, its answer and `settleMs` stay: those objects wait until the
 * function has certainly ended, then become due again.
 */
export function createFallbackInvoker(
  invoker: Invoker,
  inProcess: Invoker,
  options: FallbackOptions,
): Invoker {
  const { health, clock } = options;

  function handle(event: Event, signal: AbortSignal): Promise<Invocation> {
    options.onEvent(event);
    return inProcess.invoke(event, signal);
  }

  return {
    async invoke(event, signal) {
      const { controller, cluster, clusterHash } = event;
      if (health.isFailing(controller)) return handle(event, signal);
      const beganMs = clock.now();
      const invocation = await invoker.invoke(event, signal);
      if (signal.aborted) return invocation;
      const sign = readPlatformSign(invocation);
      if (sign === "answers") health.answered(controller);
      if (invocation.kind === "report" || sign === undefined || sign === "answers") return invocation;
      const { code, message } = invocation;
      health.failed({ controller, cluster, clusterHash, sign, code, message, beganMs });
      // A refused invocation never began, so no function can be writing.
      return isRefusal(invocation) && health.isFailing(controller) ? handle(event, signal) : invocation;
    },
    close: async () => void (await Promise.all([invoker.close(), inProcess.close()])),
  };
}

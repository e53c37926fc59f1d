import type { Event } from "#core/event.ts";
import { type Invocation, type Invoker, isRefusal } from "#delivery/invoker.ts";
import { platformSignOf } from "#delivery/platform-failure.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { PlatformHealth } from "#relay/delivery/platform-health.ts";

export interface FallbackOptions {
  readonly health: PlatformHealth;
  readonly clock: Pick<Clock, "now">;
  /** Told of each event that the platform does not get. */
  readonly onEvent: (event: Event) => void;
}

/**
 * The invoker while its platform is well, and `inProcess` while it fails. What the platform may have begun stays as it was answered, with
 * its `settleMs`: those objects wait until nobody can be writing any more, and come again then.
 */
export function withFallback(invoker: Invoker, inProcess: Invoker, options: FallbackOptions): Invoker {
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
      const sign = platformSignOf(invocation);
      if (sign === "answers") health.answered(controller);
      if (invocation.kind === "report" || sign === undefined || sign === "answers") return invocation;
      const { code, message } = invocation;
      health.failed({ controller, cluster, clusterHash, sign, code, message, beganMs });
      // It was refused before it began: there is nobody who could be writing.
      return isRefusal(invocation) && health.isFailing(controller) ? handle(event, signal) : invocation;
    },
    close: async () => void (await Promise.all([invoker.close(), inProcess.close()])),
  };
}

import type { ControllerName } from "#core/event.ts";
import type { PlatformFailure, PlatformHealth } from "#relay/delivery/platform-health.ts";

/** What a worker tells of the platform: all workers together find out whether it fails. */
export type HealthFromWorker =
  | { readonly kind: "platform-failed"; readonly failure: PlatformFailure }
  | { readonly kind: "platform-answered"; readonly controller: ControllerName };

/** The health of the platform as a worker has it, which the main thread knows. */
export interface RemoteHealth extends PlatformHealth {
  /** The controllers whose functions fail, as the main thread says. */
  receive(failing: readonly ControllerName[]): void;
}

/** Creates it; `send` takes a message to the main thread. */
export function createRemoteHealth(send: (message: HealthFromWorker) => void): RemoteHealth {
  let failing: ReadonlySet<ControllerName> = new Set();
  return {
    isFailing: (controller) => failing.has(controller),
    failed: (failure) => send({ kind: "platform-failed", failure }),
    answered: (controller) => send({ kind: "platform-answered", controller }),
    receive(controllers) {
      failing = new Set(controllers);
    },
  };
}

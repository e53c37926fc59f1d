import type { ControllerName } from "#core/event.ts";
import type { PlatformFailure, PlatformHealth } from "#relay/delivery/platform-health.ts";

/** A worker's messages about the platform: all workers together detect whether it fails. */
export type HealthFromWorker =
  | { readonly kind: "platform-failed"; readonly failure: PlatformFailure }
  | { readonly kind: "platform-answered"; readonly controller: ControllerName };

/** A worker's view of the platform's health, which the main thread determines. */
export interface RemoteHealth extends PlatformHealth {
  /** Takes the controllers whose functions fail, from the main thread. */
  receive(failing: readonly ControllerName[]): void;
}

/** Creates the view; `send` sends a message to the main thread. */
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

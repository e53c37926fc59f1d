import { NODE_EVENT_SOURCE, NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import { csrWatch } from "#core/csr/watch.ts";
import type { ControllerName } from "#core/event.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";

/** The identity with which the relay writes a controller's decisions. */
export interface RelayWriter {
  readonly identity: FunctionIdentity;
  /** The `source.component` of the controller's Events. */
  readonly eventSource: string;
}

/**
 * The controllers whose decisions a relay can carry out: those that change only the cluster. A controller
 * that changes the cloud reads the cluster between its actions, which needs a function with access to it.
 */
const WRITTEN: Readonly<Record<ControllerName, RelayWriter>> = {
  [nodeWatch.name]: { identity: "node", eventSource: NODE_EVENT_SOURCE },
  [nodeLifecycleWatch.name]: { identity: "node-lifecycle", eventSource: NODE_LIFECYCLE_EVENT_SOURCE },
  [csrWatch.name]: { identity: "csr", eventSource: csrWatch.name },
};

/** The names of the controllers for which relays can write. */
export const WRITABLE_BY_RELAY: readonly ControllerName[] = Object.keys(WRITTEN);

/** Returns the identity with which the relay writes for a controller; undefined if it cannot. */
export function findRelayWriter(controller: ControllerName): RelayWriter | undefined {
  return Object.hasOwn(WRITTEN, controller) ? WRITTEN[controller] : undefined;
}

import { NODE_EVENT_SOURCE, NODE_LIFECYCLE_EVENT_SOURCE } from "#core/contracts.ts";
import { csrWatch } from "#core/csr/watch.ts";
import type { ControllerName } from "#core/event.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";

/** As whom the relay writes what a controller has decided. */
export interface WrittenAs {
  readonly identity: FunctionIdentity;
  /** The `source.component` of the controller's Events. */
  readonly eventSource: string;
}

/**
 * The controllers whose decisions a relay can carry out: those that change the cluster alone. One that changes the cloud reads the
 * cluster between its actions, which takes a function that reaches it.
 */
const WRITTEN: Readonly<Record<ControllerName, WrittenAs>> = {
  [nodeWatch.name]: { identity: "node", eventSource: NODE_EVENT_SOURCE },
  [nodeLifecycleWatch.name]: { identity: "node-lifecycle", eventSource: NODE_LIFECYCLE_EVENT_SOURCE },
  [csrWatch.name]: { identity: "csr", eventSource: csrWatch.name },
};

/** The names of these controllers. */
export const WRITABLE_BY_RELAY: readonly ControllerName[] = Object.keys(WRITTEN);

/** As whom the relay writes for a controller; undefined for one for which it cannot. */
export function writtenAs(controller: ControllerName): WrittenAs | undefined {
  return Object.hasOwn(WRITTEN, controller) ? WRITTEN[controller] : undefined;
}

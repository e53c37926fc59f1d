import { csrOperations } from "#core/csr/operations.ts";
import type { ControllerDescriptor, ControllerOperations } from "#core/descriptor.ts";
import { type ControllerFunctionName, DESCRIPTORS } from "#core/descriptors.ts";
import { nodeOperations } from "#core/node/operations.ts";
import { nodeLifecycleOperations } from "#core/node-lifecycle/operations.ts";
import { routeOperations } from "#core/route/operations.ts";
import { serviceOperations } from "#core/service/operations.ts";
import { taggingOperations } from "#core/tagging/operations.ts";

/** By function: what operators need of its controller; a new one is a line here. */
const BY_FUNCTION: Readonly<Record<ControllerFunctionName, ControllerOperations>> = {
  node: nodeOperations,
  "node-lifecycle": nodeLifecycleOperations,
  csr: csrOperations,
  service: serviceOperations,
  route: routeOperations,
  tagging: taggingOperations,
};

/** A controller as operators see it. */
export interface OperatedController extends Pick<ControllerDescriptor, "name">, ControllerOperations {
  readonly functionName: ControllerFunctionName;
}

/** Every controller with a name of its own, as operators see it, in listing order. */
export const OPERATED_CONTROLLERS: readonly OperatedController[] = DESCRIPTORS.map(
  ({ name, functionName }) => ({ name, functionName, ...BY_FUNCTION[functionName] }),
);

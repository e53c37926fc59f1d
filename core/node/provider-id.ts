import type { TestOperation } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { add, type Edit, formatPointer, NO_EDIT, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";
import type { Reason } from "#core/reason.ts";

/** Sets the provider ID if the node has none; neither Kubernetes nor this controller ever changes it. */
export function setProviderId(node: Node, instance: Instance): Edit {
  if (hasProviderId(node)) return NO_EDIT;
  const operations = [add(formatPointer("spec", "providerID"), instance.providerID)];
  return { tests: [testProviderIdUnchanged(node)], operations };
}

/**
 * Returns a test that the node still names the checked instance: an event may be old, or its sender wrong.
 */
export function testProviderIdUnchanged(node: Node): TestOperation {
  return test(formatPointer("spec", "providerID"), hasProviderId(node) ? node.spec.providerID : null);
}

/** Returns a warning if the node's provider ID differs from the cloud's. */
export function listProviderIdWarnings(node: Node, instance: Instance): Reason[] {
  if (!hasProviderId(node) || node.spec.providerID === instance.providerID) return [];
  const message = `the node keeps its provider ID ${node.spec.providerID}; the cloud's is ${instance.providerID}`;
  return [{ code: "ProviderIDDiffers", message }];
}

function hasProviderId(node: Node): boolean {
  return (node.spec.providerID ?? "") !== "";
}

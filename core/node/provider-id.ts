import type { Because, TestOperation } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { add, type Edit, NO_EDIT, pointer, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** Sets the provider ID where the node has none; Kubernetes does not let it change, and neither do we. */
export function setProviderId(node: Node, instance: Instance): Edit {
  if (hasProviderId(node)) return NO_EDIT;
  const operations = [add(pointer("spec", "providerID"), instance.providerID)];
  return { tests: [providerIdUnchanged(node)], operations };
}

/** A test that the node names the instance that was looked at: an event may say otherwise, by its age or by its sender's doing. */
export function providerIdUnchanged(node: Node): TestOperation {
  return test(pointer("spec", "providerID"), hasProviderId(node) ? node.spec.providerID : null);
}

/** A warning where the node's provider ID is not the cloud's. */
export function warningsOfProviderId(node: Node, instance: Instance): Because[] {
  if (!hasProviderId(node) || node.spec.providerID === instance.providerID) return [];
  const message = `the node keeps its provider ID ${node.spec.providerID}; the cloud's is ${instance.providerID}`;
  return [{ code: "ProviderIDDiffers", message }];
}

function hasProviderId(node: Node): boolean {
  return (node.spec.providerID ?? "") !== "";
}

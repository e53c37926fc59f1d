import type { Because } from "#core/decision.ts";
import type { Instance } from "#core/instance.ts";
import { add, type Edit, NO_EDIT, pointer, test } from "#core/json-patch.ts";
import type { Node } from "#core/node/node.ts";

/** Sets the provider ID where the node has none; Kubernetes does not let it change, and neither do we. */
export function setProviderId(node: Node, instance: Instance): Edit {
  if (hasProviderId(node)) return NO_EDIT;
  const path = pointer("spec", "providerID");
  return { tests: [test(path, null)], operations: [add(path, instance.providerID)] };
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

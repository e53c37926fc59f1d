import { isSelected, type Requirement } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { kindOf } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { annotationOf, readerOf } from "#clouds/oci/load-balancers/annotations/table.ts";
import type { BackendAddresses } from "#clouds/oci/load-balancers/bodies.ts";
import type { InstanceAddresses } from "#clouds/oci/load-balancers/state.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** The instance that a node is, where the Service sends to nodes with its labels; what its annotation says wrongly is told elsewhere. */
export function targetOfService(
  { providerID, labels }: TargetNode,
  { metadata: { annotations } }: Service,
): string | undefined {
  return isSelected(labels, selectorOf(annotations)) ? instanceOf(providerID) : undefined;
}

/** By the annotations of a Service: what a tenant writes is read once, not once for each node. */
const SELECTORS = new WeakMap<object, readonly Requirement[]>();

function selectorOf(annotations: Readonly<Record<string, string>> = {}): readonly Requirement[] {
  const known = SELECTORS.get(annotations);
  if (known !== undefined) return known;
  const written = annotations[annotationOf(kindOf(annotations), "nodeLabelSelector")]?.trim() ?? "";
  const read = written === "" ? undefined : readerOf("nodeLabelSelector")(written);
  // The reader of this annotation reads nothing else.
  const selector = read?.ok === true ? (read.value as readonly Requirement[]) : [];
  SELECTORS.set(annotations, selector);
  return selector;
}

/** The OCID of a node's instance. */
export function instanceOf(providerID: string | undefined): string | undefined {
  const id = providerID?.replace(/^oci:\/\//, "");
  return id !== undefined && /^ocid1\.instance\.[\w.-]{1,200}$/.test(id) ? id : undefined;
}

/** A backend set has room for so many. */
export const MAX_BACKENDS = 512;

/** Where the nodes of a question are reached, sorted, none twice; of more than there is room for the first ones. */
export function backendsOf(
  { nodes, service }: LoadBalancerQuestion,
  addresses: Readonly<Record<string, InstanceAddresses>>,
): BackendAddresses & { readonly isTooMany: boolean } {
  const known = nodes.flatMap((node) => addresses[targetOfService(node, service) ?? ""] ?? []);
  const all = {
    IPv4: known.flatMap(({ ipv4 }) => ipv4 ?? []),
    IPv6: known.flatMap(({ ipv6 }) => ipv6 ?? []),
  };
  const fitting = (each: readonly string[]): readonly string[] =>
    [...new Set(each)].sort().slice(0, MAX_BACKENDS);
  const isTooMany = Object.values(all).some((each) => new Set(each).size > MAX_BACKENDS);
  return { IPv4: fitting(all.IPv4), IPv6: fitting(all.IPv6), isTooMany };
}

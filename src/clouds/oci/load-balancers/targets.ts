import { isSelected, type Requirement } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { getLoadBalancerKind } from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { findAnnotation, getReader } from "#clouds/oci/load-balancers/annotations/table.ts";
import { type BackendAddresses, formatAddress } from "#clouds/oci/load-balancers/bodies.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import type { LoadBalancerQuestion, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/**
 * Returns the instance of a node if the Service's label selector matches it; an invalid annotation is
 * reported elsewhere.
 */
export function selectTarget(
  { providerID, labels }: TargetNode,
  { metadata: { annotations } }: Service,
): string | undefined {
  return isSelected(labels, readNodeSelector(annotations)) ? parseInstanceId(providerID) : undefined;
}

/** By the annotations object of a Service: a tenant's text is parsed once, not once for each node. */
const SELECTORS = new WeakMap<object, readonly Requirement[]>();

function readNodeSelector(annotations: Readonly<Record<string, string>> = {}): readonly Requirement[] {
  const cached = SELECTORS.get(annotations);
  if (cached !== undefined) return cached;
  const written =
    annotations[findAnnotation(getLoadBalancerKind(annotations), "nodeLabelSelector")]?.trim() ?? "";
  const read = written === "" ? undefined : getReader("nodeLabelSelector")(written);
  // This annotation has no other reader.
  const selector = read?.ok === true ? (read.value as readonly Requirement[]) : [];
  SELECTORS.set(annotations, selector);
  return selector;
}

/** Returns the OCID of a node's instance. */
export function parseInstanceId(providerID: string | undefined): string | undefined {
  const id = providerID?.replace(/^oci:\/\//, "");
  return id !== undefined && /^ocid1\.instance\.[\w.-]{1,200}$/.test(id) ? id : undefined;
}

/** The maximum of backends per set. */
export const MAX_BACKENDS = 512;

/**
 * Returns the distinct, sorted addresses of a question's nodes. Beyond the maximum, those that are backends
 * already have priority.
 */
export function selectBackends(
  { nodes, service }: LoadBalancerQuestion,
  { addresses, found }: Pick<OciState, "addresses" | "found">,
): BackendAddresses & { readonly isTooMany: boolean } {
  const backends = nodes.flatMap((node) => addresses[selectTarget(node, service) ?? ""] ?? []);
  const all = {
    IPv4: backends.flatMap(({ ipv4 }) => ipv4 ?? []),
    IPv6: backends.flatMap(({ ipv6 }) => ipv6 ?? []),
  };
  const registered = new Set(
    found.flatMap(({ balancer }) =>
      Object.values(balancer.backendSets ?? {}).flatMap((set) => (set.backends ?? []).map(formatAddress)),
    ),
  );
  const rank = (ipAddress: string): number => (registered.has(formatAddress({ ipAddress })) ? 0 : 1);
  const limitBackends = (each: readonly string[]): readonly string[] | undefined => {
    if (each.length === 0 && nodes.length > 0) return undefined;
    const distinct = [...new Set(each)].sort();
    if (distinct.length <= MAX_BACKENDS) return distinct;
    return distinct
      .sort((one, other) => rank(one) - rank(other))
      .slice(0, MAX_BACKENDS)
      .sort();
  };
  const isTooMany = Object.values(all).some((each) => new Set(each).size > MAX_BACKENDS);
  return { IPv4: limitBackends(all.IPv4), IPv6: limitBackends(all.IPv6), isTooMany };
}

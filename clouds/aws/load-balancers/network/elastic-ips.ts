import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { getAllowedResources } from "#clouds/aws/load-balancers/configuration.ts";
import type { NetworkContext } from "#clouds/aws/load-balancers/network/context.ts";
import { isAllowed } from "#clouds/aws/load-balancers/ownership.ts";
import type { Issue } from "#core/service/model.ts";

/**
 * Returns why Elastic IP addresses that the annotation names cannot be used. One may be missing or in use, as
 * far as that is known before creation. Or it is neither tagged as the cluster's nor allowed. Addresses that
 * the load balancer already has stay.
 */
export function checkElasticIps({ desired, owner, state, configuration }: NetworkContext): Issue | undefined {
  const ids = desired.annotations["eip-allocations"] ?? [];
  const { network, addresses = {} } = state;
  const attachedIds = new Set(
    network?.loadBalancer.AvailabilityZones?.flatMap(({ LoadBalancerAddresses: each = [] }) =>
      each.map(({ AllocationId }) => AllocationId),
    ),
  );
  const identity = { clusterTag: owner.clusterTag, allow: getAllowedResources(configuration) };
  const faults = ids.flatMap((id) => {
    if (attachedIds.has(id)) return [];
    const address = Object.hasOwn(addresses, id) ? addresses[id] : undefined;
    if (!isAllowed("elasticIPs", { id, tags: address?.tags }, identity))
      return [
        `${id} is neither tagged kubernetes.io/cluster/${owner.clusterTag} nor in cloud.allow.elasticIPs`,
      ];
    if (network !== undefined) return [];
    if (address === undefined) return [`${id} is not in this region and account`];
    return address.isInUse ? [`${id} is in use`] : [];
  });
  if (faults.length === 0) return undefined;
  return {
    code: "ElasticIPsNotUsable",
    field: formatAnnotationName("eip-allocations"),
    value: ids.join(","),
    detail: faults.join("; "),
  };
}

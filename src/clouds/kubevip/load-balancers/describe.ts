import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import type { PoolState } from "#clouds/kubevip/load-balancers/choose.ts";
import {
  ADDRESSES_ANNOTATION,
  INTERFACE_ANNOTATION,
  isChosen,
  parseAddresses,
} from "#clouds/kubevip/load-balancers/holders.ts";
import { selectPool } from "#clouds/kubevip/load-balancers/pool.ts";
import type { Service } from "#core/service/service.ts";

/** Describes for people what kube-vip gets for a Service, and the pool of its addresses. */
export function describeAddresses({ metadata, spec }: Service, state: unknown): DescribedLoadBalancer {
  const { data, holders } = state as PoolState;
  const { annotations = {}, namespace } = metadata;
  const addresses = parseAddresses(annotations[ADDRESSES_ANNOTATION] ?? "") ?? [];
  const by = isChosen(annotations) ? "chosen here" : "named by the Service's owner";
  const interfaceName = annotations[INTERFACE_ANNOTATION];
  const told = addresses.length === 0 ? [] : [`addresses: ${addresses.join(", ")}, ${by}`];
  const announced = interfaceName === undefined ? [] : [`announced on ${interfaceName}`];
  // Pools are not read for a Service that is being deleted.
  const isAsked = spec.type === "LoadBalancer" && metadata.deletionTimestamp === undefined;
  const pools = [describePool(data, namespace), `Services with an address: ${holders.length}`];
  return {
    belongsTo: addresses.length === 0 ? "none" : "service",
    lines: [...told, ...announced, ...(isAsked ? pools : [])],
  };
}

function describePool(data: PoolState["data"], namespace: string): string {
  if (data === null) return "the ConfigMap with the pools is missing";
  const found = selectPool(data, namespace);
  if (found.kind === "none") return `no pool for namespace ${namespace}, and no global pool`;
  return found.kind === "pool" ? `pool: ${found.pool.key}` : `the pool cannot be read: ${found.message}`;
}

import type { DescribedLoadBalancer } from "#clouds/described.ts";
import { addressesIn, isChosen } from "#clouds/kubevip/holders.ts";
import { ADDRESSES_ANNOTATION, INTERFACE_ANNOTATION } from "#clouds/kubevip/keys.ts";
import type { Observed } from "#clouds/kubevip/observed.ts";
import { poolOf } from "#clouds/kubevip/pool.ts";
import type { Service } from "#core/service/service.ts";

/** What kube-vip is told of a Service, and out of which pool it would get an address, in words. */
export function describeAddresses({ metadata, spec }: Service, state: unknown): DescribedLoadBalancer {
  const { data, holders } = state as Observed;
  const { annotations = {}, namespace } = metadata;
  const addresses = addressesIn(annotations[ADDRESSES_ANNOTATION] ?? "") ?? [];
  const by = isChosen(annotations) ? "chosen here" : "named by whoever runs the Service";
  const interfaceName = annotations[INTERFACE_ANNOTATION];
  const told = addresses.length === 0 ? [] : [`addresses: ${addresses.join(", ")}, ${by}`];
  const announced = interfaceName === undefined ? [] : [`announced on ${interfaceName}`];
  // Of one that goes nobody has looked for a pool.
  const isAsked = spec.type === "LoadBalancer" && metadata.deletionTimestamp === undefined;
  const pools = [poolLine(data, namespace), `Services with an address: ${holders.length}`];
  return {
    belongsTo: addresses.length === 0 ? "none" : "service",
    lines: [...told, ...announced, ...(isAsked ? pools : [])],
  };
}

function poolLine(data: Observed["data"], namespace: string): string {
  if (data === null) return "the ConfigMap with the pools is not there";
  const found = poolOf(data, namespace);
  if (found.kind === "none") return `no pool for namespace ${namespace}, and none for all`;
  return found.kind === "pool" ? `pool: ${found.pool.key}` : `the pool cannot be read: ${found.message}`;
}

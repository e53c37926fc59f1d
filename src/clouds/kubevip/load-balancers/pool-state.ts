import type { AddressRequest } from "#clouds/kubevip/load-balancers/choose.ts";
import type { Holder } from "#clouds/kubevip/load-balancers/holders.ts";
import type { PoolData } from "#clouds/kubevip/load-balancers/pool.ts";
import type { Service } from "#core/service/service.ts";

/** The name of the only action: it gives each waiting Service a different address. */
export const CHOOSE = "ChooseAddresses";

/** Addresses chosen for a Service, to be written on it. */
export interface ChosenAddresses {
  readonly addresses: readonly string[];
  readonly interface?: string | undefined;
}

/** The cluster's pools and the holders of addresses. All Services of a batch share the lists. */
export interface PoolState {
  /** The ConfigMap's data; null if it is missing. */
  readonly data: PoolData | null;
  readonly holders: readonly Holder[];
  /** For this Service, from the action. */
  readonly chosen: ChosenAddresses | null;
}

/** The state for a Service that is removed, which needs no read. */
export const NOTHING_OBSERVED: PoolState = { data: null, holders: [], chosen: null };

/** Extracts the parts of a Service that determine its addresses. */
export function buildAddressRequest({ metadata, spec }: Service): AddressRequest {
  const { uid, namespace } = metadata;
  const { ipFamilies = [], ipFamilyPolicy, ports = [] } = spec;
  return { uid, namespace, ports: ports.map(({ port }) => port), ipFamilies, ipFamilyPolicy };
}

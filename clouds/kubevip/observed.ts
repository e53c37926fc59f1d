import type { Wanted } from "#clouds/kubevip/choose.ts";
import type { Holder } from "#clouds/kubevip/holders.ts";
import type { PoolData } from "#clouds/kubevip/pool.ts";
import type { Service } from "#core/service/service.ts";

/** The name of the one action: of all that want an address, each gets another one. */
export const CHOOSE = "ChooseAddresses";

/** Addresses that were chosen for a Service, and are to be written on it. */
export interface Chosen {
  readonly addresses: readonly string[];
  readonly interface?: string | undefined;
}

/** What the cluster says of pools and of who has which address. Lists are the same for all Services of a batch. */
export interface Observed {
  /** The ConfigMap's; null where it is not there. */
  readonly data: PoolData | null;
  readonly holders: readonly Holder[];
  /** For this Service, by the action. */
  readonly chosen: Chosen | null;
}

/** What nobody has to look for where a Service goes. */
export const NOTHING_OBSERVED: Observed = { data: null, holders: [], chosen: null };

/** What of a Service its addresses depend on. */
export function wantedBy({ metadata, spec }: Service): Wanted {
  const { uid, namespace } = metadata;
  const { ipFamilies = [], ipFamilyPolicy, ports = [] } = spec;
  return { uid, namespace, ports: ports.map(({ port }) => port), ipFamilies, ipFamilyPolicy };
}

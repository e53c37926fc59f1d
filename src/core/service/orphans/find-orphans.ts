import type { Holding } from "#core/service/holdings.ts";
import type { LivingService } from "#core/service/orphans/living-services.ts";

/** The cloud's holdings for a cluster, sorted by the state of their Services. */
export interface FoundOrphans {
  /** Holdings of existing Services: created for them, or named by them. */
  readonly retained: readonly Holding[];
  /** Holdings without a Service: neither their name nor their uid exists. */
  readonly gone: readonly Holding[];
  /** Load balancers whose Service is gone while another Service has its name. They are only reported. */
  readonly replaced: readonly Holding[];
  /**
   * The visibility probe: a load balancer whose name contains the uid of an existing Service. That is no
   * coincidence of names, so cloud, region and cluster tag belong to the cluster whose Services these are.
   * Undefined if no such load balancer exists.
   */
  readonly control: Holding | undefined;
}

/** Compares the cloud's holdings with all existing Services. */
export function findOrphans(holdings: readonly Holding[], living: readonly LivingService[]): FoundOrphans {
  const keys = new Set(living.map(({ key }) => key));
  const named = new Set(living.flatMap(({ loadBalancerID }) => loadBalancerID ?? []));
  const uids = new Map<number, Set<string>>();
  const isUidOf = (beginning: string): boolean => {
    const { length } = beginning;
    const prefixes = uids.get(length) ?? new Set(living.map(({ uid }) => uid.slice(0, length)));
    uids.set(length, prefixes);
    return prefixes.has(beginning);
  };
  const retained: Holding[] = [];
  const gone: Holding[] = [];
  const replaced: Holding[] = [];
  let control: Holding | undefined;
  for (const holding of holdings) {
    const { service, uid, isPart } = holding;
    const isOfLiving = uid !== undefined && isUidOf(uid);
    if (isOfLiving && isPart === undefined) control ??= holding;
    if (service === undefined || isOfLiving || named.has(holding.id)) retained.push(holding);
    else if (!keys.has(service)) gone.push(holding);
    else if (uid !== undefined && isPart === undefined) replaced.push(holding);
    else retained.push(holding);
  }
  return { retained, gone, replaced, control };
}

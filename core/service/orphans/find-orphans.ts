import type { Holding } from "#core/service/holdings.ts";
import type { LivingService } from "#core/service/orphans/living-services.ts";

/** What the cloud has for a cluster's Services, by what there is of these. */
export interface FoundOrphans {
  /** Of Services that live: made for them, or named by them. */
  readonly held: readonly Holding[];
  /** Of no Service: neither one of that name nor one of that uid is there. */
  readonly gone: readonly Holding[];
  /** Load balancers whose Service has gone while another one of its name lives. They are told, and left alone. */
  readonly replaced: readonly Holding[];
  /**
   * A load balancer of a Service that lives, by the uid of which its name is made: that is no coincidence of names, so cloud, region and
   * cluster tag are those of the cluster whose Services these are. Undefined where there is none.
   */
  readonly control: Holding | undefined;
}

/** Compares what the cloud holds with all Services there are. */
export function findOrphans(holdings: readonly Holding[], living: readonly LivingService[]): FoundOrphans {
  const keys = new Set(living.map(({ key }) => key));
  const named = new Set(living.flatMap(({ loadBalancerID }) => loadBalancerID ?? []));
  const uids = new Map<number, Set<string>>();
  const isUidOf = (beginning: string): boolean => {
    const { length } = beginning;
    const known = uids.get(length) ?? new Set(living.map(({ uid }) => uid.slice(0, length)));
    uids.set(length, known);
    return known.has(beginning);
  };
  const held: Holding[] = [];
  const gone: Holding[] = [];
  const replaced: Holding[] = [];
  let control: Holding | undefined;
  for (const holding of holdings) {
    const { service, uid, isPart } = holding;
    const isOfLiving = uid !== undefined && isUidOf(uid);
    if (isOfLiving && isPart === undefined) control ??= holding;
    if (service === undefined || isOfLiving || named.has(holding.id)) held.push(holding);
    else if (!keys.has(service)) gone.push(holding);
    else if (uid !== undefined && isPart === undefined) replaced.push(holding);
    else held.push(holding);
  }
  return { held, gone, replaced, control };
}

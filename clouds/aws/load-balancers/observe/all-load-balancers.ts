import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { allTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import { allPages, type Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { ok } from "#clouds/outcome.ts";

/** AWS's largest page of load balancers, of either version. */
const PAGE_SIZE = 400;

/** All load balancers of ELBv2 in the account and region. */
export function allNetwork(read: Reader): Promise<Outcome<readonly LoadBalancer[]>> {
  return allPages("elbv2:DescribeLoadBalancers", async (next) => {
    const answer = await read("elbv2:DescribeLoadBalancers", {
      PageSize: PAGE_SIZE,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancers, next: answer.value.NextMarker });
  });
}

/** All classic load balancers in the account and region. */
export function allClassic(read: Reader): Promise<Outcome<readonly LoadBalancerDescription[]>> {
  return allPages("elb:DescribeLoadBalancers", async (next) => {
    const answer = await read("elb:DescribeLoadBalancers", {
      PageSize: PAGE_SIZE,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancerDescriptions, next: answer.value.NextMarker });
  });
}

/** Lists load balancers and target groups, and has what was listed in full a moment ago for whoever counts them right after. */
export interface BalancerLists {
  network(read: Reader): Promise<Outcome<readonly LoadBalancer[]>>;
  classic(read: Reader): Promise<Outcome<readonly LoadBalancerDescription[]>>;
  targetGroups(read: Reader): Promise<Outcome<readonly TargetGroup[]>>;
  /** The same lists, if they are some seconds old at the most; listed otherwise. */
  readonly recent: Omit<BalancerLists, "recent">;
}

/** A count may follow the observation that takes a batch of Services longest. */
const RECENT_MS = 10_000;

/** Lists of one account and region; `now` is a clock that never steps. */
export function createBalancerLists(now: () => number): BalancerLists {
  const network = remembered(allNetwork, now);
  const classic = remembered(allClassic, now);
  const targetGroups = remembered(allTargetGroups, now);
  return {
    network: network.list,
    classic: classic.list,
    targetGroups: targetGroups.list,
    recent: { network: network.recent, classic: classic.recent, targetGroups: targetGroups.recent },
  };
}

function remembered<Value>(all: (read: Reader) => Promise<Outcome<Value>>, now: () => number) {
  let last: { readonly value: Outcome<Value>; readonly atMs: number } | undefined;
  const list = async (read: Reader): Promise<Outcome<Value>> => {
    const atMs = now();
    const value = await all(read);
    if (value.kind === "ok") last = { value, atMs };
    return value;
  };
  const recent = async (read: Reader): Promise<Outcome<Value>> =>
    last !== undefined && now() - last.atMs < RECENT_MS ? last.value : list(read);
  return { list, recent };
}

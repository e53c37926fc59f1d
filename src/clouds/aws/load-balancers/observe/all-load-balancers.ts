import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer, TargetGroup } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
import { listTargetGroups } from "#clouds/aws/load-balancers/observe/network.ts";
import { type Reader, readAllPages } from "#clouds/aws/load-balancers/observe/reads.ts";
import { ok } from "#clouds/outcome.ts";

/** AWS's largest page of load balancers, in both versions. */
const PAGE_SIZE = 400;

/** Lists all load balancers of ELBv2 in the account and region. */
export function listNetwork(read: Reader): Promise<Outcome<readonly LoadBalancer[]>> {
  return readAllPages("elbv2:DescribeLoadBalancers", async (next) => {
    const answer = await read("elbv2:DescribeLoadBalancers", {
      PageSize: PAGE_SIZE,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancers, next: answer.value.NextMarker });
  });
}

/** Lists all classic load balancers in the account and region. */
export function listClassic(read: Reader): Promise<Outcome<readonly LoadBalancerDescription[]>> {
  return readAllPages("elb:DescribeLoadBalancers", async (next) => {
    const answer = await read("elb:DescribeLoadBalancers", {
      PageSize: PAGE_SIZE,
      ...(next === undefined ? {} : { Marker: next }),
    });
    if (answer.kind === "fault") return answer;
    return ok({ values: answer.value.LoadBalancerDescriptions, next: answer.value.NextMarker });
  });
}

/** Lists load balancers and target groups, and keeps a complete list for a count that follows soon. */
export interface BalancerLists {
  listNetwork(read: Reader): Promise<Outcome<readonly LoadBalancer[]>>;
  listClassic(read: Reader): Promise<Outcome<readonly LoadBalancerDescription[]>>;
  listTargetGroups(read: Reader): Promise<Outcome<readonly TargetGroup[]>>;
  /** The lists, if at most some seconds old; read again otherwise. */
  readonly recent: Omit<BalancerLists, "recent">;
}

/** Covers the longest observation of a batch of Services, which a count may follow. */
const RECENT_MS = 10_000;

/** Creates the lists of one account and region; `now` is a monotonic clock. */
export function createBalancerLists(now: () => number): BalancerLists {
  const network = createCachedList(listNetwork, now);
  const classic = createCachedList(listClassic, now);
  const targetGroups = createCachedList(listTargetGroups, now);
  return {
    listNetwork: network.list,
    listClassic: classic.list,
    listTargetGroups: targetGroups.list,
    recent: {
      listNetwork: network.recent,
      listClassic: classic.recent,
      listTargetGroups: targetGroups.recent,
    },
  };
}

function createCachedList<Value>(readList: (read: Reader) => Promise<Outcome<Value>>, now: () => number) {
  let last: { readonly value: Outcome<Value>; readonly atMs: number } | undefined;
  const list = async (read: Reader): Promise<Outcome<Value>> => {
    const atMs = now();
    const value = await readList(read);
    if (value.kind === "ok") last = { value, atMs };
    return value;
  };
  const recent = async (read: Reader): Promise<Outcome<Value>> =>
    last !== undefined && now() - last.atMs < RECENT_MS ? last.value : list(read);
  return { list, recent };
}

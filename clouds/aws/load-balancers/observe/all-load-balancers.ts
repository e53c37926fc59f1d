import type { LoadBalancerDescription } from "@aws-sdk/client-elastic-load-balancing";
import type { LoadBalancer } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Outcome } from "#clouds/aws/errors.ts";
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

import { buildAnswer } from "../call.ts";
import type { Mend, Mends } from "../mend.ts";
import { createElement } from "../xml.ts";

/** The default limits of an account, by AWS's names, as far as they concern Services' load balancers. */
const USUAL = {
  elb: {
    "classic-load-balancers": 20,
    "classic-listeners": 100,
    "classic-registered-instances": 1_000,
  },
  elbv2: {
    "application-load-balancers": 50,
    "network-load-balancers": 50,
    "target-groups": 3_000,
    "listeners-per-network-load-balancer": 50,
    "targets-per-network-load-balancer": 3_000,
    "targets-per-availability-zone-per-network-load-balancer": 500,
  },
} as const;

/** Limits of the account: moto has none for classic load balancers, and old ones for the others. */
export const ACCOUNT_LIMITS: Mends = {
  byOperation: {
    "elb:DescribeAccountLimits": telling(USUAL.elb),
    "elbv2:DescribeAccountLimits": telling(USUAL.elbv2),
  },
};

function telling(limits: Readonly<Record<string, number>>): Mend {
  const members = () =>
    Object.entries(limits).map(([name, most]) =>
      createElement("member", [createElement("Name", name), createElement("Max", String(most))]),
    );
  return async (call) => buildAnswer(call, [createElement("Limits", members())]);
}

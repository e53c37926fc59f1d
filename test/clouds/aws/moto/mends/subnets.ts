import { resultOf, succeeded } from "../call.ts";
import type { Mends } from "../mend.ts";
import { child, listOf, setChild } from "../xml.ts";

/** Subnets: moto writes the state of their IPv6 networks as Python prints it. */
export const SUBNETS: Mends = {
  byOperation: {
    async "ec2:DescribeSubnets"(call, next) {
      const answer = await next(call);
      if (!succeeded(answer)) return answer;
      for (const subnet of listOf(resultOf(answer), "subnetSet")) {
        for (const association of listOf(subnet, "ipv6CidrBlockAssociationSet")) {
          const state = child(association, "ipv6CidrBlockState");
          // Those that were taken away it leaves out.
          if (state !== undefined) setChild(state, "state", "associated");
        }
      }
      return answer;
    },
  },
};

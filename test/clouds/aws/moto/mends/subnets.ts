import { getResult, hasSucceeded } from "../call.ts";
import type { Mends } from "../mend.ts";
import { findChild, listMembers, setChild } from "../xml.ts";

/** Mends of subnets: moto writes the state of their IPv6 networks as Python prints it. */
export const SUBNETS: Mends = {
  byOperation: {
    async "ec2:DescribeSubnets"(call, next) {
      const answer = await next(call);
      if (!hasSucceeded(answer)) return answer;
      for (const subnet of listMembers(getResult(answer), "subnetSet")) {
        for (const association of listMembers(subnet, "ipv6CidrBlockAssociationSet")) {
          const state = findChild(association, "ipv6CidrBlockState");
          // Moto omits removed ones.
          if (state !== undefined) setChild(state, "state", "associated");
        }
      }
      return answer;
    },
  },
};

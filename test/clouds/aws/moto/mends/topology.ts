import type { Mends } from "../mend.ts";
import { createElement } from "../xml.ts";

/** Mends of the network topology, which moto lacks: EC2 shows none for instances of usual types. */
export const TOPOLOGY: Mends = {
  byOperation: {
    "ec2:DescribeInstanceTopology": async () => ({
      status: 200,
      body: {
        ...createElement("DescribeInstanceTopologyResponse", [createElement("instanceSet", [])]),
        attributes: ' xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"',
      },
    }),
  },
};

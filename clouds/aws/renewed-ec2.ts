import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createRenewed } from "#clouds/aws/renewed.ts";

/** EC2 by a client that is made anew where its credentials are refused. `wallClock` is milliseconds since the epoch. */
export function renewedEc2(make: () => Ec2, wallClock: () => number): Ec2 {
  const { send, close } = createRenewed(make, wallClock);
  return {
    describeInstances: (request, signal) => send((ec2) => ec2.describeInstances(request, signal)),
    describeNetworkInterfaces: (request, signal) =>
      send((ec2) => ec2.describeNetworkInterfaces(request, signal)),
    describeAvailabilityZones: (request, signal) =>
      send((ec2) => ec2.describeAvailabilityZones(request, signal)),
    describeInstanceTopology: (request, signal) =>
      send((ec2) => ec2.describeInstanceTopology(request, signal)),
    close,
  };
}

import type { Ec2 } from "#clouds/aws/ec2.ts";
import { createRenewableClient } from "#clouds/aws/renewable-client.ts";

/**
 * Creates EC2 operations whose client is replaced if its credentials are rejected. `wallClock` is
 * milliseconds since the epoch.
 */
export function createRenewableEc2(createClient: () => Ec2, wallClock: () => number): Ec2 {
  const { send, close } = createRenewableClient(createClient, wallClock);
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

import { startEc2 } from "#emulators/ec2/server.ts";
import { testEc2Contract } from "./ec2-contract.ts";
import { type Ec2UnderTest, REGION } from "./ec2-under-test.ts";

testEc2Contract("embedded", startEmbedded, new Set());

async function startEmbedded(): Promise<Ec2UnderTest> {
  const server = await startEc2({ region: REGION });
  const vpcs = { one: "vpc-0000000000000000a", other: "vpc-0000000000000000b" };
  return {
    url: server.url,
    account: server.account,
    vpcs,
    launch: async ({ count, network, tags }) =>
      server
        .addInstances(
          Array.from({ length: count }, () => ({
            vpcId: vpcs[network],
            availabilityZone: `${REGION}a`,
            instanceType: "p5.48xlarge",
            publicIpAddress: "198.51.100.7",
            tags,
          })),
        )
        .map(({ id }) => id),
    stop: async (id) => server.setState(id, "stopped"),
    terminate: async (id) => server.terminate(id),
    close: () => server.close(),
  };
}

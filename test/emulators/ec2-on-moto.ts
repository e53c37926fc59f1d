import {
  CreateSubnetCommand,
  CreateVpcCommand,
  RunInstancesCommand,
  StopInstancesCommand,
  TerminateInstancesCommand,
} from "@aws-sdk/client-ec2";
import { startMoto } from "#test/setup/moto.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import { type Capability, createEc2Client, type Ec2UnderTest, REGION } from "./ec2-under-test.ts";

/** Differences between moto 5.2 and EC2 (seen). */
export const MOTO_LACKS: ReadonlySet<Capability> = new Set<Capability>([
  "action DescribeInstanceTopology",
  "an answer to actions that are not known",
  "authentication",
  "code InvalidInstanceID.Malformed",
  "code InvalidNextToken",
  "filter attachment.status",
  "filter by an interface's address",
  "filters that are not known",
  "limits of filters",
  "limits of pages",
  "no network after the end",
  "no public address once stopped",
  "pages of interfaces",
  "wildcards in names and ids",
]);

/** Starts moto_server with two networks in it. */
export async function startEc2OnMoto(program: MotoProgram): Promise<Ec2UnderTest> {
  const moto = await startMoto(program);
  const client = createEc2Client(moto.url);
  const [one, other] = await Promise.all([
    network(client, "10.1.0.0/16", `${REGION}a`),
    network(client, "10.2.0.0/16", `${REGION}b`),
  ]);
  const networks = { one, other };
  return {
    url: moto.url,
    account: "123456789012",
    vpcs: { one: one.vpcId, other: other.vpcId },
    async launch({ count, network: name, tags }) {
      const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
      const ids: string[] = [];
      // One by one, because moto counts reservations on a page and not instances.
      for (let launched = 0; launched < count; launched += 1) {
        const { Instances } = await client.send(
          new RunInstancesCommand({
            ImageId: "ami-0abcdef1234567890",
            InstanceType: "p5.48xlarge",
            MinCount: 1,
            MaxCount: 1,
            SubnetId: networks[name].subnetId,
            TagSpecifications: [{ ResourceType: "instance", Tags }],
          }),
        );
        ids.push(Instances?.[0]?.InstanceId ?? "");
      }
      return ids;
    },
    async stop(id) {
      await client.send(new StopInstancesCommand({ InstanceIds: [id] }));
    },
    async terminate(id) {
      await client.send(new TerminateInstancesCommand({ InstanceIds: [id] }));
    },
    async close() {
      client.destroy();
      await moto.close();
    },
  };
}

async function network(
  client: ReturnType<typeof createEc2Client>,
  CidrBlock: string,
  AvailabilityZone: string,
): Promise<{ readonly vpcId: string; readonly subnetId: string }> {
  const { Vpc } = await client.send(new CreateVpcCommand({ CidrBlock }));
  const vpcId = Vpc?.VpcId ?? "";
  const { Subnet } = await client.send(
    new CreateSubnetCommand({ VpcId: vpcId, CidrBlock, AvailabilityZone }),
  );
  return { vpcId, subnetId: Subnet?.SubnetId ?? "" };
}

import {
  AssignIpv6AddressesCommand,
  CreateSubnetCommand,
  CreateVpcCommand,
  EC2Client,
  type Instance,
  RunInstancesCommand,
} from "@aws-sdk/client-ec2";
import type { NodeAddress } from "#core/node/node.ts";

/** A machine in the cloud, as its kubelet and readers of its node know it. */
export interface Machine {
  /** Its private DNS name, which is its node's name too. */
  readonly name: string;
  readonly id: string;
  /** `aws:///zone/id`. */
  readonly providerID: string;
  readonly zone: string;
  readonly ipv4: string;
  readonly ipv6: string | undefined;
}

/** A network with one subnet. */
export interface Network {
  readonly vpc: string;
  launch(
    count: number,
    options?: { readonly ipv4?: string; readonly ipv6?: boolean },
  ): Promise<readonly Machine[]>;
}

export const REGION = "eu-central-1";
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" } as const;

/** Creates a client of moto's EC2. */
export function createEc2Client(url: string): EC2Client {
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return new EC2Client({ region: REGION, endpoint: url, credentials });
}

/** Creates a dual-stack network of `10.<number>.0.0/16`; machines carry the tag of the cluster `e2e`. */
export async function makeNetwork(ec2: EC2Client, number: number): Promise<Network> {
  const zone = `${REGION}${"abc"[number % 3]}`;
  const made = await ec2.send(
    new CreateVpcCommand({ CidrBlock: `10.${number}.0.0/16`, AmazonProvidedIpv6CidrBlock: true }),
  );
  const vpc = there(made.Vpc?.VpcId);
  const block = there(made.Vpc?.Ipv6CidrBlockAssociationSet?.[0]?.Ipv6CidrBlock);
  const { Subnet } = await ec2.send(
    new CreateSubnetCommand({
      VpcId: vpc,
      CidrBlock: `10.${number}.0.0/20`,
      Ipv6CidrBlock: block.replace("/56", "/64"),
      AvailabilityZone: zone,
    }),
  );
  return {
    vpc,
    launch: async (count, { ipv4, ipv6 = false } = {}) => {
      const { Instances = [] } = await ec2.send(
        new RunInstancesCommand({
          ImageId: "ami-0abcdef1234567890",
          InstanceType: "m7i.large",
          MinCount: count,
          MaxCount: count,
          SubnetId: there(Subnet?.SubnetId),
          ...(ipv4 === undefined ? {} : { PrivateIpAddress: ipv4 }),
          TagSpecifications: [
            { ResourceType: "instance", Tags: [{ Key: "kubernetes.io/cluster/e2e", Value: "owned" }] },
          ],
        }),
      );
      return Promise.all(
        Instances.map(async (instance) =>
          machineOf(instance, zone, ipv6 ? await assignIpv6(ec2, instance) : undefined),
        ),
      );
    },
  };
}

/** Returns the expected addresses of that machine's node, in a cluster with both address families. */
export function buildAddresses({ name, ipv4, ipv6 }: Machine): readonly NodeAddress[] {
  return [
    { type: "InternalIP", address: ipv4 },
    { type: "InternalDNS", address: name },
    { type: "Hostname", address: name },
    ...(ipv6 === undefined ? [] : [{ type: "InternalIP", address: ipv6 }]),
  ];
}

function machineOf(instance: Instance, zone: string, ipv6: string | undefined): Machine {
  const id = there(instance.InstanceId);
  const [name, ipv4] = [there(instance.PrivateDnsName), there(instance.PrivateIpAddress)];
  return { name, id, providerID: `aws:///${zone}/${id}`, zone, ipv4, ipv6 };
}

async function assignIpv6(ec2: EC2Client, instance: Instance): Promise<string> {
  const NetworkInterfaceId = there(instance.NetworkInterfaces?.[0]?.NetworkInterfaceId);
  const answer = await ec2.send(new AssignIpv6AddressesCommand({ NetworkInterfaceId, Ipv6AddressCount: 1 }));
  return there(answer.AssignedIpv6Addresses?.[0]);
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("moto's answer lacks what EC2's always has");
  return value;
}

import * as ec2 from "@aws-sdk/client-ec2";
import { vi } from "vitest";
import { createBudget } from "#clouds/aws/budget.ts";
import type { AwsActionName, AwsRequests } from "#clouds/aws/load-balancers/actions.ts";
import { createLoadBalancers } from "#clouds/aws/load-balancers/capability.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { AwsDependencies } from "#clouds/aws/session.ts";
import type { ActionResult, CloudCall, ObservationsResult } from "#clouds/cloud.ts";
import type { ClosableCapability } from "#clouds/lazy-capability.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";

const REGION = "eu-central-1";
/** One of the images that moto knows. */
const IMAGE_ID = "ami-0abcdef1234567890";

/** An AWS account with a VPC of the cluster `demo`, and its load balancers. */
export interface MotoWorld {
  readonly vpc: string;
  /** One in each of two zones; both have a route to an internet gateway. */
  readonly subnets: readonly [string, string];
  /** The group of the nodes. */
  readonly group: string;
  readonly ec2: ec2.EC2Client;
  readonly capability: ClosableCapability;
  act<Name extends AwsActionName>(action: Name, request: AwsRequests[Name]): Promise<ActionResult>;
  observe(...questions: readonly unknown[]): Promise<ObservationsResult>;
  /** Returns the state of one Service, which must have been observed. */
  state(question: unknown): Promise<AwsLoadBalancerState>;
  addInstance(): Promise<string>;
  close(): void;
}

/** Builds a question about a Service; by default it wants a load balancer and has no nodes. */
export function buildQuestion(
  uid: string,
  traits: { wanted?: boolean; instances?: readonly string[]; name?: string } = {},
) {
  const { wanted = true, instances = [], name = "web" } = traits;
  return {
    service: { metadata: { namespace: "default", name, uid } },
    wanted,
    nodes: instances.map((id) => ({ name: id, providerID: `aws:///${REGION}a/${id}` })),
  };
}

/** Makes the VPC in moto; the configuration holds its ID, or only the cluster's tag. */
export async function createMotoWorld(
  endpoint: string,
  isVpcConfigured = true,
  cloud: Readonly<Record<string, unknown>> = {},
): Promise<MotoWorld> {
  for (const service of ["EC2", "ELASTIC_LOAD_BALANCING", "ELASTIC_LOAD_BALANCING_V2"])
    vi.stubEnv(`AWS_ENDPOINT_URL_${service}`, endpoint);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  const client = new ec2.EC2Client({ region: REGION, endpoint });
  const { Vpc } = await client.send(new ec2.CreateVpcCommand({ CidrBlock: "10.9.0.0/16" }));
  const vpc = Vpc?.VpcId ?? "";
  const subnetIn = async (zone: string, CidrBlock: string): Promise<string> => {
    const { Subnet } = await client.send(
      new ec2.CreateSubnetCommand({ VpcId: vpc, CidrBlock, AvailabilityZone: `${REGION}${zone}` }),
    );
    return Subnet?.SubnetId ?? "";
  };
  const subnets = [await subnetIn("a", "10.9.0.0/20"), await subnetIn("b", "10.9.16.0/20")] as const;
  const { InternetGateway } = await client.send(new ec2.CreateInternetGatewayCommand({}));
  const gateway = InternetGateway?.InternetGatewayId;
  await client.send(new ec2.AttachInternetGatewayCommand({ VpcId: vpc, InternetGatewayId: gateway }));
  const { RouteTables: [main] = [] } = await client.send(
    new ec2.DescribeRouteTablesCommand({ Filters: [{ Name: "vpc-id", Values: [vpc] }] }),
  );
  await client.send(
    new ec2.CreateRouteCommand({
      RouteTableId: main?.RouteTableId,
      DestinationCidrBlock: "0.0.0.0/0",
      GatewayId: gateway,
    }),
  );
  const tags = [{ Key: "kubernetes.io/cluster/demo", Value: "owned" }];
  const { GroupId: group = "" } = await client.send(
    new ec2.CreateSecurityGroupCommand({
      GroupName: "nodes",
      Description: "of the nodes",
      VpcId: vpc,
      TagSpecifications: [{ ResourceType: "security-group", Tags: tags }],
    }),
  );
  const now = (): number => performance.now();
  const world: AwsDependencies = {
    cluster: { ...buildConfig({ vpc: isVpcConfigured ? vpc : undefined, ...cloud }), clusterName: "demo" },
    budget: createBudget(now),
    sleep: async () => undefined,
    now,
    wallClock: Date.now,
    credentials: () => undefined,
  };
  const capability = createLoadBalancers(world);
  const call: CloudCall = { signal: new AbortController().signal, share: 1 };
  const observe = (...questions: readonly unknown[]) => capability.observe(questions, call);
  return {
    vpc,
    subnets,
    group,
    ec2: client,
    capability,
    observe,
    act: (action, request) =>
      capability.act(
        {
          on: "cloud",
          capability: "loadBalancers",
          action,
          target: "it",
          parameters: { ...request },
          precondition: { uid: "u", deleting: false },
        },
        call,
      ),
    async state(question) {
      const { answers } = await observe(question);
      const [answer] = answers;
      if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
      return answer.state as AwsLoadBalancerState;
    },
    async addInstance() {
      const { Instances: [instance] = [] } = await client.send(
        new ec2.RunInstancesCommand({
          ImageId: IMAGE_ID,
          MinCount: 1,
          MaxCount: 1,
          SubnetId: subnets[0],
          SecurityGroupIds: [group],
          TagSpecifications: [{ ResourceType: "instance", Tags: tags }],
        }),
      );
      return instance?.InstanceId ?? "";
    },
    close() {
      client.destroy();
      capability.close();
    },
  };
}

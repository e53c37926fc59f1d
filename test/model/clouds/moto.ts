import { AuthorizeSecurityGroupIngressCommand } from "@aws-sdk/client-ec2";
import { DeregisterInstancesFromLoadBalancerCommand } from "@aws-sdk/client-elastic-load-balancing";
import {
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteListenerCommand,
  DescribeListenersCommand,
  DescribeLoadBalancersCommand,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import type { Capability } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { createAwsWithoutWaits } from "#test/clouds/aws/aws-without-waits.ts";
import { type AwsWorld, createAwsWorld } from "#test/clouds/aws/load-balancer-world.ts";
import type { NamedService } from "#test/clouds/load-balancer-world.ts";
import { sortLists } from "#test/crash-consistency/aws/state.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import { type ModelCloud, SHARED } from "../cloud.ts";
import type { ClusterView } from "../cluster.ts";
import { MACHINE_COUNT } from "../history.ts";

/** Accounts on moto, one after the other. */
export interface MotoClouds {
  /** The `cloud:` section of the clusters. */
  readonly config: object;
  /** Restores the account's initial state. */
  createCloud(): Promise<ModelCloud>;
  close(): Promise<void>;
}

/**
 * Starts the deployed AWS capability on moto: one observation or one action is one request of the network
 * here.
 */
export async function startMotoClouds(
  program: MotoProgram,
  kind: "network" | "classic",
): Promise<MotoClouds> {
  const account = await createAwsWorld(program, kind);
  const instances = [...(await account.network.launch(MACHINE_COUNT))];
  const atFirst = await account.point();
  const cluster = Cluster.parse({ name: "tenant-a", server: "https://127.0.0.1", cloud: account.cloud });
  let close = async (): Promise<void> => {};
  return {
    config: account.cloud,
    async createCloud() {
      await close();
      await atFirst.back();
      const cloud = createAwsWithoutWaits(cluster);
      close = () => cloud.close();
      const capability = cloud.capabilities?.["loadBalancers"];
      if (capability === undefined) throw new Error("AWS has no load balancers");
      return createMotoCloud(account, capability, instances);
    },
    async close() {
      await close();
      await account.close();
    },
  };
}

function createMotoCloud(
  account: AwsWorld,
  loadBalancers: Capability,
  instances: readonly string[],
): ModelCloud {
  const { aws, network } = account;
  let services: readonly NamedService[] = [];

  async function outline(view?: ClusterView): Promise<readonly string[]> {
    if (view !== undefined)
      services = view.services.map(({ metadata }) => ({ namespace: "default", ...metadata }));
    const lines = await account.outline(services);
    // A target group may keep the name from another port of the Service.
    const names = lines.flatMap((line) => {
      const { TargetGroupName, Protocol, Port } = JSON.parse(line.slice(line.indexOf("{"))) as TargetGroup;
      const [, service] = /^k8s-default-(.+)-[0-9a-f]{10}$/.exec(TargetGroupName ?? "") ?? [];
      return service === undefined ? [] : [[`${TargetGroupName}`, `${service} ${Protocol} ${Port}`] as const];
    });
    // Sorts again, because the names had another order.
    return lines
      .map((line) => names.reduce((named, [from, to]) => named.replaceAll(from, to), line))
      .flatMap((line) => apartFromShared(sortLists(JSON.parse(line)) as Thing))
      .sort();
  }

  return {
    capabilities: { loadBalancers },
    providerIDs: instances.map((id) => `aws:///${account.cloud["region"]}a/${id}`),
    async addForeign(number) {
      const Name = `foreign-${number}`;
      const Tags = [{ Key: "kubernetes.io/cluster/other", Value: "owned" }];
      const Subnets = network.subnets.slice(0, 1);
      await aws.elbv2.send(new CreateLoadBalancerCommand({ Name, Type: "network", Subnets, Tags }));
      const group = { Name, Protocol: "TCP", Port: 30_000, VpcId: network.vpc, Tags } as const;
      await aws.elbv2.send(new CreateTargetGroupCommand(group));
      const IpRanges = [{ CidrIp: `203.0.113.${number}/32`, Description: "by a person" }];
      const IpPermissions = [{ IpProtocol: "tcp", FromPort: 22, ToPort: 22, IpRanges }];
      const GroupId = network.nodeGroup;
      await aws.ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId, IpPermissions }));
    },
    async drift(number) {
      const service = services[number % Math.max(1, services.length)];
      const name = service === undefined ? undefined : formatLoadBalancerName(service.uid);
      if (name === undefined) return undefined;
      const { LoadBalancers = [] } = await aws.elbv2.send(new DescribeLoadBalancersCommand({}));
      const found = LoadBalancers.find(({ LoadBalancerName }) => LoadBalancerName === name);
      if (found === undefined) {
        const Instances = instances.map((InstanceId) => ({ InstanceId }));
        const request = { LoadBalancerName: name, Instances };
        await aws.elb.send(new DeregisterInstancesFromLoadBalancerCommand(request)).catch(() => undefined);
        return `takes all instances from ${name}`;
      }
      const { LoadBalancerArn } = found;
      const { Listeners = [] } = await aws.elbv2.send(new DescribeListenersCommand({ LoadBalancerArn }));
      const ListenerArn = Listeners[0]?.ListenerArn;
      if (ListenerArn === undefined) return undefined;
      await aws.elbv2.send(new DeleteListenerCommand({ ListenerArn }));
      return `deletes a listener of ${name}`;
    },
    async foreign() {
      const lines = await outline();
      const nodes = lines.find((line) => line.includes('"GroupName":"nodes"')) ?? "";
      return [
        ...lines.filter((line) => line.includes("kubernetes.io/cluster/other") && line !== nodes),
        ...(nodes.match(/"203\.0\.113\.\d+\/32"/g) ?? []),
      ];
    },
    outline,
  };
}

interface TargetGroup {
  readonly TargetGroupName?: string;
  readonly Protocol?: string;
  readonly Port?: number;
}

/** The content of a line of the account. */
interface Thing {
  readonly GroupName?: string;
  readonly IpPermissions?: readonly object[];
}

/** Matches the descriptions of rules that several load balancers share. */
const SHARED_RULE = /rule\/nlb\/(mtu|backend|health"|health unused)|rule\/elb\/backend/;

/** Returns the resource as one line, and each of its shared rules as a separate line. */
function apartFromShared(thing: Thing): readonly string[] {
  const { GroupName, IpPermissions } = thing;
  if (IpPermissions === undefined) return [formatCanonicalJson(thing)];
  const isShared = (rule: object): boolean => SHARED_RULE.test(formatCanonicalJson(rule));
  return [
    formatCanonicalJson({ ...thing, IpPermissions: IpPermissions.filter((rule) => !isShared(rule)) }),
    ...IpPermissions.filter(isShared).map((rule) => `${SHARED}${GroupName} ${formatCanonicalJson(rule)}`),
  ];
}

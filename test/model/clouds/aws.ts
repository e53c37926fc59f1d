import type { LoadBalancer } from "@aws-sdk/client-elastic-load-balancing-v2";
import { toActionAnswer } from "#clouds/aws/actions/perform.ts";
import { formatAnnotationName } from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import { formatLoadBalancerName } from "#clouds/aws/load-balancers/names.ts";
import { isMadeForCluster } from "#clouds/aws/load-balancers/ownership.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import { buildPermissions, parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { Capability } from "#clouds/cloud.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { Holding, HoldingsQuestion, HoldingsState } from "#core/service/holdings.ts";
import type { LoadBalancerAction, LoadBalancerQuestion } from "#core/service/model.ts";
import { createClassicWorld as classicWorld } from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import { buildInstance, buildVpc } from "#test/clouds/aws/load-balancers/network/world.ts";
import { type ModelCloud, NO_USAGE, SHARED } from "../cloud.ts";

/** The value of `<tag>` in `kubernetes.io/cluster/<tag>`. */
export const CLUSTER_TAG = "prod";

/** The annotations of a Service with a network load balancer. */
export const NETWORK_ANNOTATIONS: Readonly<Record<string, string>> = {
  [formatAnnotationName("type")]: "nlb",
};

const INSTANCES = ["i-1", "i-2", "i-3", "i-4", "i-5", "i-6"];
const PROVIDER_IDS = INSTANCES.map((id) => `aws:///eu-central-1a/${id}`);
const OTHER = { "kubernetes.io/cluster/other": "owned" };

/**
 * Creates the network load balancers, target groups and security groups of one VPC. Each request of AWS's API
 * is one request here.
 */
export function createNetworkModelCloud(): ModelCloud {
  const aws = new FakeElbv2(
    buildVpc({ instances: Object.fromEntries(INSTANCES.map((id) => [id, buildInstance()])) }),
  );
  const foreign = new Set<string>();

  const outline = (): string[] => {
    const names = new Map<string, string>([
      ...[...aws.balancers].map(
        ([arn, { loadBalancer }]) => [arn, `${loadBalancer.LoadBalancerName}`] as const,
      ),
      // A target group may keep the name from another port of the Service.
      ...[...aws.groups].flatMap(([arn, { group, tags }]) => {
        const name = `${tags["kubernetes.io/service-name"] ?? group.TargetGroupName} ${group.Protocol} ${group.Port}`;
        return [
          [arn, name],
          [`${group.TargetGroupName}`, name],
        ] as const;
      }),
      ...aws.vpc.groups.map(({ group }) => [`${group.GroupId}`, `${group.GroupName}`] as const),
    ]);
    // A listener is identified by its load balancer and port.
    const things = [
      ...[...aws.balancers.values()].map((each) => ({
        ...each,
        loadBalancer: { ...each.loadBalancer, DNSName: "" },
      })),
      ...aws.groups.values(),
      ...[...aws.listeners.values()].map(({ listener: { ListenerArn: _, ...listener }, tags }) => ({
        listener: { Certificates: [], ...listener },
        tags,
      })),
      ...aws.vpc.groups.map(({ group, tags, ingress }) => ({
        group,
        tags,
        rules: parsePermissions(ingress).filter((rule) => !isShared(rule)),
      })),
    ];
    const shared = aws.vpc.groups.flatMap(({ group, ingress }) =>
      parsePermissions(ingress)
        .filter(isShared)
        .map((rule) => `${SHARED}${group.GroupName} ${lineOf(rule, names)}`),
    );
    return [...things.map((thing) => lineOf(thing, names)), ...shared].sort();
  };

  return {
    capabilities: {
      loadBalancers: createCapability(
        (name, service) => aws.observe(name, service, CLUSTER_TAG),
        (action) => aws.apply(action),
        () =>
          holdNetwork([...aws.balancers.values()].filter((each) => isMadeForCluster(each.tags, CLUSTER_TAG))),
      ),
    },
    providerIDs: PROVIDER_IDS,
    addForeign(number) {
      const Name = `foreign-${number}`;
      const tags = Object.entries(OTHER).map(([Key, Value]) => ({ Key, Value }));
      const act = (action: string, parameters: object) =>
        aws.apply({
          action,
          target: Name,
          parameters: parameters as LoadBalancerAction["parameters"],
        }) as never;
      act("elbv2:CreateLoadBalancer", {
        ...{ Name, Type: "network", Tags: tags },
        SubnetMappings: [{ SubnetId: "subnet-a" }],
      });
      act("elbv2:CreateTargetGroup", {
        ...{ Name, Protocol: "TCP", Port: 30_000, VpcId: "vpc-1" },
        Tags: tags,
      });
      addRule(aws, number);
      for (const line of outline()) if (line.includes(Name)) foreign.add(line);
    },
    drift(number) {
      const ours = [...aws.listeners].filter(([, { tags }]) => !("kubernetes.io/cluster/other" in tags));
      const [arn, found] = ours[number % Math.max(1, ours.length)] ?? [];
      if (arn === undefined || found === undefined) return undefined;
      const target = found.listener.DefaultActions?.[0]?.TargetGroupArn ?? "";
      switch (number % 3) {
        case 0:
          aws.listeners.delete(arn);
          return `deletes the listener of port ${found.listener.Port}`;
        case 1: {
          const group = aws.groups.get(target);
          if (group === undefined || group.targets.length === 0) return undefined;
          group.targets = group.targets.slice(1);
          return `deregisters a target of ${group.group.TargetGroupName}`;
        }
        default: {
          const group = aws.groups.get(target);
          if (group === undefined) return undefined;
          group.group = { ...group.group, HealthCheckIntervalSeconds: 60 };
          return `changes the health check of ${group.group.TargetGroupName}`;
        }
      }
    },
    // The nodes' group has both foreign rules and ours.
    foreign: () => [
      ...outline().filter((line) => line.includes('"foreign-') && !line.includes('"GroupName":"nodes"')),
      ...personsRules(aws.vpc.groups.find(({ group }) => group.GroupId === "sg-nodes")?.ingress ?? []),
    ],
    outline,
  };
}

/** Creates the classic load balancers and security groups of one VPC. */
export function createClassicModelCloud(): ModelCloud {
  const elb = classicWorld();
  elb.instances = Object.fromEntries(
    INSTANCES.map((id) => [id, { state: "running", groupIds: ["sg-nodes"] }]),
  );
  const outline = (): string[] => {
    const names = new Map([...elb.security.groups].map(([id, { group }]) => [id, `${group.GroupName}`]));
    const things = [
      ...elb.classics.values(),
      ...[...elb.security.groups.values()].map(({ group, tags, ingress }) => ({
        group,
        tags,
        rules: parsePermissions(ingress),
      })),
    ];
    return things.map((thing) => lineOf(thing, names)).sort();
  };
  return {
    capabilities: {
      loadBalancers: createCapability(
        (name) => elb.observe(name),
        (action) => elb.act(action),
        () => holdClassic([...elb.classics].filter(([, each]) => isMadeForCluster(each.tags, CLUSTER_TAG))),
      ),
    },
    providerIDs: PROVIDER_IDS,
    addForeign(number) {
      elb.security.add(`sg-foreign-${number}`, `foreign-${number}`, OTHER);
      elb.act({
        action: "elb:CreateLoadBalancer",
        target: `foreign-${number}`,
        parameters: {
          LoadBalancerName: `foreign-${number}`,
          Listeners: [
            { Protocol: "TCP", LoadBalancerPort: 80, InstanceProtocol: "TCP", InstancePort: 30_000 },
          ],
          Subnets: ["subnet-a"],
          SecurityGroups: [`sg-foreign-${number}`],
          Tags: Object.entries(OTHER).map(([Key, Value]) => ({ Key, Value })),
        },
      });
      const nodes = elb.security.groups.get("sg-nodes");
      if (nodes === undefined) throw new Error("the nodes have no security group");
      const ingress = buildPermissions([
        ...parsePermissions(nodes.ingress),
        ...parsePermissions([personsRule(number)]),
      ]);
      elb.security.groups.set("sg-nodes", { ...nodes, ingress });
    },
    drift(number) {
      const ours = [...elb.classics].filter(([name]) => !name.startsWith("foreign-"));
      const [name, found] = ours[number % Math.max(1, ours.length)] ?? [];
      if (name === undefined || found === undefined) return undefined;
      const { ListenerDescriptions = [], Instances = [] } = found.loadBalancer;
      const changed =
        number % 2 === 0
          ? { Instances: Instances.slice(1) }
          : { ListenerDescriptions: ListenerDescriptions.slice(1) };
      elb.classics.set(name, { ...found, loadBalancer: { ...found.loadBalancer, ...changed } });
      return `takes ${Object.keys(changed).join()} from the load balancer`;
    },
    foreign: () => [
      ...outline().filter((line) => line.includes('"foreign-') && !line.includes('"GroupName":"nodes"')),
      ...personsRules(elb.security.groups.get("sg-nodes")?.ingress ?? []),
    ],
    outline,
  };
}

/**
 * Creates the capability of AWS's load balancers on a fake that answers for one Service at a time. `hold`
 * receives the time of an audit and returns the cluster's resources. Without it nothing is created, because
 * the cluster's load balancers are counted first.
 */
export function createCapability(
  observe: (name: string, service: string) => AwsLoadBalancerState,
  act: (action: LoadBalancerAction) => unknown,
  hold: (auditAt?: string) => readonly Holding[] | HoldingsState,
): Capability {
  return {
    async observe(questions) {
      const answers = questions.map((question) => {
        const { holdings: isAboutAll, auditAt } = question as Partial<HoldingsQuestion>;
        if (isAboutAll === true) {
          const held = hold(auditAt);
          return { kind: "observed", state: "holdings" in held ? held : { holdings: held } } as const;
        }
        const { uid, namespace, name } = (question as LoadBalancerQuestion).service.metadata;
        const state = observe(formatLoadBalancerName(uid) ?? "", `${namespace}/${name}`);
        return { kind: "observed", state } as const;
      });
      return { answers, usage: NO_USAGE };
    },
    async act(action) {
      try {
        const result = act(JSON.parse(JSON.stringify(action)) as LoadBalancerAction);
        return { answer: { kind: "done", result }, usage: NO_USAGE };
      } catch (error) {
        const { code, message } = error as Error & { readonly code?: string };
        // A code that the fake does not know is a fault of the test.
        if (code === undefined) throw error;
        const thrown = Object.assign(new Error(message), { Code: code, $metadata: { httpStatusCode: 400 } });
        return { answer: toActionAnswer(action.action, action.parameters, thrown), usage: NO_USAGE };
      }
    },
  };
}

/** Returns network load balancers in the form in which the cluster's load balancers are counted. */
export function holdNetwork(
  balancers: readonly { readonly loadBalancer: LoadBalancer }[],
): readonly Holding[] {
  return balancers.map(({ loadBalancer: { LoadBalancerArn: id = "", LoadBalancerName: name = "" } }) => ({
    ...{ kind: "network load balancer", id, name, uid: name.slice(1) },
  }));
}

/** Returns classic load balancers, by name, in the form in which the cluster's load balancers are counted. */
export function holdClassic(balancers: readonly (readonly [string, unknown])[]): readonly Holding[] {
  return balancers.map(([name]) => ({ kind: "classic load balancer", id: name, name, uid: name.slice(1) }));
}

/** Whether a rule serves all network load balancers of a cluster: its description names none of them. */
function isShared({ description = "" }: { readonly description?: string | undefined }): boolean {
  return description.includes("io/rule/nlb/") && !/a[0-9a-f]{31}/.test(description);
}

/** Returns a manual rule that admits traffic to the nodes. */
function personsRule(number: number) {
  const IpRanges = [{ CidrIp: `203.0.113.${number}/32`, Description: "by a person" }];
  return { IpProtocol: "tcp", FromPort: 22, ToPort: 22, IpRanges };
}

function personsRules(ingress: Parameters<typeof parsePermissions>[0]): string[] {
  return parsePermissions(ingress)
    .map((rule) => formatCanonicalJson(rule))
    .filter((rule) => rule.includes("203.0.113."));
}

function addRule(aws: FakeElbv2, number: number): void {
  const groups = aws.vpc.groups.map((each) =>
    each.group.GroupId === "sg-nodes"
      ? {
          ...each,
          ingress: buildPermissions([
            ...parsePermissions(each.ingress),
            ...parsePermissions([personsRule(number)]),
          ]),
        }
      : each,
  );
  aws.vpc = { ...aws.vpc, groups };
}

/** Returns a resource as text that does not depend on the order of its lists, with names in place of ids. */
function lineOf(thing: unknown, names: ReadonlyMap<string, string>): string {
  return formatCanonicalJson(JSON.parse(JSON.stringify(thing), (_, value) => named(value, names)));
}

function named(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value))
    return value.toSorted((a, b) => (formatCanonicalJson(a) < formatCanonicalJson(b) ? -1 : 1));
  const name = typeof value === "string" ? names.get(value) : undefined;
  return name === undefined ? value : `<${name}>`;
}

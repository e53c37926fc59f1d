import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { SubnetState, TargetInstance, VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { LoadBalancerQuestion, LoadBalancerStep, TargetNode } from "#core/service/model.ts";
import { Service } from "#core/service/service.ts";
import { DEFAULT_SETTINGS, type Settings } from "#core/settings.ts";
import { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";

export const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";
export const UID = "3f0e6a52-8d1b-4c7e-9a44-0b1c2d3e4f50";
/** The load balancer's name that follows from the uid. */
export const NAME = "a3f0e6a528d1b4c7e9a440b1c2d3e4f5";

/** Builds a Service of type LoadBalancer that requests a network load balancer. */
export function buildService(
  spec: Readonly<Record<string, unknown>> = {},
  annotations: Readonly<Record<string, string>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
  status?: unknown,
): Service {
  const prefixed = Object.fromEntries(
    Object.entries({ type: "nlb", ...annotations }).map(([key, value]) => [
      key.includes("/") ? key : `${PREFIX}${key}`,
      value,
    ]),
  );
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid: UID,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: prefixed,
      ...metadata,
    },
    spec: {
      type: "LoadBalancer",
      ports: [{ name: "http", protocol: "TCP", port: 80, nodePort: 30080 }],
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  });
}

/** Builds the settings of a cluster on AWS with the tag `prod` and a configured VPC. */
export function buildSettings(cloud: Readonly<Record<string, unknown>> = {}): Settings {
  return { ...DEFAULT_SETTINGS, cluster: "prod", cloud: { provider: "aws", vpc: "vpc-1", ...cloud } };
}

/** Builds a public subnet of a zone, with an IPv6 network. */
export function buildSubnet(
  zone: string,
  options: Partial<SubnetState> & { ipv6?: boolean; id?: string } = {},
): SubnetState {
  const { ipv6 = true, id = `subnet-${zone}`, ...rest } = options;
  const third = zone.charCodeAt(0) - 96;
  return {
    subnet: {
      SubnetId: id,
      AvailabilityZone: `eu-central-1${zone}`,
      CidrBlock: `10.0.${third}.0/24`,
      ...(ipv6
        ? {
            Ipv6CidrBlockAssociationSet: [
              { Ipv6CidrBlock: `fd00:0:0:${third}::/64`, Ipv6CidrBlockState: { State: "associated" } },
            ],
          }
        : {}),
    },
    tags: { "kubernetes.io/cluster/prod": "owned" },
    isPublic: true,
    zoneType: "availability-zone",
    ...rest,
  };
}

/** Builds a running instance in the zone a, with the nodes' group. */
export function buildInstance(options: Partial<TargetInstance> = {}): TargetInstance {
  return {
    state: "running",
    subnetId: "subnet-a",
    zone: "eu-central-1a",
    groupIds: ["sg-nodes"],
    ...options,
  };
}

/** Builds a VPC with two zones, the group of the nodes, and instances. */
export function buildVpc(options: Partial<VpcState> = {}): VpcState {
  return {
    id: "vpc-1",
    subnets: [buildSubnet("a"), buildSubnet("b")],
    groups: [
      {
        group: { GroupId: "sg-nodes", GroupName: "nodes", VpcId: "vpc-1" },
        tags: { "kubernetes.io/cluster/prod": "owned" },
        ingress: [],
      },
    ],
    instances: {
      "i-1": buildInstance(),
      "i-2": buildInstance({ subnetId: "subnet-b", zone: "eu-central-1b" }),
    },
    ...options,
  };
}

/** Builds the nodes of instances. */
export function buildNodes(...ids: readonly string[]): TargetNode[] {
  return ids.map((id) => ({ name: `node-${id}`, providerID: `aws:///eu-central-1a/${id}` }));
}

/** Builds the question about a Service with a load balancer. */
export function buildQuestion(
  of: Service,
  targets: readonly TargetNode[] = buildNodes("i-1", "i-2"),
): LoadBalancerQuestion {
  return { service: of, wanted: true, nodes: targets };
}

/** Builds the question about a Service whose load balancer is being deleted. */
export function buildDeletionQuestion(of: Service): LoadBalancerQuestion {
  return { service: of, wanted: false, nodes: [] };
}

/**
 * Observes, decides and acts until nothing is left to do. The applied results and the observation must agree.
 */
export function converge(
  aws: FakeElbv2,
  asked: LoadBalancerQuestion,
  of: Settings = buildSettings(),
): LoadBalancerStep {
  const { metadata } = asked.service;
  let observed: unknown = observe(aws, asked, of);
  for (let round = 0; round < 12; round += 1) {
    const step = model.planStep(asked, observed, of);
    if (step.kind !== "act") return model.planStep(asked, observe(aws, asked, of), of);
    for (const action of step.actions) observed = model.applyResult(observed, action, aws.apply(action));
  }
  throw new Error(`${metadata.namespace}/${metadata.name} does not settle`);
}

/** Returns AWS's observation of a Service. */
export function observe(
  aws: FakeElbv2,
  { service: { metadata } }: LoadBalancerQuestion,
  of: Settings = buildSettings(),
) {
  const name = `a${metadata.uid.replaceAll("-", "")}`.slice(0, 32);
  const tag = (of.cloud["clusterTag"] as string | undefined) ?? of.cluster;
  return aws.observe(name, `${metadata.namespace}/${metadata.name}`, tag);
}

/** Creates an AWS with only the VPC. */
export function createNetworkWorld(options: Partial<VpcState> = {}): FakeElbv2 {
  return new FakeElbv2(buildVpc(options));
}

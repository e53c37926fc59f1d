import { describe, expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { AwsLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import type { Issue } from "#core/service/model.ts";
import { hashLabels } from "#core/service/state-annotation.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import {
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  buildSubnet,
  converge,
  createNetworkWorld,
  observe,
  PREFIX,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const CERTIFICATE = "arn:aws:acm:eu-central-1:123456789012:certificate/0123";
const ALLOW = {
  securityGroups: ["sg-other"],
  subnets: [],
  elasticIPs: ["eipalloc-1", "eipalloc-2", "eipalloc-3"],
  certificates: [CERTIFICATE],
  buckets: ["logs"],
};
const cloud = { allow: ALLOW };

interface Row {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  readonly shows: (state: AwsLoadBalancerState) => unknown;
  readonly as: unknown;
  /** The value after the annotations are removed; `kept` if they cannot be undone. */
  readonly without: unknown;
}

const healthOf = ({ targetGroups: [first] }: AwsLoadBalancerState) => ({
  protocol: first?.group.HealthCheckProtocol,
  port: first?.group.HealthCheckPort,
  path: first?.group.HealthCheckPath,
  interval: first?.group.HealthCheckIntervalSeconds,
  timeout: first?.group.HealthCheckTimeoutSeconds,
  healthy: first?.group.HealthyThresholdCount,
  unhealthy: first?.group.UnhealthyThresholdCount,
});
const DEFAULT_HEALTH = {
  protocol: "TCP",
  port: "traffic-port",
  interval: 30,
  timeout: 10,
  healthy: 3,
  unhealthy: 3,
};
const listenerOf = ({ network }: AwsLoadBalancerState) => {
  const { Protocol, Certificates, SslPolicy } = network?.listeners[0]?.listener ?? {};
  return { Protocol, certificate: Certificates?.[0]?.CertificateArn, SslPolicy };
};
const LOCAL = { externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };

const ROWS: readonly Row[] = [
  {
    name: "internal",
    annotations: { internal: "true" },
    shows: ({ network }) => network?.loadBalancer.Scheme,
    as: "internal",
    without: "internal",
  },
  {
    name: "subnets by id",
    annotations: { subnets: "subnet-b" },
    shows: ({ network }) => network?.loadBalancer.AvailabilityZones?.map(({ SubnetId }) => SubnetId),
    as: ["subnet-b"],
    without: ["subnet-b", "subnet-a"],
  },
  {
    name: "eip-allocations",
    annotations: { "eip-allocations": "eipalloc-2, eipalloc-1" },
    shows: ({ network }) =>
      network?.loadBalancer.AvailabilityZones?.map((zone) => zone.LoadBalancerAddresses?.[0]?.AllocationId),
    as: ["eipalloc-2", "eipalloc-1"],
    without: ["eipalloc-2", "eipalloc-1"],
  },
  {
    name: "private-ipv4-addresses, each in the subnet that it is of",
    annotations: { internal: "true", "private-ipv4-addresses": "10.0.2.9,10.0.1.9" },
    shows: ({ network }) =>
      network?.loadBalancer.AvailabilityZones?.map(
        (zone) => zone.LoadBalancerAddresses?.[0]?.PrivateIPv4Address,
      ),
    as: ["10.0.1.9", "10.0.2.9"],
    without: ["10.0.1.9", "10.0.2.9"],
  },
  {
    name: "additional-resource-tags",
    annotations: { "additional-resource-tags": "team=web,stage=" },
    shows: ({ network, targetGroups }) =>
      [network?.tags, network?.listeners[0]?.tags, targetGroups[0]?.tags].map((tags) => [
        tags?.["team"],
        tags?.["stage"],
        Object.keys(tags ?? {}).length,
      ]),
    as: Array.from({ length: 3 }, () => ["web", "", 5]),
    without: Array.from({ length: 3 }, () => [undefined, undefined, 2]),
  },
  {
    name: "target-group-attributes",
    annotations: {
      "target-group-attributes": "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true",
    },
    shows: ({ targetGroups: [first] }) => ({
      ...first?.attributes,
      tags: Object.keys(first?.tags ?? {}).length,
    }),
    as: { "preserve_client_ip.enabled": "false", "proxy_protocol_v2.enabled": "true", tags: 3 },
    without: { "preserve_client_ip.enabled": "true", "proxy_protocol_v2.enabled": "false", tags: 2 },
  },
  {
    name: "access logs",
    annotations: {
      "access-log-enabled": "true",
      "access-log-s3-bucket-name": "logs",
      "access-log-s3-bucket-prefix": "web",
    },
    shows: ({ network }) =>
      ["enabled", "bucket", "prefix"].map((key) => network?.attributes?.[`access_logs.s3.${key}`]),
    as: ["true", "logs", "web"],
    without: ["false", "logs", "web"],
  },
  {
    name: "cross-zone-load-balancing-enabled",
    annotations: { "cross-zone-load-balancing-enabled": "true" },
    shows: ({ network }) => network?.attributes?.["load_balancing.cross_zone.enabled"],
    as: "true",
    without: "false",
  },
  {
    name: "security-groups, if the operator has groups on load balancers",
    annotations: { "security-groups": "sg-nodes" },
    cloud: { nlbSecurityGroupMode: "Managed" },
    shows: ({ network, vpc }) => [
      network?.loadBalancer.SecurityGroups?.map(
        (id) => vpc.groups.find(({ group }) => group.GroupId === id)?.group.GroupName,
      ),
      vpc.groups.length,
    ],
    as: [["nodes"], 1],
    without: [["k8s-default-web-a306cb4688"], 2],
  },
  {
    name: "ssl-cert",
    annotations: { "ssl-cert": CERTIFICATE, "ssl-negotiation-policy": "ELBSecurityPolicy-TLS13-1-2-2021-06" },
    shows: listenerOf,
    as: { Protocol: "TLS", certificate: CERTIFICATE, SslPolicy: "ELBSecurityPolicy-TLS13-1-2-2021-06" },
    without: { Protocol: "TCP" },
  },
  {
    name: "ssl-ports of another port",
    annotations: { "ssl-cert": CERTIFICATE, "ssl-ports": "443" },
    shows: listenerOf,
    as: { Protocol: "TCP" },
    without: { Protocol: "TCP" },
  },
  {
    name: "ssl-ports by name, with spaces around",
    annotations: { "ssl-cert": CERTIFICATE, "ssl-ports": "443, http " },
    shows: ({ network }) => network?.listeners[0]?.listener.Protocol,
    as: "TLS",
    without: "TCP",
  },
  {
    name: "backend-protocol ssl",
    annotations: { "ssl-cert": CERTIFICATE, "backend-protocol": "ssl" },
    shows: ({ targetGroups }) => targetGroups.map(({ group }) => group.Protocol),
    as: ["TLS"],
    without: ["TCP"],
  },
  {
    name: "health checks by HTTP",
    annotations: {
      "healthcheck-protocol": "http",
      "healthcheck-port": "8080",
      "healthcheck-path": "/ready",
      "healthcheck-interval": "15",
      "healthcheck-timeout": "7",
      "healthcheck-healthy-threshold": "4",
      "healthcheck-unhealthy-threshold": "5",
    },
    shows: healthOf,
    as: {
      protocol: "HTTP",
      port: "8080",
      path: "/ready",
      interval: 15,
      timeout: 7,
      healthy: 4,
      unhealthy: 5,
    },
    without: DEFAULT_HEALTH,
  },
  {
    name: "the unhealthy threshold alone",
    annotations: { "healthcheck-unhealthy-threshold": "9" },
    shows: healthOf,
    as: { ...DEFAULT_HEALTH, unhealthy: 9 },
    without: DEFAULT_HEALTH,
  },
  {
    name: "health checks with local traffic",
    annotations: { "healthcheck-interval": "20" },
    spec: LOCAL,
    shows: healthOf,
    as: {
      protocol: "HTTP",
      port: "32000",
      path: "/healthz",
      interval: 20,
      timeout: 6,
      healthy: 2,
      unhealthy: 2,
    },
    without: {
      protocol: "HTTP",
      port: "32000",
      path: "/healthz",
      interval: 10,
      timeout: 6,
      healthy: 2,
      unhealthy: 2,
    },
  },
  {
    name: "health checks of kube-proxy, over annotations",
    annotations: { "healthcheck-protocol": "https", "healthcheck-port": "1", "healthcheck-path": "/no" },
    cloud: { clusterServiceLoadBalancerHealthProbeMode: "Shared" },
    shows: healthOf,
    as: { ...DEFAULT_HEALTH, protocol: "HTTP", port: "10256", path: "/healthz", timeout: 6 },
    without: { ...DEFAULT_HEALTH, protocol: "HTTP", port: "10256", path: "/healthz", timeout: 6 },
  },
  {
    name: "target-node-labels",
    annotations: { "target-node-labels": "pool=edge" },
    shows: ({ targetGroups }) => targetGroups[0]?.targets.map(({ Id }) => Id).sort(),
    as: ["i-2"],
    without: ["i-1", "i-2"],
  },
];

describe.each(ROWS)("$name", ({ annotations, spec, cloud: keys, shows, as, without }) => {
  const of = buildSettings({ ...cloud, ...keys });
  const labelled = buildNodes("i-1", "i-2").map((node, at) => ({
    ...node,
    labels: hashLabels(at === 1 ? { pool: "edge" } : {}),
  }));
  const said = buildQuestion(buildService(spec, annotations), labelled);
  const plain = buildQuestion(buildService(spec), labelled);

  test("is kept when a load balancer is made", () => {
    const aws = createNetworkWorld();
    expect(converge(aws, said, of).kind).toBe("settled");
    expect(shows(observe(aws, said, of))).toEqual(as);
  });

  test("is undone when the annotation is removed, if AWS can do that", () => {
    const aws = createNetworkWorld();
    converge(aws, said, of);
    expect(converge(aws, plain, of).kind).toBe("settled");
    expect(shows(observe(aws, plain, of))).toEqual(without);
  });
});

/** A change in place must not replace a target group: the load balancer's traffic goes through it. */
test.each([
  { name: "the interval", annotations: { "healthcheck-interval": "10" } },
  { name: "the timeout", annotations: { "healthcheck-timeout": "5" } },
  { name: "the thresholds", annotations: { "healthcheck-healthy-threshold": "2" } },
  { name: "the port of health checks", annotations: { "healthcheck-port": "8080" } },
  { name: "a certificate", annotations: { "ssl-cert": CERTIFICATE } },
])("$name is changed without a new target group or listener", ({ annotations }) => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService()), buildSettings(cloud));
  const before = [[...aws.groups.keys()], [...aws.listeners.keys()]];
  converge(aws, buildQuestion(buildService({}, annotations)), buildSettings(cloud));
  expect([[...aws.groups.keys()], [...aws.listeners.keys()]]).toEqual(before);
});

interface Refusal {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly cloud?: Readonly<Record<string, unknown>>;
  readonly code: string;
  readonly field: string | undefined;
}

const REFUSALS: readonly Refusal[] = [
  refused("an invalid value", { "healthcheck-protocol": "udp" }, "InvalidAnnotation", "healthcheck-protocol"),
  refused(
    "a timeout over the interval",
    { "healthcheck-timeout": "40" },
    "InvalidAnnotation",
    "healthcheck-timeout",
  ),
  refused(
    "as many EIPs as there are no subnets",
    { "eip-allocations": "eipalloc-1" },
    "ElasticIPsOfOtherCount",
    "eip-allocations",
  ),
  refused(
    "EIPs of an internal one",
    { internal: "true", "eip-allocations": "eipalloc-1,eipalloc-2" },
    "InvalidAnnotation",
    "eip-allocations",
  ),
  refused(
    "an EIP that is not allowed",
    { "eip-allocations": "eipalloc-1,eipalloc-9" },
    "ElasticIPsNotUsable",
    "eip-allocations",
  ),
  refused(
    "private addresses of a public one",
    { "private-ipv4-addresses": "10.0.1.9,10.0.2.9" },
    "InvalidAnnotation",
    "private-ipv4-addresses",
  ),
  refused(
    "as many private addresses as there are no subnets",
    { internal: "true", "private-ipv4-addresses": "10.0.1.9" },
    "AddressCountMismatch",
    "private-ipv4-addresses",
  ),
  refused(
    "private addresses outside the subnets",
    { internal: "true", "private-ipv4-addresses": "10.0.1.9,10.0.9.9" },
    "InvalidAnnotation",
    "private-ipv4-addresses",
  ),
  refused("missing subnets", { subnets: "subnet-x" }, "SubnetNotFound", "subnets"),
  refused(
    "extra security groups",
    { "extra-security-groups": "sg-nodes" },
    "UnsupportedAnnotation",
    "extra-security-groups",
  ),
  refused(
    "a bucket that is not allowed",
    { "access-log-enabled": "true", "access-log-s3-bucket-name": "theirs" },
    "BucketNotUsable",
    "access-log-s3-bucket-name",
  ),
  refused(
    "a certificate that is not allowed",
    { "ssl-cert": `${CERTIFICATE}4` },
    "CertificateNotUsable",
    "ssl-cert",
  ),
  {
    ...refused(
      "a security group of another cluster",
      { "security-groups": "sg-theirs" },
      "SecurityGroupNotAllowed",
      "security-groups",
    ),
    cloud: { nlbSecurityGroupMode: "Managed" },
  },
  {
    ...refused(
      "client addresses hidden with UDP",
      { "target-group-attributes": "preserve_client_ip.enabled=false" },
      "InvalidAnnotation",
      "target-group-attributes",
    ),
    spec: { ports: [{ protocol: "UDP", port: 53, nodePort: 30053 }] },
  },
  {
    name: "session affinity",
    spec: { sessionAffinity: "ClientIP" },
    code: "SessionAffinity",
    field: "spec.sessionAffinity",
  },
  {
    name: "loadBalancerIP",
    spec: { loadBalancerIP: "1.2.3.4" },
    code: "LoadBalancerIP",
    field: "spec.loadBalancerIP",
  },
  { name: "no ports", spec: { ports: [] }, code: "NoPorts", field: "spec.ports" },
  {
    name: "ports without node ports",
    spec: { ports: [{ port: 80 }] },
    code: "NoNodePort",
    field: "spec.ports",
  },
  {
    name: "SCTP",
    spec: { ports: [{ protocol: "SCTP", port: 80, nodePort: 30080 }] },
    code: "UnsupportedProtocol",
    field: "spec.ports",
  },
  {
    name: "TCP and UDP of one port with other node ports",
    spec: { ports: [both("TCP", 30053), both("UDP", 30054)] },
    code: "MixedProtocols",
    field: "spec.ports",
  },
  {
    name: "TLS and UDP of one port",
    annotations: { "ssl-cert": CERTIFICATE },
    spec: { ports: [both("TCP", 30053), both("UDP", 30053)] },
    code: "MixedProtocols",
    field: "spec.ports",
  },
  {
    name: "more ports than listeners",
    spec: { ports: Array.from({ length: 51 }, (_, at) => ({ port: at + 1, nodePort: 30_000 + at })) },
    code: "TooManyPorts",
    field: "spec.ports",
  },
  {
    name: "invalid source ranges",
    spec: { loadBalancerSourceRanges: ["10.0.0.1"] },
    code: "InvalidSourceRanges",
    field: "spec.loadBalancerSourceRanges",
  },
  {
    name: "both IP families with IPv4 source ranges only",
    spec: {
      ipFamilies: ["IPv4", "IPv6"],
      ipFamilyPolicy: "RequireDualStack",
      loadBalancerSourceRanges: ["10.0.0.0/8"],
    },
    code: "IPFamilies",
    field: "spec.ipFamilies",
  },
];

test.each(REFUSALS)(
  "$name: rejected, and nothing is made",
  ({ annotations, spec, cloud: keys, code, field }) => {
    const aws = createNetworkWorld();
    theirs(aws);
    const asked = buildQuestion(buildService(spec, annotations));
    const of = buildSettings({ ...cloud, ...keys });
    const step = model.precheck(asked, of) ?? model.planStep(asked, observe(aws, asked, of), of);
    expect(step).toMatchObject({ kind: "refused", issue: { code } });
    expect((step as { issue: Issue }).issue.field).toBe(field);
    expect(aws.done).toEqual([]);
  },
);

test("TCP and UDP of one port and node port are one listener and one target group", () => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(buildService({ ports: [both("TCP", 30053), both("UDP", 30053)] }));
  converge(aws, asked);
  const { network, targetGroups } = observe(aws, asked);
  expect(network?.listeners.map(({ listener }) => [listener.Protocol, listener.Port])).toEqual([
    ["TCP_UDP", 53],
  ]);
  expect(targetGroups.map(({ group }) => [group.Protocol, group.Port])).toEqual([["TCP_UDP", 30053]]);
});

test.each([
  { name: "IPv4 alone", spec: {}, ipv6: true, as: ["ipv4", "ipv4", "off"] },
  {
    name: "both if subnets have both",
    spec: dual("PreferDualStack"),
    ipv6: true,
    as: ["dualstack", "ipv4", "on"],
  },
  {
    name: "IPv4 if both are preferred and subnets lack IPv6",
    spec: dual("PreferDualStack"),
    ipv6: false,
    as: ["ipv4", "ipv4", "off"],
  },
  {
    name: "targets of IPv6",
    spec: { ...dual("SingleStack"), ipFamilies: ["IPv6"] },
    ipv6: true,
    as: ["dualstack", "ipv6", "on"],
  },
])("families: $name", ({ spec, ipv6, as }) => {
  const aws = createNetworkWorld({ subnets: [buildSubnet("a", { ipv6 }), buildSubnet("b", { ipv6 })] });
  const asked = buildQuestion(buildService({ ports: [both("UDP", 30053)], ...spec }));
  expect(converge(aws, asked).kind).toBe("settled");
  const { network, targetGroups } = observe(aws, asked);
  const { IpAddressType, EnablePrefixForIpv6SourceNat } = network?.loadBalancer ?? {};
  expect([IpAddressType, targetGroups[0]?.group.IpAddressType, EnablePrefixForIpv6SourceNat]).toEqual(as);
});

test("instances without a primary IPv6 address are not IPv6 targets, and a message says so", () => {
  const aws = createNetworkWorld();
  const asked = buildQuestion(buildService({ ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" }));
  expect(converge(aws, asked)).toMatchObject({
    kind: "settled",
    warnings: [{ code: "NodeWithoutIPv6" }, { code: "NodeWithoutIPv6" }],
  });
  expect(observe(aws, asked).targetGroups[0]?.targets).toEqual([]);
});

test("without the nodes' labels a Service that selects by them is left as it is", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService()));
  const asked = buildQuestion(buildService({}, { "target-node-labels": "pool=edge" }));
  expect(converge(aws, asked)).toMatchObject({ kind: "refused", issue: { code: "NodeLabelsUnknown" } });
  expect(observe(aws, asked).targetGroups[0]?.targets).toHaveLength(2);
});

function refused(
  name: string,
  annotations: Readonly<Record<string, string>>,
  code: string,
  suffix: string,
): Refusal {
  return { name, annotations, code, field: `${PREFIX}${suffix}` };
}

function both(protocol: string, nodePort: number) {
  return { name: protocol.toLowerCase(), protocol, port: 53, nodePort };
}

function dual(ipFamilyPolicy: string) {
  return { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy };
}

function theirs(aws: FakeElbv2): void {
  const group = { GroupId: "sg-theirs", GroupName: "theirs", VpcId: "vpc-1" };
  const tags = { "kubernetes.io/cluster/other": "owned" };
  aws.vpc = { ...aws.vpc, groups: [...aws.vpc.groups, { group, tags, ingress: [] }] };
}

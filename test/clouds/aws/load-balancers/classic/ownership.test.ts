import { expect, test } from "vitest";
import type { ClassicLoadBalancerState } from "#clouds/aws/load-balancers/state.ts";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  HOSTNAME,
  NAME,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { CERTIFICATES, type FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const SETTLED = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };
const [ONE = ""] = CERTIFICATES;
const PORTS = [
  { name: "http", port: 80, nodePort: 30_080 },
  { name: "https", port: 443, nodePort: 30_443 },
];
const EVERYTHING = buildAnnotations({
  "ssl-cert": ONE,
  "ssl-ports": "https",
  "backend-protocol": "http",
  "proxy-protocol": "*",
  "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
  "connection-draining-enabled": "true",
  "connection-draining-timeout": "60",
  "cross-zone-load-balancing-enabled": "true",
  "additional-resource-tags": "Team=a",
});

/**
 * What the stock controller leaves: a security group without the Service's tag, and attributes in its own
 * order.
 */
function stock(
  elb: FakeElb,
  tags: Readonly<Record<string, string>>,
  group: Readonly<Record<string, string>>,
): void {
  elb.security.add("sg-stock", `k8s-elb-${NAME}`, group, [
    { IpProtocol: "tcp", FromPort: 80, ToPort: 80, IpRanges: [{ CidrIp: "0.0.0.0/0" }] },
    { IpProtocol: "tcp", FromPort: 443, ToPort: 443, IpRanges: [{ CidrIp: "0.0.0.0/0" }] },
    { IpProtocol: "icmp", FromPort: 3, ToPort: 4, IpRanges: [{ CidrIp: "0.0.0.0/0" }] },
  ]);
  elb.security.authorize({
    GroupId: "sg-nodes",
    IpPermissions: [
      { IpProtocol: "-1", UserIdGroupPairs: [{ GroupId: "sg-stock", UserId: "123456789012" }] },
    ],
  });
  const proxied = ["k8s-proxyprotocol-enabled"];
  const policy = "k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01";
  const state: ClassicLoadBalancerState = {
    loadBalancer: {
      LoadBalancerName: NAME,
      DNSName: HOSTNAME,
      Scheme: "internet-facing",
      ListenerDescriptions: [
        {
          Listener: {
            LoadBalancerPort: 80,
            InstancePort: 30_080,
            Protocol: "HTTP",
            InstanceProtocol: "HTTP",
          },
          PolicyNames: [],
        },
        {
          Listener: {
            LoadBalancerPort: 443,
            InstancePort: 30_443,
            Protocol: "HTTPS",
            InstanceProtocol: "HTTP",
            SSLCertificateId: ONE,
          },
          PolicyNames: [policy],
        },
      ],
      BackendServerDescriptions: [
        { InstancePort: 30_443, PolicyNames: proxied },
        { InstancePort: 30_080, PolicyNames: proxied },
      ],
      HealthCheck: {
        Target: "TCP:30080",
        Interval: 10,
        Timeout: 5,
        UnhealthyThreshold: 6,
        HealthyThreshold: 2,
      },
      Instances: [{ InstanceId: "i-3" }, { InstanceId: "i-1" }, { InstanceId: "i-2" }],
      Subnets: ["subnet-b", "subnet-a"],
      SecurityGroups: ["sg-stock"],
    },
    tags,
    attributes: {
      AccessLog: { Enabled: false },
      ConnectionDraining: { Enabled: true, Timeout: 60 },
      ConnectionSettings: { IdleTimeout: 60 },
      CrossZoneLoadBalancing: { Enabled: true },
      AdditionalAttributes: [{ Key: "elb.http.desyncmitigationmode", Value: "defensive" }],
    },
    policies: [
      { PolicyName: "k8s-proxyprotocol-enabled", PolicyTypeName: "ProxyProtocolPolicyType" },
      { PolicyName: policy, PolicyTypeName: "SSLNegotiationPolicyType" },
    ],
  };
  elb.classics.set(NAME, state);
}

const CLUSTER = { "kubernetes.io/cluster/prod": "owned" };
const SERVICE = { "kubernetes.io/service-name": "shop/web" };

test("a stock controller's load balancer is taken over with tags alone, and could be handed back", () => {
  const elb = createClassicWorld();
  stock(elb, { Team: "a", ...SERVICE, ...CLUSTER }, { Team: "a", ...CLUSTER });
  const before = structuredClone(elb.classics.get(NAME)?.loadBalancer);

  expect(converge(elb, buildQuestion({ annotations: EVERYTHING, spec: { ports: PORTS } }))).toEqual(SETTLED);

  expect(new Set(elb.done)).toEqual(new Set(["ec2:CreateTags", "elb:AddTags"]));
  expect(elb.classics.get(NAME)?.loadBalancer).toEqual(before);
});

test("the stock controller would change nothing on this controller's load balancer", () => {
  const [ours, theirs] = [createClassicWorld(), createClassicWorld()];
  converge(ours, buildQuestion({ annotations: EVERYTHING, spec: { ports: PORTS } }));
  stock(theirs, {}, {});
  const sides = [ours, theirs].map((elb) => {
    const state = elb.classics.get(NAME);
    const groups = [...elb.security.groups.values()];
    const named = groups.find(({ group }) => group.GroupName === `k8s-elb-${NAME}`);
    return {
      // What its sync compares: see syncElbListeners, proxyProtocolEnabled, ensureLoadBalancerHealthCheck.
      listeners: state?.loadBalancer.ListenerDescriptions,
      backends: new Map(
        state?.loadBalancer.BackendServerDescriptions?.map((each) => [each.InstancePort, each.PolicyNames]),
      ),
      subnets: new Set(state?.loadBalancer.Subnets),
      healthCheck: state?.loadBalancer.HealthCheck,
      instances: new Set(state?.loadBalancer.Instances?.map(({ InstanceId }) => InstanceId)),
      policies: new Set(
        state?.policies.flatMap(({ PolicyName }) => (PolicyName?.startsWith("k8s-") ? PolicyName : [])),
      ),
      attributes: state?.attributes,
      // It finds its group by name, and the load balancer's name follows from the uid.
      isOwn: state?.loadBalancer.SecurityGroups?.includes(named?.group.GroupId ?? ""),
      rules: named?.ingress.length,
    };
  });
  expect(sides[0]).toEqual(sides[1]);
});

test.each([
  ["another Service's tag", { "kubernetes.io/service-name": "shop/before", ...CLUSTER }],
  ["the legacy tag alone", { KubernetesCluster: "prod", ...SERVICE }],
])("a load balancer of the derived name with %s is ours", (_, tags) => {
  const elb = createClassicWorld();
  stock(elb, tags, CLUSTER);

  expect(converge(elb, buildQuestion({ annotations: EVERYTHING, spec: { ports: PORTS } }))).toEqual(SETTLED);
  expect(elb.classics.get(NAME)?.tags).toMatchObject({ ...SERVICE, ...CLUSTER });
});

test.each([
  ["another cluster's tag", { "kubernetes.io/cluster/other": "owned", ...SERVICE }],
  ["another cluster's legacy tag", { KubernetesCluster: "other", ...SERVICE }],
  ["ours, but shared", { "kubernetes.io/cluster/prod": "shared", ...SERVICE }],
  ["no tag of any cluster, with clusterTag configured,", { Team: "a" }],
])("a load balancer of the derived name with %s is neither changed nor deleted", (_, tags) => {
  const elb = createClassicWorld();
  stock(elb, tags, { "kubernetes.io/cluster/other": "owned" });
  const before = structuredClone([elb.classics, elb.security.groups]);

  const step = converge(elb, buildQuestion({ annotations: EVERYTHING, spec: { ports: PORTS } }));
  expect(step).toMatchObject({ kind: "refused", issue: { code: "NameTaken" } });
  // The Service itself is released.
  expect(converge(elb, buildQuestion({ wanted: false }))).toEqual({
    kind: "settled",
    ingress: [],
    warnings: [],
  });

  expect([elb.classics, elb.security.groups]).toEqual(before);
});

test("a security group of the derived name that belongs to others is neither used nor deleted", () => {
  const elb = createClassicWorld();
  elb.security.add("sg-theirs", `k8s-elb-${NAME}`, { "kubernetes.io/cluster/other": "owned" });

  expect(converge(elb, buildQuestion({}))).toMatchObject({ kind: "refused" });
  expect(converge(elb, buildQuestion({ wanted: false }))).toMatchObject({ kind: "settled" });
  expect(elb.done).toEqual([]);
});

test("clusters with the legacy tag get both tags", () => {
  const elb = createClassicWorld();

  converge(elb, buildQuestion({}), { settings: buildSettings({ legacyClusterTag: true }) });

  expect(elb.classics.get(NAME)?.tags).toMatchObject({ ...CLUSTER, ...SERVICE, KubernetesCluster: "prod" });
});

test("deletion removes first the rules that allow it in, then the load balancer, then its group once AWS releases it", () => {
  const elb = createClassicWorld();
  converge(elb, buildQuestion({}));
  elb.done.length = 0;
  elb.lag = { invisible: 0, inUse: 3 };

  expect(converge(elb, buildQuestion({ wanted: false }))).toEqual({
    kind: "settled",
    ingress: [],
    warnings: [],
  });

  expect(elb.done).toEqual([
    "ec2:RevokeSecurityGroupIngress",
    "elb:DeleteLoadBalancer",
    "ec2:DeleteSecurityGroup",
  ]);
});

test("deletion leaves what annotations or the operator named, with any tags", () => {
  const elb = createClassicWorld();
  elb.security.add("sg-ours", "foreign", CLUSTER);
  const annotations = buildAnnotations({ "extra-security-groups": "sg-ours" });
  converge(elb, buildQuestion({ annotations }));

  converge(elb, buildQuestion({ annotations, wanted: false }));

  expect(elb.classics.size).toBe(0);
  expect([...elb.security.groups.keys()].sort()).toEqual([
    "sg-byo",
    "sg-config",
    "sg-extra",
    "sg-foreign",
    "sg-nodes",
    "sg-ours",
  ]);
});

import { expect, test } from "vitest";
import { hashLabels } from "#core/service/state-annotation.ts";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  describeLoadBalancers,
  HOSTNAME,
  NAME,
  PREFIX,
  type ServiceInput,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { CERTIFICATES, type FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";
import { Refusal } from "#test/clouds/aws/load-balancers/classic/fake-groups.ts";

const [ONE = "", TWO = ""] = CERTIFICATES;
const SETTLED = { kind: "settled", ingress: [{ hostname: HOSTNAME }], warnings: [] };

/** Returns the state of the Service's load balancer after all actions. */
function made(given: ServiceInput, change: Readonly<Record<string, unknown>> = {}) {
  const elb = createClassicWorld();
  const step = converge(elb, buildQuestion(given), { settings: buildSettings(change) });
  return { elb, step, ...described(elb) };
}

function described(elb: FakeElb) {
  const classic = elb.classics.get(NAME);
  return { ...classic, loadBalancer: classic?.loadBalancer };
}

function listeners(elb: FakeElb): object[] {
  return (elb.classics.get(NAME)?.loadBalancer.ListenerDescriptions ?? []).map(({ Listener: one }) => ({
    ...one,
  }));
}

test("a load balancer as the stock controller makes it: names, tags, groups, rules, health check, instances", () => {
  const { elb, step } = made({});

  expect(step).toEqual(SETTLED);
  expect(describeLoadBalancers(elb)).toEqual({
    classics: [
      expect.objectContaining({
        LoadBalancerName: NAME,
        Scheme: "internet-facing",
        Subnets: ["subnet-a", "subnet-b"],
        SecurityGroups: [`k8s-elb-${NAME}`],
        Instances: [{ InstanceId: "i-1" }, { InstanceId: "i-2" }, { InstanceId: "i-3" }],
        HealthCheck: {
          Target: "TCP:30080",
          Interval: 10,
          Timeout: 5,
          HealthyThreshold: 2,
          UnhealthyThreshold: 6,
        },
        tags: { "kubernetes.io/service-name": "shop/web", "kubernetes.io/cluster/prod": "owned" },
      }),
    ],
    groups: expect.arrayContaining([
      {
        name: `k8s-elb-${NAME}`,
        tags: { "kubernetes.io/service-name": "shop/web", "kubernetes.io/cluster/prod": "owned" },
        rules: [
          expect.objectContaining({ protocol: "icmp", ports: [3, 4], peer: "0.0.0.0/0" }),
          expect.objectContaining({ protocol: "tcp", ports: [80, 80], peer: "0.0.0.0/0" }),
        ],
      },
      {
        name: "nodes",
        tags: { "kubernetes.io/cluster/prod": "owned" },
        rules: [expect.objectContaining({ protocol: "-1", from: "group", peer: `k8s-elb-${NAME}` })],
      },
    ]),
  });
  expect(elb.done).toEqual([
    "ec2:CreateSecurityGroup",
    "ec2:AuthorizeSecurityGroupIngress",
    "elb:CreateLoadBalancer",
    "ec2:AuthorizeSecurityGroupIngress",
    "elb:RegisterInstancesWithLoadBalancer",
    "elb:ConfigureHealthCheck",
  ]);
});

test("applying results instead of observing again takes the same number of calls", () => {
  const [folded, looked] = [createClassicWorld(), createClassicWorld()];

  expect(converge(folded, buildQuestion({}), { isFolded: true })).toEqual(
    converge(looked, buildQuestion({})),
  );
  expect(folded.done).toEqual(looked.done);
  expect(describeLoadBalancers(folded)).toEqual(describeLoadBalancers(looked));
});

const PORTS = [
  { name: "http", port: 80, nodePort: 30_080 },
  { name: "https", port: 443, nodePort: 30_443 },
];

test.each([
  ["no annotation", {}, ["TCP/TCP", "TCP/TCP"]],
  ["http without a certificate", { "backend-protocol": "http" }, ["HTTP/HTTP", "HTTP/HTTP"]],
  ["ssl without a certificate", { "backend-protocol": "ssl" }, ["TCP/TCP", "TCP/TCP"]],
  ["https without a certificate", { "backend-protocol": "https" }, ["TCP/TCP", "TCP/TCP"]],
  ["a certificate", { "ssl-cert": ONE }, ["SSL/TCP one", "SSL/TCP one"]],
  ["a certificate, ports by name", { "ssl-cert": ONE, "ssl-ports": "HTTPS" }, ["TCP/TCP", "SSL/TCP one"]],
  ["a certificate, ports by number", { "ssl-cert": ONE, "ssl-ports": " 80 ,x" }, ["SSL/TCP one", "TCP/TCP"]],
  ["a certificate and tcp", { "ssl-cert": ONE, "backend-protocol": "tcp" }, ["SSL/TCP one", "SSL/TCP one"]],
  ["a certificate and ssl", { "ssl-cert": ONE, "backend-protocol": "ssl" }, ["SSL/SSL one", "SSL/SSL one"]],
  [
    "a certificate and http",
    { "ssl-cert": ONE, "backend-protocol": "http" },
    ["HTTPS/HTTP one", "HTTPS/HTTP one"],
  ],
  [
    "a certificate and https",
    { "ssl-cert": ONE, "backend-protocol": "https" },
    ["HTTPS/HTTPS one", "HTTPS/HTTPS one"],
  ],
  [
    "http, one port with TLS",
    { "ssl-cert": ONE, "ssl-ports": "443", "backend-protocol": "http" },
    ["HTTP/HTTP", "HTTPS/HTTP one"],
  ],
])("listeners by protocol and certificate: %s", (_, annotations, expected) => {
  const { elb } = made({
    annotations: buildAnnotations(annotations as Record<string, string>),
    spec: { ports: PORTS },
  });

  const seen = (elb.classics.get(NAME)?.loadBalancer.ListenerDescriptions ?? []).map(({ Listener: one }) =>
    `${one?.Protocol}/${one?.InstanceProtocol} ${one?.SSLCertificateId?.split("/")[1] ?? ""}`.trim(),
  );
  expect(seen).toEqual(expected);
});

test.each([
  ["nothing", {}, {}, {}, "TCP:30080", [10, 5, 2, 6]],
  ["TLS to instances", { "backend-protocol": "ssl" }, {}, {}, "SSL:30080", [10, 5, 2, 6]],
  ["https to instances", { "backend-protocol": "https" }, {}, {}, "SSL:30080", [10, 5, 2, 6]],
  ["http to instances", { "backend-protocol": "http" }, {}, {}, "TCP:30080", [10, 5, 2, 6]],
  ["a protocol", { "healthcheck-protocol": "http" }, {}, {}, "HTTP:30080/", [10, 5, 2, 6]],
  [
    "a path",
    { "healthcheck-protocol": "HTTPS", "healthcheck-path": "/up" },
    {},
    {},
    "HTTPS:30080/up",
    [10, 5, 2, 6],
  ],
  ["a path without HTTP", { "healthcheck-path": "/up" }, {}, {}, "TCP:30080", [10, 5, 2, 6]],
  ["a port", { "healthcheck-port": "8080" }, {}, {}, "TCP:8080", [10, 5, 2, 6]],
  [
    "numbers",
    {
      "healthcheck-interval": "300",
      "healthcheck-timeout": "60",
      "healthcheck-healthy-threshold": "10",
      "healthcheck-unhealthy-threshold": "3",
    },
    {},
    {},
    "TCP:30080",
    [300, 60, 10, 3],
  ],
  [
    "an interval that is no longer than the default timeout",
    { "healthcheck-interval": "5" },
    {},
    {},
    "TCP:30080",
    [5, 4, 2, 6],
  ],
  [
    "Local",
    {},
    { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 },
    {},
    "HTTP:31000/healthz",
    [10, 5, 2, 6],
  ],
  [
    "Local, at the port of traffic",
    { "healthcheck-port": "traffic-port", "healthcheck-path": "/up" },
    { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 },
    {},
    "HTTP:30080/up",
    [10, 5, 2, 6],
  ],
  ["Local without a port for it", {}, { externalTrafficPolicy: "Local" }, {}, "TCP:30080", [10, 5, 2, 6]],
  ["Shared", {}, {}, SHARED(), "HTTP:10256/healthz", [10, 5, 2, 6]],
  [
    "Shared, configured",
    {},
    {},
    {
      ...SHARED(),
      clusterServiceSharedLoadBalancerHealthProbePort: 9_000,
      clusterServiceSharedLoadBalancerHealthProbePath: "/live",
    },
    "HTTP:9000/live",
    [10, 5, 2, 6],
  ],
  [
    "Shared: annotations win",
    { "healthcheck-protocol": "TCP", "healthcheck-port": "8080" },
    {},
    SHARED(),
    "TCP:8080",
    [10, 5, 2, 6],
  ],
  [
    "Shared has no say in Local",
    {},
    { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 },
    SHARED(),
    "HTTP:31000/healthz",
    [10, 5, 2, 6],
  ],
] as const)(
  "the health check of %s",
  (_, annotations, spec, cloud, target, [interval, timeout, healthy, unhealthy]) => {
    const { loadBalancer } = made({ annotations: buildAnnotations(annotations), spec }, cloud);

    expect(loadBalancer?.HealthCheck).toEqual({
      Target: target,
      Interval: interval,
      Timeout: timeout,
      HealthyThreshold: healthy,
      UnhealthyThreshold: unhealthy,
    });
  },
);

function SHARED() {
  return { clusterServiceLoadBalancerHealthProbeMode: "Shared" };
}

test.each([
  ["nothing", {}, {}],
  ["idle timeout", { "connection-idle-timeout": "4000" }, { ConnectionSettings: { IdleTimeout: 4000 } }],
  [
    "cross-zone",
    { "cross-zone-load-balancing-enabled": "true" },
    { CrossZoneLoadBalancing: { Enabled: true } },
  ],
  [
    "draining",
    { "connection-draining-enabled": "true" },
    { ConnectionDraining: { Enabled: true, Timeout: 300 } },
  ],
  [
    "draining for a time",
    { "connection-draining-enabled": "true", "connection-draining-timeout": "60" },
    { ConnectionDraining: { Enabled: true, Timeout: 60 } },
  ],
  ["a time of what is off", { "connection-draining-timeout": "60" }, {}],
  [
    "access logs",
    { "access-log-enabled": "true", "access-log-s3-bucket-name": "logs" },
    { AccessLog: { Enabled: true, S3BucketName: "logs", EmitInterval: 60 } },
  ],
  [
    "access logs with all of it",
    {
      "access-log-enabled": "true",
      "access-log-s3-bucket-name": "logs",
      "access-log-s3-bucket-prefix": "web",
      "access-log-emit-interval": "5",
    },
    { AccessLog: { Enabled: true, S3BucketName: "logs", S3BucketPrefix: "web", EmitInterval: 5 } },
  ],
] as const)("attributes: %s, and removed again", (_, annotations, expected) => {
  const before = made({}).attributes;
  const { elb, attributes } = made({ annotations: buildAnnotations(annotations) });
  expect(attributes).toEqual({ ...before, ...expected });

  expect(converge(elb, buildQuestion({}))).toEqual(SETTLED);
  const { ConnectionDraining: draining, ...rest } = described(elb).attributes ?? {};
  expect(rest).toEqual({ ...before, ConnectionDraining: undefined });
  expect(draining?.Enabled).toBe(false);
});

test.each([
  ["access-log-emit-interval", "5", { AccessLog: { EmitInterval: 5 } }],
  ["access-log-s3-bucket-prefix", "web", { AccessLog: { S3BucketPrefix: "web" } }],
] as const)("%s of enabled access logs can be changed", (suffix, value, expected) => {
  const logs = { "access-log-enabled": "true", "access-log-s3-bucket-name": "logs" };
  const { elb, attributes } = made({ annotations: buildAnnotations(logs) });

  converge(elb, buildQuestion({ annotations: buildAnnotations({ ...logs, [suffix]: value }) }));
  expect(described(elb).attributes).toMatchObject(expected);
  converge(elb, buildQuestion({ annotations: buildAnnotations(logs) }));
  expect(described(elb).attributes).toEqual(attributes);
});

test("the proxy protocol on all ports, on new ones, and disabled again; other policies stay", () => {
  const annotations = buildAnnotations({ "proxy-protocol": "*" });
  const { elb } = made({ annotations });
  const backends = () => elb.classics.get(NAME)?.loadBalancer.BackendServerDescriptions;
  expect(backends()).toEqual([{ InstancePort: 30_080, PolicyNames: ["k8s-proxyprotocol-enabled"] }]);

  converge(elb, buildQuestion({ annotations, spec: { ports: PORTS } }));
  expect(backends()).toEqual([
    { InstancePort: 30_080, PolicyNames: ["k8s-proxyprotocol-enabled"] },
    { InstancePort: 30_443, PolicyNames: ["k8s-proxyprotocol-enabled"] },
  ]);

  const state = elb.classics.get(NAME);
  if (state === undefined) throw new Error("gone");
  elb.classics.set(NAME, {
    ...state,
    policies: [...state.policies, { PolicyName: "theirs", PolicyTypeName: "ProxyProtocolPolicyType" }],
    loadBalancer: {
      ...state.loadBalancer,
      BackendServerDescriptions: [
        { InstancePort: 30_080, PolicyNames: ["theirs", "k8s-proxyprotocol-enabled"] },
        { InstancePort: 30_443, PolicyNames: ["k8s-proxyprotocol-enabled"] },
      ],
    },
  });
  expect(converge(elb, buildQuestion({}))).toEqual(SETTLED);
  expect(backends()).toEqual([{ InstancePort: 30_080, PolicyNames: ["theirs"] }]);
});

test("the proxy protocol leaves a port without listener last, so that its rejection delays nothing else", () => {
  const annotations = buildAnnotations({ "proxy-protocol": "*" });
  const { elb } = made({ annotations });
  const act = elb.act.bind(elb);
  elb.act = (action) => {
    if (
      action.action === "elb:SetLoadBalancerPoliciesForBackendServer" &&
      action.parameters["InstancePort"] === 30_080
    )
      throw new Refusal("InvalidConfigurationRequest", "no listener");
    return act(action);
  };
  const asked = buildQuestion({
    annotations: { ...annotations, ...buildAnnotations({ "connection-idle-timeout": "90" }) },
    spec: { ports: [{ name: "http", port: 80, nodePort: 30_081 }] },
  });

  expect(() => converge(elb, asked)).toThrow("no listener");
  expect(described(elb)).toMatchObject({
    loadBalancer: {
      HealthCheck: { Target: "TCP:30081" },
      BackendServerDescriptions: [
        { InstancePort: 30_080, PolicyNames: ["k8s-proxyprotocol-enabled"] },
        { InstancePort: 30_081, PolicyNames: ["k8s-proxyprotocol-enabled"] },
      ],
    },
    attributes: { ConnectionSettings: { IdleTimeout: 90 } },
  });

  elb.act = act;
  expect(converge(elb, asked)).toEqual(SETTLED);
  expect(described(elb).loadBalancer?.BackendServerDescriptions).toEqual([
    { InstancePort: 30_081, PolicyNames: ["k8s-proxyprotocol-enabled"] },
  ]);
});

test("a port without listener that also has another policy keeps both until it has a listener again", () => {
  const annotations = buildAnnotations({ "proxy-protocol": "*" });
  const { elb } = made({ annotations });
  const state = elb.classics.get(NAME);
  if (state === undefined) throw new Error("gone");
  const both = [{ InstancePort: 30_080, PolicyNames: ["theirs", "k8s-proxyprotocol-enabled"] }];
  elb.classics.set(NAME, {
    ...state,
    policies: [...state.policies, { PolicyName: "theirs", PolicyTypeName: "ProxyProtocolPolicyType" }],
    loadBalancer: { ...state.loadBalancer, BackendServerDescriptions: both },
  });
  const backends = () => elb.classics.get(NAME)?.loadBalancer.BackendServerDescriptions;

  const moved = buildQuestion({ spec: { ports: [{ name: "http", port: 80, nodePort: 30_081 }] } });
  expect(converge(elb, moved)).toEqual(SETTLED);
  expect(backends()).toEqual(both);
  expect(converge(elb, buildQuestion({}))).toEqual(SETTLED);
  expect(backends()).toEqual([{ InstancePort: 30_080, PolicyNames: ["theirs"] }]);
});

test("a TLS policy on all TLS listeners, another one, and AWS's default again", () => {
  const tls = { "ssl-cert": ONE, "ssl-ports": "443" };
  const policies = (elb: FakeElb) =>
    elb.classics.get(NAME)?.loadBalancer.ListenerDescriptions?.map(({ PolicyNames }) => PolicyNames);
  const spec = { ports: PORTS };
  const { elb } = made({ annotations: buildAnnotations(tls), spec });
  expect(policies(elb)).toEqual([[], ["ELBSecurityPolicy-2016-08"]]);
  expect(elb.done).not.toContain("elb:CreateLoadBalancerPolicy");

  const annotations = buildAnnotations({
    ...tls,
    "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01",
  });
  converge(elb, buildQuestion({ annotations, spec }));
  expect(policies(elb)).toEqual([[], ["k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01"]]);

  converge(elb, buildQuestion({ annotations: buildAnnotations(tls), spec }));
  expect(policies(elb)).toEqual([[], ["k8s-SSLNegotiationPolicy-ELBSecurityPolicy-2016-08"]]);
  elb.done.length = 0;
  expect(converge(elb, buildQuestion({ annotations: buildAnnotations(tls), spec }))).toEqual(SETTLED);
  expect(elb.done).toEqual([]);
});

test("a listener is replaced if only the protocol towards instances changes", () => {
  const { elb } = made({ annotations: buildAnnotations({ "ssl-cert": ONE }) });
  elb.done.length = 0;

  converge(
    elb,
    buildQuestion({ annotations: buildAnnotations({ "ssl-cert": ONE, "backend-protocol": "ssl" }) }),
  );

  expect(listeners(elb)).toMatchObject([{ Protocol: "SSL", InstanceProtocol: "SSL" }]);
  expect(elb.done.slice(0, 2)).toEqual([
    "elb:DeleteLoadBalancerListeners",
    "elb:CreateLoadBalancerListeners",
  ]);
});

test("a listener's other policies, such as stickiness, stay in addition to the TLS policy", () => {
  const tls = { "ssl-cert": ONE, "backend-protocol": "http" };
  const { elb } = made({ annotations: buildAnnotations(tls) });
  const state = elb.classics.get(NAME);
  if (state === undefined) throw new Error("gone");
  const [{ Listener: listener } = {}] = state.loadBalancer.ListenerDescriptions ?? [];
  const sticky = { PolicyName: "sticky", PolicyTypeName: "LBCookieStickinessPolicyType" };
  elb.classics.set(NAME, {
    ...state,
    policies: [...state.policies, sticky],
    loadBalancer: {
      ...state.loadBalancer,
      ListenerDescriptions: [
        { ...(listener && { Listener: listener }), PolicyNames: ["ELBSecurityPolicy-2016-08", "sticky"] },
      ],
    },
  });

  const wanted = { ...tls, "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2-2017-01" };
  expect(converge(elb, buildQuestion({ annotations: buildAnnotations(wanted) }))).toEqual(SETTLED);
  expect(elb.classics.get(NAME)?.loadBalancer.ListenerDescriptions).toMatchObject([
    { PolicyNames: ["sticky", "k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01"] },
  ]);
});

test("a certificate is exchanged in place; the case of letters in its ARN makes no difference", () => {
  const { elb } = made({ annotations: buildAnnotations({ "ssl-cert": ONE }) });
  elb.done.length = 0;

  converge(elb, buildQuestion({ annotations: buildAnnotations({ "ssl-cert": TWO }) }));
  expect(elb.done).toEqual(["elb:SetLoadBalancerListenerSSLCertificate"]);
  expect(listeners(elb)).toMatchObject([{ SSLCertificateId: TWO }]);

  const capital = TWO.replace("certificate/two", "certificate/TWO");
  const allow = { securityGroups: [], subnets: [], elasticIPs: [], certificates: [capital], buckets: [] };
  converge(elb, buildQuestion({ annotations: buildAnnotations({ "ssl-cert": capital }) }), {
    settings: buildSettings({ allow }),
  });
  expect(elb.done).toHaveLength(1);
});

test("ports are added, removed and changed one after the other: old listeners go first", () => {
  const { elb } = made({ spec: { ports: PORTS } });
  elb.done.length = 0;

  const ports = [
    { port: 443, nodePort: 30_444 },
    { port: 8_080, nodePort: 30_090 },
  ];
  expect(converge(elb, buildQuestion({ spec: { ports } }))).toEqual(SETTLED);

  expect(listeners(elb)).toMatchObject([
    { LoadBalancerPort: 8_080, InstancePort: 30_090 },
    { LoadBalancerPort: 443, InstancePort: 30_444 },
  ]);
  expect(elb.done).toEqual([
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:RevokeSecurityGroupIngress",
    "elb:DeleteLoadBalancerListeners",
    "elb:CreateLoadBalancerListeners",
    "elb:DeleteLoadBalancerListeners",
    "elb:CreateLoadBalancerListeners",
    "elb:ConfigureHealthCheck",
  ]);
});

test("added nodes are registered before removed ones are deregistered; terminated instances are not targets", () => {
  const { elb } = made({ nodes: ["i-1", "i-2"] });
  elb.done.length = 0;
  elb.instances = { ...elb.instances, "i-4": { state: "terminated", groupIds: ["sg-nodes"] } };

  expect(converge(elb, buildQuestion({ nodes: ["i-2", "i-3", "i-4", "i-unknown"] }))).toEqual({
    ...SETTLED,
    awaits: { code: "TargetsAwaited", message: expect.stringMatching(/^1 nodes .* node-i-unknown$/) },
  });
  expect(described(elb).loadBalancer?.Instances).toEqual([{ InstanceId: "i-2" }, { InstanceId: "i-3" }]);
  expect(elb.done).toEqual([
    "elb:RegisterInstancesWithLoadBalancer",
    "elb:DeregisterInstancesFromLoadBalancer",
  ]);
});

test.each([
  ["some", ["i-1"]],
  ["none", []],
])("registered instances of listed nodes stay, with their rules, if AWS shows %s of them", (_, shown) => {
  const { elb } = made({ nodes: ["i-1", "i-2"] });
  elb.done.length = 0;
  elb.instances = Object.fromEntries(Object.entries(elb.instances).filter(([id]) => shown.includes(id)));
  const step = converge(elb, buildQuestion({ nodes: ["i-1", "i-2"] }));
  expect(step).toMatchObject({ kind: "settled", awaits: { code: "TargetsAwaited" } });
  expect(described(elb).loadBalancer?.Instances).toEqual([{ InstanceId: "i-1" }, { InstanceId: "i-2" }]);
  expect(elb.done).toEqual([]);
});

test("the last registered instance is deregistered if AWS shows it as terminated", () => {
  const { elb } = made({ nodes: ["i-1"] });
  elb.instances = { "i-1": { state: "terminated", groupIds: ["sg-nodes"] } };
  converge(elb, buildQuestion({ nodes: ["i-1"] }));
  expect(described(elb).loadBalancer?.Instances).toEqual([]);
});

test("100 nodes take one call, and above AWS's maximum the registered nodes stay", () => {
  const ids = Array.from({ length: 1_100 }, (_, index) => `i-${String(index).padStart(5, "0")}`);
  const elb = createClassicWorld();
  elb.instances = Object.fromEntries(ids.map((id) => [id, { state: "running", groupIds: ["sg-nodes"] }]));
  converge(elb, buildQuestion({ nodes: ids.slice(1_000) }));
  expect(elb.done.filter((each) => each.startsWith("elb:Register"))).toHaveLength(1);

  const step = converge(elb, buildQuestion({ nodes: ids }));

  expect(step).toMatchObject({ kind: "settled", warnings: [{ code: "TooManyTargets", value: "1100" }] });
  const instances = described(elb).loadBalancer?.Instances?.map(({ InstanceId }) => InstanceId);
  expect(instances).toHaveLength(1_000);
  expect(instances).toEqual(expect.arrayContaining(ids.slice(1_000)));
  elb.done.length = 0;
  converge(elb, buildQuestion({ nodes: ids }));
  expect(elb.done).toEqual([]);
});

test("nodes are selected by label, and no node is removed while labels are unknown", () => {
  const annotations = buildAnnotations({ "target-node-labels": "pool=edge" });
  const asked = buildQuestion({ annotations });
  const labelled = asked.nodes.map((node, index) => ({
    ...node,
    labels: hashLabels({ pool: index === 1 ? "edge" : "core" }),
  }));
  const elb = createClassicWorld();

  converge(elb, { ...asked, nodes: labelled });
  expect(described(elb).loadBalancer?.Instances).toEqual([{ InstanceId: "i-2" }]);

  expect(converge(elb, asked)).toMatchObject({ kind: "refused", issue: { code: "NodeLabelsUnknown" } });
  expect(described(elb).loadBalancer?.Instances).toEqual([{ InstanceId: "i-2" }]);
});

test("additional tags are set and removed; tags of others stay", () => {
  const { elb } = made({ annotations: buildAnnotations({ "additional-resource-tags": "Team=a,Cost=7" }) });
  const tags = () => elb.classics.get(NAME)?.tags ?? {};
  expect(tags()).toMatchObject({ Team: "a", Cost: "7", "kubernetes.io/service-name": "shop/web" });
  const state = elb.classics.get(NAME);
  if (state === undefined) throw new Error("gone");
  elb.classics.set(NAME, { ...state, tags: { ...state.tags, Theirs: "x" } });

  converge(elb, buildQuestion({ annotations: buildAnnotations({ "additional-resource-tags": "Team=b" }) }));
  expect(tags()).toMatchObject({ Team: "b", Theirs: "x", "kubernetes.io/cluster/prod": "owned" });
  expect(tags()).not.toHaveProperty("Cost");

  converge(elb, buildQuestion({}));
  expect(tags()).toEqual({
    Theirs: "x",
    "kubernetes.io/service-name": "shop/web",
    "kubernetes.io/cluster/prod": "owned",
  });
});

test.each([
  ["a second zone", "subnet-a", "subnet-a,subnet-b"],
  ["one zone less", "subnet-a,subnet-b", "subnet-b"],
  ["another zone", "subnet-a", "subnet-b"],
  ["one of two exchanged in its zone", "subnet-a,subnet-b", "subnet-a,subnet-b2"],
  ["both exchanged in their zones", "subnet-a,subnet-b", "subnet-a2,subnet-b2"],
  ["two for one of their zones", "subnet-a,subnet-b", "subnet-a2"],
  ["by name", "subnet-a", "name of subnet-b,name of subnet-c"],
])("subnets: %s", (_, from, to) => {
  const { elb } = made({ annotations: buildAnnotations({ subnets: from }) });

  expect(converge(elb, buildQuestion({ annotations: buildAnnotations({ subnets: to }) }))).toEqual(SETTLED);
  expect(described(elb).loadBalancer?.Subnets?.toSorted()).toEqual(to.replaceAll("name of ", "").split(","));
});

test("the only subnet cannot be exchanged for another of its zone, which a Warning says after all other work", () => {
  const { elb } = made({ annotations: buildAnnotations({ subnets: "subnet-a" }), nodes: ["i-1"] });

  const step = converge(
    elb,
    buildQuestion({ annotations: buildAnnotations({ subnets: "subnet-a2" }), nodes: ["i-2"] }),
  );

  expect(step).toMatchObject({
    kind: "refused",
    issue: { code: "SubnetsChanged", field: `${PREFIX}subnets` },
  });
  expect(described(elb).loadBalancer).toMatchObject({
    Subnets: ["subnet-a"],
    Instances: [{ InstanceId: "i-2" }],
  });
});

test.each([
  ["true", "false"],
  ["true", undefined],
  ["false", "true"],
])(
  "the scheme cannot be changed from internal=%s to %s, which a Warning says after all other work",
  (from, to) => {
    const { elb } = made({
      annotations: buildAnnotations({ internal: from, subnets: "subnet-a" }),
      nodes: ["i-1"],
    });
    const scheme = described(elb).loadBalancer?.Scheme;
    const annotations = buildAnnotations({
      subnets: "subnet-a",
      ...(to === undefined ? {} : { internal: to }),
    });

    const step = converge(elb, buildQuestion({ annotations, nodes: ["i-2"] }));

    expect(step).toMatchObject({
      kind: "refused",
      issue: {
        code: "InvalidAnnotation",
        field: `${PREFIX}internal`,
        ...(to === undefined ? {} : { value: to }),
      },
    });
    expect(described(elb).loadBalancer).toMatchObject({ Scheme: scheme, Instances: [{ InstanceId: "i-2" }] });
  },
);

import { expect, test } from "vitest";
import { checkClassic, planClassic } from "#clouds/aws/load-balancers/classic/plan.ts";
import {
  buildAnnotations,
  buildQuestion,
  buildSettings,
  converge,
  createClassicWorld,
  HOSTNAME,
  NAME,
  PREFIX,
  type ServiceInput,
} from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import { CERTIFICATES } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";

const PORT = { port: 80, nodePort: 30_080 };

/** A Service's input, and the rejection: code, field, value and a part of the allowed values. */
const REFUSED: readonly (readonly [
  string,
  ServiceInput,
  string,
  string | undefined,
  string | undefined,
  RegExp,
])[] = [
  [
    "an invalid annotation",
    { annotations: buildAnnotations({ "healthcheck-port": "x" }) },
    "InvalidAnnotation",
    `${PREFIX}healthcheck-port`,
    "x",
    /traffic-port/,
  ],
  [
    "target group attributes",
    { annotations: buildAnnotations({ "target-group-attributes": "a=b" }) },
    "UnsupportedAnnotation",
    `${PREFIX}target-group-attributes`,
    "a=b",
    /nlb/,
  ],
  [
    "session affinity",
    { spec: { sessionAffinity: "ClientIP" } },
    "SessionAffinity",
    "spec.sessionAffinity",
    "ClientIP",
    /^None$/,
  ],
  [
    "loadBalancerIP",
    { spec: { loadBalancerIP: "10.0.0.1" } },
    "LoadBalancerIP",
    "spec.loadBalancerIP",
    "10.0.0.1",
    /an empty field/,
  ],
  ["no ports", { spec: { ports: [] } }, "NoPorts", "spec.ports", undefined, /one port/],
  [
    "UDP",
    { spec: { ports: [PORT, { ...PORT, port: 53, protocol: "UDP" }] } },
    "UnsupportedProtocol",
    "spec.ports[1].protocol",
    "UDP",
    /TCP/,
  ],
  [
    "ports without node ports",
    { spec: { ports: [{ port: 80 }, { port: 81, nodePort: 0 }] } },
    "NoNodePort",
    "spec.ports",
    undefined,
    /nodePort/,
  ],
  [
    "too many ports",
    {
      spec: {
        ports: Array.from({ length: 101 }, (_, index) => ({ port: index + 1, nodePort: 30_000 + index })),
      },
    },
    "TooManyPorts",
    "spec.ports",
    "101",
    /at most 100/,
  ],
  [
    "an invalid source range",
    { spec: { loadBalancerSourceRanges: ["x"] } },
    "InvalidSourceRanges",
    "spec.loadBalancerSourceRanges",
    "x",
    /10.0.0.0/,
  ],
  [
    "an IPv6 source range",
    { spec: { loadBalancerSourceRanges: ["fd00::/8"] } },
    "InvalidSourceRanges",
    "spec.loadBalancerSourceRanges",
    undefined,
    /nlb/,
  ],
  [
    "an IPv6 source range in an annotation",
    { annotations: { "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8,::/0" } },
    "InvalidSourceRanges",
    "service.beta.kubernetes.io/load-balancer-source-ranges",
    undefined,
    /nlb/,
  ],
  [
    "a timeout that is not shorter than the interval",
    { annotations: buildAnnotations({ "healthcheck-timeout": "10" }) },
    "InvalidAnnotation",
    `${PREFIX}healthcheck-timeout`,
    "10",
    /less than the interval, which is 10/,
  ],
  [
    "a certificate that is not allowed",
    { annotations: buildAnnotations({ "ssl-cert": CERTIFICATES[0]?.replace("one", "three") ?? "" }) },
    "CertificateNotUsable",
    `${PREFIX}ssl-cert`,
    CERTIFICATES[0]?.replace("one", "three"),
    /^$/,
  ],
  [
    "a bucket that is not allowed",
    {
      annotations: buildAnnotations({ "access-log-enabled": "true", "access-log-s3-bucket-name": "theirs" }),
    },
    "BucketNotUsable",
    `${PREFIX}access-log-s3-bucket-name`,
    "theirs",
    /^$/,
  ],
];

test.each(REFUSED)(
  "%s is rejected before AWS is called, and nothing is made",
  (_, given, code, field, value, allowed) => {
    const elb = createClassicWorld();
    const expected = { code, field, ...(value === undefined ? {} : { value }) };

    const issue = checkClassic(buildQuestion(given), buildSettings());
    expect(issue).toMatchObject(expected);
    expect(issue?.allowed ?? "").toMatch(allowed);
    expect(converge(elb, buildQuestion(given))).toEqual({ kind: "refused", issue });
    expect(elb.done).toEqual([]);
    // Nor does it keep existing resources from deletion.
    expect(converge(elb, buildQuestion({ ...given, wanted: false }))).toMatchObject({ kind: "settled" });
  },
);

test.each(REFUSED)("%s: existing resources stay as they are, and can be deleted", (_, given) => {
  const elb = createClassicWorld();
  converge(elb, buildQuestion({}));
  const before = structuredClone(elb.classics.get(NAME));
  elb.done.length = 0;

  expect(converge(elb, buildQuestion(given))).toMatchObject({ kind: "refused" });
  expect(elb.classics.get(NAME)).toEqual(before);
  expect(elb.done).toEqual([]);
  converge(elb, buildQuestion({ ...given, wanted: false }));
  expect(elb.classics.size).toBe(0);
});

test.each([
  ["no subnet is fit", {}],
  ["a missing subnet", { subnets: "subnet-none" }],
  ["two are in one zone", { subnets: "subnet-a,subnet-a2" }],
] as const)(
  "%s: rejected with nothing made; an existing load balancer keeps its subnets and follows nodes",
  (_, annotations) => {
    const elb = createClassicWorld();
    const { subnets } = elb;
    if (Object.keys(annotations).length === 0) elb.subnets = [];
    const asked = buildQuestion({ annotations: buildAnnotations(annotations), nodes: ["i-2"] });
    expect(converge(elb, asked)).toMatchObject({ kind: "refused" });
    expect(elb.done).toEqual([]);

    elb.subnets = subnets;
    converge(elb, buildQuestion({ nodes: ["i-1"] }));
    if (Object.keys(annotations).length === 0) elb.subnets = [];
    expect(converge(elb, asked)).toMatchObject({ kind: "refused" });
    expect(elb.classics.get(NAME)?.loadBalancer).toMatchObject({
      Subnets: ["subnet-a", "subnet-b"],
      Instances: [{ InstanceId: "i-2" }],
    });
  },
);

test("a port without a node port is left out, and a message says so", () => {
  const elb = createClassicWorld();

  const step = converge(elb, buildQuestion({ spec: { ports: [{ port: 443 }, PORT] } }));

  expect(step).toEqual({
    kind: "settled",
    ingress: [{ hostname: HOSTNAME }],
    warnings: [expect.objectContaining({ code: "NoNodePort", field: "spec.ports[0].nodePort" })],
  });
  expect(elb.classics.get(NAME)?.loadBalancer.ListenerDescriptions).toMatchObject([
    { Listener: { LoadBalancerPort: 80 } },
  ]);
});

test("ineffective settings, and nodes without a rule to allow traffic, are reported after all work", () => {
  const elb = createClassicWorld();
  elb.instances = { "i-1": { state: "running", groupIds: ["sg-byo", "sg-extra"] } };

  const step = converge(
    elb,
    buildQuestion({ annotations: buildAnnotations({ "eip-allocations": "eipalloc-1" }) }),
  );

  expect(step).toMatchObject({
    kind: "settled",
    warnings: [{ code: "UnsupportedAnnotation" }, { code: expect.stringMatching(/NodeSecurityGroup/) }],
  });
});

test.each(["pi-prod", "", "0b2d5f6c", "0B2D5F6C-7A8E-4F0A-9B1C-2D3E4F5A6B7C", "../../x"])(
  "an invalid uid ('%s') names no load balancer: nothing is made, nothing is deleted",
  (uid) => {
    const elb = createClassicWorld();
    const asked = buildQuestion({});
    const { service } = asked;
    const named = { ...asked, service: { ...service, metadata: { ...service.metadata, uid } } };
    const theirs = { loadBalancer: { LoadBalancerName: "apiprod" }, tags: {}, attributes: {}, policies: [] };
    const state = { ...elb.observe(NAME), classic: theirs };

    expect(planClassic(named, state, buildSettings())).toMatchObject({ kind: "refused" });
    expect(planClassic({ ...named, wanted: false }, state, buildSettings())).toMatchObject({
      kind: "settled",
      ingress: [],
    });
  },
);

test("waits for a load balancer without a DNS name", () => {
  const elb = createClassicWorld();
  converge(elb, buildQuestion({}));
  const state = elb.observe(NAME);
  const { DNSName: _, ...loadBalancer } = state.classic?.loadBalancer ?? {};
  const classic = state.classic && { ...state.classic, loadBalancer };

  expect(
    planClassic(buildQuestion({}), { ...state, ...(classic && { classic }) }, buildSettings()),
  ).toMatchObject({
    kind: "wait",
  });
});

test("instances follow the nodes, and no client is shut out, if AWS rejects rules of the security group", () => {
  const elb = createClassicWorld();
  converge(elb, buildQuestion({ nodes: ["i-1"] }));
  const ranges = Array.from({ length: 31 }, (_, index) => `11.${index}.0.0/16`);
  const asked = buildQuestion({ nodes: ["i-2", "i-3"], spec: { loadBalancerSourceRanges: ranges } });

  const listRules = () => [...elb.security.groups.values()].map(({ ingress }) => ingress);
  const before = structuredClone(listRules());

  expect(() => converge(elb, asked)).toThrow("RulesPerSecurityGroupLimitExceeded");
  expect(listRules()).toEqual(before);
  expect(elb.classics.get(NAME)?.loadBalancer.Instances).toEqual([
    { InstanceId: "i-2" },
    { InstanceId: "i-3" },
  ]);
});

test("a TLS policy that AWS rejects holds nothing else back", () => {
  const [certificate = ""] = CERTIFICATES;
  const elb = createClassicWorld();
  converge(elb, buildQuestion({ annotations: buildAnnotations({ "ssl-cert": certificate }) }));
  const annotations = buildAnnotations({
    "ssl-cert": certificate,
    "ssl-negotiation-policy": "ELBSecurityPolicy-Typo",
    "security-groups": "sg-byo",
    "healthcheck-interval": "30",
    "connection-idle-timeout": "90",
    subnets: "subnet-a",
  });

  expect(() => converge(elb, buildQuestion({ annotations }))).toThrow("InvalidConfigurationRequest");
  const { loadBalancer, attributes } = elb.classics.get(NAME) ?? {};
  expect(loadBalancer).toMatchObject({
    SecurityGroups: ["sg-byo"],
    HealthCheck: { Interval: 30 },
    Subnets: ["subnet-a"],
  });
  expect(attributes).toMatchObject({ ConnectionSettings: { IdleTimeout: 90 } });
});

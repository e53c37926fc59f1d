import { describe, expect, test } from "vitest";
import { parsePermissions } from "#clouds/aws/load-balancers/vpc/rules.ts";
import type { Service } from "#core/service/service.ts";
import { hashLabels } from "#core/service/state-annotation.ts";
import * as classic from "#test/clouds/aws/load-balancers/classic/classic-world.ts";
import type { FakeElb } from "#test/clouds/aws/load-balancers/classic/fake-elb.ts";
import { type ControlledAws, control } from "#test/clouds/aws/load-balancers/controlled.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import * as network from "#test/clouds/aws/load-balancers/network/world.ts";

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";
const OTHER_GROUP = {
  group: { GroupId: "sg-other-nodes", GroupName: "other nodes", VpcId: "vpc-1" },
  tags: { "kubernetes.io/cluster/prod": "owned" },
  ingress: [],
};

/** A kind of load balancer, and how a test observes it. */
interface Kind {
  readonly aws: ControlledAws;
  readonly service: Service;
  readonly settings: ReturnType<typeof network.buildSettings>;
  targets(): readonly string[];
  /** Returns the protocols and ports that a group of nodes allows. */
  rules(group: string): readonly string[];
}

function networkKind(): Kind {
  const groups = [...network.buildVpc().groups, OTHER_GROUP];
  const instances = {
    ...network.buildVpc().instances,
    "i-3": network.buildInstance({ groupIds: ["sg-other-nodes"] }),
  };
  const fake: FakeElbv2 = network.createNetworkWorld({ groups, instances });
  const service = network.buildService();
  return {
    aws: {
      observe: (of) => network.observe(fake, network.buildQuestion(of)),
      apply: (action) => fake.apply(action),
    },
    service,
    settings: network.buildSettings(),
    targets: () =>
      network
        .observe(fake, network.buildQuestion(service))
        .targetGroups.flatMap(({ targets }) => targets.map(({ Id }) => Id ?? "")),
    rules: (id) => linesOf(fake.vpc.groups.find(({ group }) => group.GroupId === id)?.ingress),
  };
}

function classicKind(): Kind {
  const fake: FakeElb = classic.createClassicWorld();
  fake.security.add("sg-other-nodes", "other nodes", { "kubernetes.io/cluster/prod": "owned" });
  fake.instances = { ...fake.instances, "i-3": { state: "running", groupIds: ["sg-other-nodes"] } };
  return {
    aws: { observe: () => fake.observe(classic.NAME), apply: (action) => fake.act(action) },
    service: classic.buildQuestion().service,
    settings: classic.buildSettings(),
    targets: () =>
      (fake.observe(classic.NAME).classic?.loadBalancer.Instances ?? []).map(
        ({ InstanceId }) => InstanceId ?? "",
      ),
    rules: (id) => linesOf(fake.security.groups.get(id)?.ingress).map((line) => line.replace(/sg-\S+/, "sg")),
  };
}

function linesOf(ingress: Parameters<typeof parsePermissions>[0] = []): string[] {
  return parsePermissions(ingress)
    .map(({ protocol, ports, peer, description }) =>
      [protocol, ports?.join("-"), peer, description].filter(Boolean).join(" "),
    )
    .sort();
}

function annotated(service: Service, annotations: Readonly<Record<string, string>>): Service {
  const { metadata } = service;
  const named = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [PREFIX + key, value]));
  return { ...service, metadata: { ...metadata, annotations: { ...metadata.annotations, ...named } } };
}

/**
 * Returns a Service as the stock controller leaves it: with its finalizer and status, and without our
 * annotation.
 */
function withoutMark(service: Service): Service {
  const { "serverless-ccm.io/load-balancer": _, ...annotations } = service.metadata.annotations ?? {};
  return { ...service, metadata: { ...service.metadata, annotations } };
}

const { buildNodes: nodes } = network;

describe.each([
  ["network", networkKind],
  ["classic", classicKind],
])("the targets of a served %s load balancer follow the nodes", (kind, make) => {
  const refused: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
    ["an annotation cannot be read", { "healthcheck-interval": "soon" }, "InvalidAnnotation"],
    [
      "a certificate is not allowed",
      { "ssl-cert": "arn:aws:acm:eu-central-1:123456789012:certificate/x", "ssl-ports": "80" },
      "CertificateNotUsable",
    ],
    ["subnets are missing", { subnets: "subnet-nowhere" }, "SubnetNotFound"],
    ["the kind is another one", { type: kind === "network" ? "" : "nlb" }, "TypeChanged"],
    [
      "a security group is missing",
      kind === "network" ? { "extra-security-groups": "sg-nowhere" } : { "security-groups": "sg-nowhere" },
      kind === "network" ? "UnsupportedAnnotation" : "SecurityGroupNotAllowed",
    ],
  ];

  test.each(refused)("while %s", async (_, annotations, code) => {
    const { aws, service, settings, targets, rules } = make();
    const { object } = await control(aws, service, nodes("i-1", "i-2"), { settings });
    const edited = annotated(object, annotations);
    const two = await control(aws, edited, nodes("i-2", "i-3"), { settings });
    expect(two.decision).toMatchObject({ kind: "retry", because: { code } });
    expect(targets()).toEqual(["i-2", "i-3"]);
    expect(rules("sg-other-nodes")).toEqual(rules("sg-nodes"));
    expect(rules("sg-other-nodes")).not.toEqual([]);
  });

  test("after it was taken over from the stock controller", async () => {
    const { aws, service, settings, targets } = make();
    const { object } = await control(aws, service, nodes("i-1"), { settings });
    const stock = withoutMark(annotated(object, { "healthcheck-port": "x" }));
    await control(aws, stock, nodes("i-2", "i-3"), { settings });
    expect(targets()).toEqual(["i-2", "i-3"]);
  });

  test("but are not selected by label if the annotation with labels cannot be read", async () => {
    const { aws, service, settings, targets } = make();
    const { object } = await control(aws, service, nodes("i-1", "i-2"), { settings });
    await control(aws, annotated(object, { "target-node-labels": "?=?" }), nodes("i-2", "i-3"), { settings });
    expect(targets()).toEqual(["i-2"]);
  });

  test("and are selected by the labels of a readable annotation", async () => {
    const { aws, service, settings, targets } = make();
    const { object } = await control(aws, service, nodes("i-1", "i-2"), { settings });
    const edited = annotated(object, { "target-node-labels": "pool=web", "healthcheck-port": "x" });
    await control(aws, edited, nodes("i-2", "i-3"), { settings });
    expect(targets()).toEqual(["i-1", "i-2"]);
    const labels = hashLabels({ pool: "web" });
    const labelled = nodes("i-2", "i-3").map((node) => ({
      ...node,
      labels: node.name === "node-i-3" ? labels : "",
    }));
    await control(aws, edited, labelled, { settings });
    expect(targets()).toEqual(["i-3"]);
  });

  test("but never shrink to zero because AWS shows none of the instances", async () => {
    const { aws, service, settings, targets } = make();
    const { object } = await control(aws, service, nodes("i-1", "i-2"), { settings });
    await control(aws, annotated(object, { "healthcheck-port": "x" }), nodes("i-8", "i-9"), { settings });
    expect(targets()).toEqual(["i-1", "i-2"]);
  });
});

test("following nodes creates no load balancer for a Service without one", async () => {
  const { aws, service, settings } = networkKind();
  const status = { loadBalancer: { ingress: [{ hostname: "by.hand" }] } };
  const edited = { ...annotated(service, { "healthcheck-port": "x" }), status };
  const { actions, object } = await control(aws, edited, nodes("i-1"), { settings });
  expect(actions).toEqual([]);
  expect(object).toEqual(edited);
});

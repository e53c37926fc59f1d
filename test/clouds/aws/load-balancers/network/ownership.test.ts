import { expect, test } from "vitest";
import { describeOnAws } from "#clouds/aws/load-balancers/describe.ts";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import {
  buildDeletionQuestion,
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
  NAME,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const asked = buildQuestion(buildService());

/** Makes a load balancer as the stock controller leaves it, with drift and manual changes by an operator. */
function stockMade(aws: FakeElbv2): void {
  converge(aws, asked);
  for (const { group, attributes } of aws.groups.values()) {
    attributes["proxy_protocol_v2.enabled"] = "true";
    group.HealthCheckTimeoutSeconds = 10;
  }
  for (const { tags, attributes } of aws.balancers.values()) {
    tags["cost-centre"] = "42";
    attributes["deletion_protection.enabled"] = "false";
  }
}

test("a load balancer of the stock controller is taken over as it is: its name, its target groups and manual changes", () => {
  const aws = createNetworkWorld();
  stockMade(aws);
  const before = structuredClone([aws.balancers, aws.groups, aws.listeners]);
  const done = aws.done.length;
  const [hostname] = [...aws.balancers.values()].map(({ loadBalancer }) => loadBalancer.DNSName);
  expect(converge(aws, asked)).toEqual({ kind: "settled", ingress: [{ hostname }], warnings: [] });
  expect(aws.done.length).toBe(done);
  expect([aws.balancers, aws.groups, aws.listeners]).toEqual(before);
});

test.each([
  { name: "another cluster's tag", tags: { "kubernetes.io/cluster/other": "owned" } },
  { name: "another cluster's old tag", tags: { KubernetesCluster: "other" } },
  { name: "our tag, but shared", tags: { "kubernetes.io/cluster/prod": "shared" } },
])("a load balancer of the derived name with $name is neither changed nor deleted", ({ tags }) => {
  const aws = createNetworkWorld();
  converge(aws, asked);
  for (const each of [...aws.balancers.values(), ...aws.groups.values()]) each.tags = { ...tags };
  const before = structuredClone([aws.balancers, aws.groups, aws.listeners]);
  const changed = buildQuestion(
    buildService({}, { "cross-zone-load-balancing-enabled": "true" }),
    buildNodes("i-1"),
  );
  expect(converge(aws, changed)).toMatchObject({ kind: "refused", issue: { code: "NameTaken" } });
  expect(converge(aws, buildDeletionQuestion(buildService()))).toMatchObject({ kind: "settled" });
  expect([aws.balancers, aws.groups, aws.listeners]).toEqual(before);
});

test("one without any cluster's tag belongs to the Service if only the VPC is configured, and gets its tags", () => {
  const aws = createNetworkWorld();
  converge(aws, asked);
  for (const each of aws.balancers.values()) each.tags = {};
  expect(converge(aws, asked).kind).toBe("settled");
  expect([...aws.balancers.values()][0]?.tags).toEqual({
    "kubernetes.io/service-name": "default/web",
    "kubernetes.io/cluster/prod": "owned",
  });
});

test("one without any cluster's tag belongs to no Service if clusterTag is configured", () => {
  const aws = createNetworkWorld();
  const tagged = buildSettings({ clusterTag: "prod" });
  converge(aws, asked, tagged);
  for (const each of aws.balancers.values()) each.tags = {};
  const before = structuredClone([aws.balancers, aws.groups, aws.listeners]);
  expect(converge(aws, asked, tagged)).toMatchObject({ kind: "refused", issue: { code: "NameTaken" } });
  expect(converge(aws, buildDeletionQuestion(buildService()), tagged)).toMatchObject({ kind: "settled" });
  expect([aws.balancers, aws.groups, aws.listeners]).toEqual(before);
});

test("a uid that an API server made up matches no load balancer", () => {
  const aws = createNetworkWorld();
  const crafted = buildQuestion(buildService({}, {}, { uid: "pp-production" }));
  aws.apply({
    action: "elbv2:CreateLoadBalancer",
    target: "app",
    parameters: { Name: "appproduction", Type: "network", SubnetMappings: [{ SubnetId: "subnet-a" }] },
  });
  expect(converge(aws, crafted)).toMatchObject({ kind: "refused", issue: { code: "NameTaken" } });
  expect(converge(aws, buildDeletionQuestion(crafted.service))).toMatchObject({ kind: "settled" });
  expect(aws.balancers.size).toBe(1);
});

test("target groups that an earlier Service of the name left on its load balancer cause no conflict", () => {
  const aws = createNetworkWorld();
  const earlier = buildQuestion(buildService({}, {}, { uid: "00000000-8d1b-4c7e-9a44-0b1c2d3e4f50" }));
  converge(aws, earlier);
  const before = structuredClone([...aws.groups.values()]);
  expect(converge(aws, asked).kind).toBe("settled");
  expect(aws.groups.size).toBe(2);
  expect(converge(aws, buildDeletionQuestion(buildService())).kind).toBe("settled");
  expect([...aws.groups.values()]).toEqual(before);
});

test("tags of others stay when the annotation's tags are removed", () => {
  const aws = createNetworkWorld();
  converge(aws, buildQuestion(buildService({}, { "additional-resource-tags": "team=web" })));
  for (const each of aws.balancers.values()) each.tags["cost-centre"] = "42";
  converge(aws, asked);
  const { tags } = [...aws.balancers.values()][0] ?? {};
  expect([tags?.["team"], tags?.["cost-centre"]]).toEqual([undefined, "42"]);
});

test("one with deletion protection stays, and gets a Warning", () => {
  const aws = createNetworkWorld();
  converge(aws, asked);
  for (const { attributes } of aws.balancers.values()) attributes["deletion_protection.enabled"] = "true";
  expect(converge(aws, buildDeletionQuestion(buildService()))).toMatchObject({
    kind: "refused",
    issue: { code: "DeletionProtected" },
  });
  expect(aws.groups.size).toBe(1);
});

test("our classic one is replaced only if the operator allows it, after the new one is published", () => {
  const aws = createNetworkWorld();
  const classic = {
    loadBalancer: { LoadBalancerName: NAME, DNSName: "classic.example", SecurityGroups: [] },
    tags: { "kubernetes.io/service-name": "default/web", "kubernetes.io/cluster/prod": "owned" },
    attributes: {},
    policies: [],
  };
  const seen = (of = asked) => ({ ...observe(aws, of), classic });
  expect(model.planStep(asked, seen(), buildSettings())).toMatchObject({
    kind: "refused",
    issue: { code: "TypeChanged", value: "nlb" },
  });
  const replacing = buildSettings({ replaceOnTypeChange: true });
  expect(model.planStep(asked, seen(), replacing)).toMatchObject({ kind: "act" });
  converge(aws, asked, replacing);
  const made = model.planStep(asked, seen(), replacing);
  expect(made).toMatchObject({ kind: "settled", ingress: [{ hostname: expect.stringContaining(NAME) }] });
  const { ingress } = made as { ingress: readonly unknown[] };
  const published = buildQuestion(buildService({}, {}, {}, { loadBalancer: { ingress } }));
  expect(model.planStep(published, seen(published), replacing)).toMatchObject({
    kind: "act",
    actions: [{ action: "elb:DeleteLoadBalancer", target: NAME }],
  });
});

test("an application load balancer of the derived name is not ours", () => {
  const aws = createNetworkWorld();
  converge(aws, asked);
  for (const { loadBalancer } of aws.balancers.values()) loadBalancer.Type = "application";
  expect(converge(aws, asked)).toMatchObject({ kind: "refused", issue: { code: "NameTaken" } });
});

test.each([
  { name: "external", annotations: { type: "external" }, spec: {} },
  { name: "nlb-ip", annotations: { type: "nlb-ip" }, spec: {} },
  { name: "another class", annotations: {}, spec: { loadBalancerClass: "service.k8s.aws/nlb" } },
])("a Service with $name belongs to another controller", ({ annotations, spec }) => {
  expect(model.precheck(buildQuestion(buildService(spec, annotations)), buildSettings())).toEqual({
    kind: "foreign",
  });
});

test("our class is a network load balancer, with any annotation", () => {
  const aws = createNetworkWorld();
  converge(
    aws,
    buildQuestion(buildService({ loadBalancerClass: "serverless-ccm.io/nlb" }, { type: "external" })),
  );
  expect(aws.balancers.size).toBe(1);
});

test.each([
  ["no cluster's tag, with clusterTag configured,", {}, { clusterTag: "prod" }, "other"],
  ["no cluster's tag, in the configured VPC,", {}, {}, "service"],
  ["another cluster's tag", { "kubernetes.io/cluster/other": "owned" }, {}, "other"],
  ["ours", { "kubernetes.io/cluster/prod": "owned" }, { clusterTag: "prod" }, "service"],
])("doctor describes one with %s as the controller would treat it", (_, tags, cloud, belongsTo) => {
  const aws = createNetworkWorld();
  converge(aws, asked);
  for (const each of aws.balancers.values()) each.tags = tags;
  const of = buildSettings(cloud);
  expect(describeOnAws(asked.service, observe(aws, asked, of), of).belongsTo).toBe(belongsTo);
});

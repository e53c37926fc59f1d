import { expect, test } from "vitest";
import { describeOnAws } from "#clouds/aws/load-balancers/describe.ts";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import type { FakeElbv2 } from "#test/clouds/aws/load-balancers/fake-elbv2.ts";
import {
  converge,
  gone,
  NAME,
  nodes,
  observe,
  question,
  service,
  settings,
  world,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const asked = question(service());

/** As the stock controller leaves a load balancer behind, with what it does not keep and what an operator has done by hand. */
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

test("one that the stock controller made is taken over as it is: its name, its target groups and what was done by hand", () => {
  const aws = world();
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
])("one of the derived name with $name is neither changed nor deleted", ({ tags }) => {
  const aws = world();
  converge(aws, asked);
  for (const each of [...aws.balancers.values(), ...aws.groups.values()]) each.tags = { ...tags };
  const before = structuredClone([aws.balancers, aws.groups, aws.listeners]);
  const changed = question(service({}, { "cross-zone-load-balancing-enabled": "true" }), nodes("i-1"));
  expect(converge(aws, changed)).toMatchObject({ kind: "refused", problem: { code: "NameTaken" } });
  expect(converge(aws, gone(service()))).toMatchObject({ kind: "settled" });
  expect([aws.balancers, aws.groups, aws.listeners]).toEqual(before);
});

test("one without any cluster's tag is the Service's where the VPC is all that is configured, and gets its tags", () => {
  const aws = world();
  converge(aws, asked);
  for (const each of aws.balancers.values()) each.tags = {};
  expect(converge(aws, asked).kind).toBe("settled");
  expect([...aws.balancers.values()][0]?.tags).toEqual({
    "kubernetes.io/service-name": "default/web",
    "kubernetes.io/cluster/prod": "owned",
  });
});

test("one without any cluster's tag is nobody's where clusterTag is configured", () => {
  const aws = world();
  const tagged = settings({ clusterTag: "prod" });
  converge(aws, asked, tagged);
  for (const each of aws.balancers.values()) each.tags = {};
  const before = structuredClone([aws.balancers, aws.groups, aws.listeners]);
  expect(converge(aws, asked, tagged)).toMatchObject({ kind: "refused", problem: { code: "NameTaken" } });
  expect(converge(aws, gone(service()), tagged)).toMatchObject({ kind: "settled" });
  expect([aws.balancers, aws.groups, aws.listeners]).toEqual(before);
});

test("a uid that an API server made up names nobody's load balancer", () => {
  const aws = world();
  const crafted = question(service({}, {}, { uid: "pp-production" }));
  aws.apply({
    action: "elbv2:CreateLoadBalancer",
    target: "app",
    parameters: { Name: "appproduction", Type: "network", SubnetMappings: [{ SubnetId: "subnet-a" }] },
  });
  expect(converge(aws, crafted)).toMatchObject({ kind: "refused", problem: { code: "NameTaken" } });
  expect(converge(aws, gone(crafted.service))).toMatchObject({ kind: "settled" });
  expect(aws.balancers.size).toBe(1);
});

test("target groups that an earlier Service of the name left on its load balancer are not fought over", () => {
  const aws = world();
  const earlier = question(service({}, {}, { uid: "00000000-8d1b-4c7e-9a44-0b1c2d3e4f50" }));
  converge(aws, earlier);
  const before = structuredClone([...aws.groups.values()]);
  expect(converge(aws, asked).kind).toBe("settled");
  expect(aws.groups.size).toBe(2);
  expect(converge(aws, gone(service())).kind).toBe("settled");
  expect([...aws.groups.values()]).toEqual(before);
});

test("tags of others stay when the annotation's go", () => {
  const aws = world();
  converge(aws, question(service({}, { "additional-resource-tags": "team=web" })));
  for (const each of aws.balancers.values()) each.tags["cost-centre"] = "42";
  converge(aws, asked);
  const { tags } = [...aws.balancers.values()][0] ?? {};
  expect([tags?.["team"], tags?.["cost-centre"]]).toEqual([undefined, "42"]);
});

test("one that is protected from deletion stays, and that is said", () => {
  const aws = world();
  converge(aws, asked);
  for (const { attributes } of aws.balancers.values()) attributes["deletion_protection.enabled"] = "true";
  expect(converge(aws, gone(service()))).toMatchObject({
    kind: "refused",
    problem: { code: "DeletionProtected" },
  });
  expect(aws.groups.size).toBe(1);
});

test("a classic one of ours is not replaced unless the operator says so, and then after the new one is published", () => {
  const aws = world();
  const classic = {
    loadBalancer: { LoadBalancerName: NAME, DNSName: "classic.example", SecurityGroups: [] },
    tags: { "kubernetes.io/service-name": "default/web", "kubernetes.io/cluster/prod": "owned" },
    attributes: {},
    policies: [],
  };
  const seen = (of = asked) => ({ ...observe(aws, of), classic });
  expect(model.next(asked, seen(), settings())).toMatchObject({
    kind: "refused",
    problem: { code: "TypeChanged", value: "nlb" },
  });
  const replacing = settings({ replaceOnTypeChange: true });
  expect(model.next(asked, seen(), replacing)).toMatchObject({ kind: "act" });
  converge(aws, asked, replacing);
  const made = model.next(asked, seen(), replacing);
  expect(made).toMatchObject({ kind: "settled", ingress: [{ hostname: expect.stringContaining(NAME) }] });
  const { ingress } = made as { ingress: readonly unknown[] };
  const published = question(service({}, {}, {}, { loadBalancer: { ingress } }));
  expect(model.next(published, seen(published), replacing)).toMatchObject({
    kind: "act",
    actions: [{ action: "elb:DeleteLoadBalancer", target: NAME }],
  });
});

test("an application load balancer of the derived name is not ours", () => {
  const aws = world();
  converge(aws, asked);
  for (const { loadBalancer } of aws.balancers.values()) loadBalancer.Type = "application";
  expect(converge(aws, asked)).toMatchObject({ kind: "refused", problem: { code: "NameTaken" } });
});

test.each([
  { name: "external", annotations: { type: "external" }, spec: {} },
  { name: "nlb-ip", annotations: { type: "nlb-ip" }, spec: {} },
  { name: "another class", annotations: {}, spec: { loadBalancerClass: "service.k8s.aws/nlb" } },
])("$name is another controller's", ({ annotations, spec }) => {
  expect(model.before(question(service(spec, annotations)), settings())).toEqual({ kind: "elsewhere" });
});

test("our class is a network load balancer, whatever the annotation says", () => {
  const aws = world();
  converge(aws, question(service({ loadBalancerClass: "serverless-ccm.io/nlb" }, { type: "external" })));
  expect(aws.balancers.size).toBe(1);
});

test.each([
  ["no cluster's tag, beside clusterTag,", {}, { clusterTag: "prod" }, "other"],
  ["no cluster's tag, in the configured VPC,", {}, {}, "service"],
  ["another cluster's tag", { "kubernetes.io/cluster/other": "owned" }, {}, "other"],
  ["ours", { "kubernetes.io/cluster/prod": "owned" }, { clusterTag: "prod" }, "service"],
])("one with %s is described as it would be treated", (_, tags, cloud, belongsTo) => {
  const aws = world();
  converge(aws, asked);
  for (const each of aws.balancers.values()) each.tags = tags;
  const of = settings(cloud);
  expect(describeOnAws(asked.service, observe(aws, asked, of), of).belongsTo).toBe(belongsTo);
});

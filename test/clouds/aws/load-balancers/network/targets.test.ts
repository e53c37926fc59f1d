import { expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { hashLabels } from "#core/service/state-annotation.ts";
import {
  buildInstance,
  buildNodes,
  buildQuestion,
  buildService,
  converge,
  createNetworkWorld,
  observe,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, at) => `i-${at + from}`);
const running = (all: readonly string[], zone = "eu-central-1a") =>
  Object.fromEntries(all.map((id) => [id, buildInstance({ zone })]));

test("a hundred added nodes take one call a target group, and no call if nothing differs", () => {
  const aws = createNetworkWorld({ instances: running(ids(150)) });
  converge(aws, buildQuestion(buildService(), buildNodes(...ids(50))));
  const before = aws.done.length;
  converge(aws, buildQuestion(buildService(), buildNodes(...ids(150))));
  expect(aws.done.slice(before).map(({ action }) => action)).toEqual(["elbv2:RegisterTargets"]);
  converge(aws, buildQuestion(buildService(), buildNodes(...ids(150))));
  expect(aws.done.length).toBe(before + 1);
});

test("targets are added before others are removed", () => {
  const aws = createNetworkWorld({ instances: running(ids(4)) });
  converge(aws, buildQuestion(buildService(), buildNodes("i-1", "i-2")));
  const before = aws.done.length;
  converge(aws, buildQuestion(buildService(), buildNodes("i-3", "i-4")));
  expect(aws.done.slice(before).map(({ action }) => action)).toEqual([
    "elbv2:RegisterTargets",
    "elbv2:DeregisterTargets",
  ]);
});

test.each([
  ["has no provider ID", { name: "n" }],
  ["is Fargate", { name: "n", providerID: "aws:///eu-central-1a/x/fargate-10.0.0.9" }],
  ["is another cloud's", { name: "n", providerID: "gce://p/z/i-1" }],
  ["has an instance that AWS does not show", { name: "n", providerID: "aws:///eu-central-1a/i-gone" }],
  ["has an instance that is stopped", { name: "n", providerID: "aws:///eu-central-1a/i-9" }],
])("a node that %s delays no other", (_, node) => {
  const aws = createNetworkWorld({
    instances: { ...running(ids(2)), "i-9": buildInstance({ state: "stopped" }) },
  });
  const asked = buildQuestion(buildService(), [...buildNodes("i-1", "i-2"), node]);
  expect(converge(aws, asked).kind).toBe("settled");
  expect(observe(aws, asked).targetGroups[0]?.targets.map(({ Id }) => Id)).toEqual(["i-1", "i-2"]);
});

test("a stopping instance stays, as it may run again while its node exists", () => {
  const aws = createNetworkWorld({ instances: running(ids(2)) });
  const asked = buildQuestion(buildService(), buildNodes("i-1", "i-2"));
  converge(aws, asked);
  aws.vpc = { ...aws.vpc, instances: { ...running(["i-1"]), "i-2": buildInstance({ state: "stopped" }) } };
  converge(aws, asked);
  expect(observe(aws, asked).targetGroups[0]?.targets).toHaveLength(2);
});

test.each([
  ["some", running(["i-1"])],
  ["none", {}],
])("registered instances of listed nodes stay, with their rules, if AWS shows %s of them", (_, shown) => {
  const aws = createNetworkWorld({ instances: running(["i-1", "i-2"]) });
  const asked = buildQuestion(buildService(), buildNodes("i-1", "i-2"));
  converge(aws, asked);
  const { ingress } = aws.vpc.groups.find(({ group }) => group.GroupId === "sg-nodes") ?? {};
  expect(ingress).not.toEqual([]);
  aws.vpc = { ...aws.vpc, instances: shown };
  expect(converge(aws, asked)).toMatchObject({ kind: "settled", awaits: { code: "TargetsAwaited" } });
  expect(observe(aws, asked).targetGroups[0]?.targets.map(({ Id }) => Id)).toEqual(["i-1", "i-2"]);
  expect(aws.vpc.groups.find(({ group }) => group.GroupId === "sg-nodes")?.ingress).toEqual(ingress);
});

test("source ranges change on the nodes' group while AWS shows no instance", () => {
  const aws = createNetworkWorld({ instances: running(["i-1"]) });
  converge(aws, buildQuestion(buildService(), buildNodes("i-1")));
  aws.vpc = { ...aws.vpc, instances: {} };
  const narrowed = buildService({ loadBalancerSourceRanges: ["192.0.2.0/24"] });
  converge(aws, buildQuestion(narrowed, buildNodes("i-1")));
  const { ingress } = aws.vpc.groups.find(({ group }) => group.GroupId === "sg-nodes") ?? {};
  const clients = ingress?.flatMap(({ FromPort, IpRanges = [] }) =>
    IpRanges.flatMap(({ CidrIp, Description }) =>
      FromPort === 30_080 && Description?.includes("/client=") ? [CidrIp] : [],
    ),
  );
  expect(clients).toEqual(["192.0.2.0/24"]);
});

test("a registered instance stays while no instance of the nodes can replace it", () => {
  const aws = createNetworkWorld({ instances: running(["i-1"]) });
  converge(aws, buildQuestion(buildService(), buildNodes("i-1")));
  const asked = buildQuestion(buildService(), buildNodes("i-new"));
  expect(converge(aws, asked)).toMatchObject({ kind: "settled" });
  expect(observe(aws, asked).targetGroups[0]?.targets.map(({ Id }) => Id)).toEqual(["i-1"]);
  aws.vpc = { ...aws.vpc, instances: running(["i-1", "i-new"]) };
  converge(aws, asked);
  expect(observe(aws, asked).targetGroups[0]?.targets.map(({ Id }) => Id)).toEqual(["i-new"]);
});

test.each([
  ["shows it as terminated", { instances: { "i-1": buildInstance({ state: "terminated" }) } }],
  ["shows it with another owner", { instances: {}, excludedInstanceIds: ["i-1"] }],
])("the last registered instance is deregistered if AWS %s", (_, shown) => {
  const aws = createNetworkWorld({ instances: running(["i-1"]) });
  const asked = buildQuestion(buildService(), buildNodes("i-1"));
  converge(aws, asked);
  aws.vpc = { ...aws.vpc, ...shown };
  converge(aws, asked);
  expect(observe(aws, asked).targetGroups[0]?.targets).toEqual([]);
});

test.each([
  ["is starting", "pending"],
  ["is stopped", "stopped"],
  ["is not shown, or lacks the tag", undefined],
])("an instance that %s is waited for, but does not delay the hostname", (_, state) => {
  const other = state === undefined ? {} : { "i-2": buildInstance({ state }) };
  const aws = createNetworkWorld({ instances: { ...running(["i-1"]), ...other } });
  const asked = buildQuestion(buildService(), buildNodes("i-1", "i-2"));
  expect(converge(aws, asked)).toMatchObject({
    kind: "settled",
    ingress: [{ hostname: expect.any(String) }],
    awaits: { code: "TargetsAwaited", message: expect.stringContaining("node-i-2") },
  });
  aws.vpc = { ...aws.vpc, instances: running(["i-1", "i-2"]) };
  const end = converge(aws, asked);
  expect(end).toMatchObject({ kind: "settled" });
  expect(end).not.toHaveProperty("awaits");
});

test.each([
  ["has ended", "terminated", false],
  ["is about to end", "shutting-down", false],
  ["is stopped and registered", "stopped", true],
])("an instance that %s is not waited for", (_, state, isRegistered) => {
  const aws = createNetworkWorld({ instances: running(["i-1", "i-2"]) });
  const asked = buildQuestion(buildService(), buildNodes("i-1", "i-2"));
  converge(aws, isRegistered ? asked : buildQuestion(buildService(), buildNodes("i-1")));
  aws.vpc = { ...aws.vpc, instances: { ...running(["i-1"]), "i-2": buildInstance({ state }) } };
  expect(converge(aws, asked)).not.toHaveProperty("awaits");
  expect(observe(aws, asked).targetGroups[0]?.targets).toHaveLength(isRegistered ? 2 : 1);
});

test("above AWS's maximum in a zone a subset stays, the same for all ports, and removed targets are replaced", () => {
  const all = ids(600);
  const aws = createNetworkWorld({ instances: running(all) });
  const ports = [80, 443].map((port) => ({
    protocol: "TCP",
    port,
    nodePort: 30_000 + port,
    name: `p${port}`,
  }));
  const asked = buildQuestion(buildService({ ports }), buildNodes(...all));
  expect(converge(aws, asked)).toMatchObject({ warnings: [{ code: "TooManyTargets", value: "600" }] });
  const taken = () =>
    observe(aws, asked).targetGroups.map(({ targets }) => targets.map(({ Id }) => Id ?? "").sort());
  const [first, second] = taken();
  expect(first).toHaveLength(250);
  expect(second).toEqual(first);
  const left = new Set(first?.slice(10));
  const rest = all.filter((id) => !first?.includes(id) || left.has(id));
  converge(aws, buildQuestion(buildService({ ports }), buildNodes(...rest)));
  expect(taken()[0]).toHaveLength(250);
  expect([...left].every((id) => taken()[0]?.includes(id))).toBe(true);
});

test("each zone has its own maximum, unless traffic crosses zones", () => {
  const all = ids(600);
  const instances = { ...running(all.slice(0, 300)), ...running(all.slice(300), "eu-central-1b") };
  const aws = createNetworkWorld({ instances });
  expect(converge(aws, buildQuestion(buildService(), buildNodes(...all)))).toMatchObject({ warnings: [] });
  const across = buildService({}, { "cross-zone-load-balancing-enabled": "true" });
  expect(converge(aws, buildQuestion(across, buildNodes(...all)))).toMatchObject({
    warnings: [{ code: "TooManyTargets" }],
  });
});

test("warnings about single nodes are limited and leave room for the one about too many targets", () => {
  const all = ids(600);
  const withIpv6 = Object.fromEntries(
    all.map((id) => [id, buildInstance({ primaryIpv6: `fd00::${id.slice(2)}` })]),
  );
  const aws = createNetworkWorld({ instances: { ...withIpv6, ...running(ids(9, 601)) } });
  const service = buildService({ ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" });
  expect(converge(aws, buildQuestion(service, buildNodes(...ids(609))))).toMatchObject({
    warnings: [
      ...Array.from({ length: 5 }, () => ({ code: "NodeWithoutIPv6" })),
      { code: "TooManyTargets", value: "600" },
    ],
  });
});

/** Builds instances in zones, so many in each. */
const inZones = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([zone, count]) =>
      Object.entries(running(ids(count), `eu-central-1${zone}`)).map(
        ([id, of]) => [`${id}${zone}`, of] as const,
      ),
    ),
  );

test.each([
  ["1,000 in a target group", 1, {}, { a: 450, b: 450, c: 450 }, { a: 333, b: 333, c: 333 }],
  ["what a small zone leaves others get", 1, {}, { a: 500, b: 500, c: 40 }, { a: 480, b: 480, c: 40 }],
  [
    "3,000 in a load balancer, over all ports",
    5,
    {},
    { a: 90, b: 90, c: 90, d: 90, e: 90, f: 90, g: 90 },
    { a: 85, b: 85, c: 85, d: 85, e: 85, f: 85, g: 85 },
  ],
  [
    "500 across zones, over all zones",
    1,
    { "cross-zone-load-balancing-enabled": "true" },
    { a: 600, b: 30 },
    { a: 470, b: 30 },
  ],
])("above AWS's maximum: %s", (_, count, annotations, there, taken) => {
  const instances = inZones(there);
  const all = Object.keys(instances);
  const aws = createNetworkWorld({ instances });
  const ports = Array.from({ length: count }, (_, at) => ({
    protocol: "TCP",
    port: 80 + at,
    nodePort: 30_080 + at,
    name: `p${at}`,
  }));
  const asked = buildQuestion(buildService({ ports }, annotations), buildNodes(...all));
  const sum = Object.values(taken).reduce((one, other) => one + other);
  expect(converge(aws, asked)).toMatchObject({
    kind: "settled",
    warnings: [{ code: "TooManyTargets", detail: `${sum} of ${all.length} instances are targets` }],
  });
  const targets = observe(aws, asked).targetGroups.map((group) =>
    group.targets.map(({ Id = "" }) => Id).sort(),
  );
  expect(targets.every((each) => String(each) === String(targets[0]))).toBe(true);
  const byZone = Map.groupBy(targets[0] ?? [], (id) => id.slice(-1));
  expect(Object.fromEntries([...byZone].map(([zone, of]) => [zone, of.length]))).toEqual(taken);
  // A removed node is replaced, and each zone changes by at most one other target.
  const [gone] = targets[0] ?? [];
  converge(
    aws,
    buildQuestion(buildService({ ports }, annotations), buildNodes(...all.filter((id) => id !== gone))),
  );
  const after = observe(aws, asked).targetGroups[0]?.targets.map(({ Id = "" }) => Id) ?? [];
  const moved = after.filter((id) => targets[0]?.includes(id) !== true);
  expect(moved.length).toBeLessThanOrEqual(Object.keys(there).length);
});

test("a label by which a Service selects nodes is part of its targets' state, and of no other Service's", () => {
  const [node] = buildNodes("i-1");
  const as = (labels: Readonly<Record<string, string>>) => ({
    name: "n",
    ...node,
    labels: hashLabels(labels),
  });
  const chosen = buildService({}, { "target-node-labels": "pool=edge" });
  expect(model.getTarget(as({ pool: "edge" }), chosen)).toBe("i-1");
  expect(model.getTarget(as({ pool: "core" }), chosen)).toBeUndefined();
  expect(model.getTarget(as({ pool: "core" }), buildService())).toBe("i-1");
});

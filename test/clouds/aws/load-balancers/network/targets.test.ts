import { expect, test } from "vitest";
import { awsLoadBalancerModel as model } from "#clouds/aws/load-balancers/model.ts";
import { labelMarks } from "#core/service/label-marks.ts";
import {
  converge,
  instance,
  nodes,
  observe,
  question,
  service,
  world,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, at) => `i-${at + from}`);
const running = (all: readonly string[], zone = "eu-central-1a") =>
  Object.fromEntries(all.map((id) => [id, instance({ zone })]));

test("a hundred nodes more are one call a target group, and nothing where nothing differs", () => {
  const aws = world({ instances: running(ids(150)) });
  converge(aws, question(service(), nodes(...ids(50))));
  const before = aws.done.length;
  converge(aws, question(service(), nodes(...ids(150))));
  expect(aws.done.slice(before).map(({ action }) => action)).toEqual(["elbv2:RegisterTargets"]);
  converge(aws, question(service(), nodes(...ids(150))));
  expect(aws.done.length).toBe(before + 1);
});

test("targets come before others go", () => {
  const aws = world({ instances: running(ids(4)) });
  converge(aws, question(service(), nodes("i-1", "i-2")));
  const before = aws.done.length;
  converge(aws, question(service(), nodes("i-3", "i-4")));
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
  const aws = world({ instances: { ...running(ids(2)), "i-9": instance({ state: "stopped" }) } });
  const asked = question(service(), [...nodes("i-1", "i-2"), node]);
  expect(converge(aws, asked).kind).toBe("settled");
  expect(observe(aws, asked).targetGroups[0]?.targets.map(({ Id }) => Id)).toEqual(["i-1", "i-2"]);
});

test("one that stops stays, as it may run again while its node is there", () => {
  const aws = world({ instances: running(ids(2)) });
  const asked = question(service(), nodes("i-1", "i-2"));
  converge(aws, asked);
  aws.vpc = { ...aws.vpc, instances: { ...running(["i-1"]), "i-2": instance({ state: "stopped" }) } };
  converge(aws, asked);
  expect(observe(aws, asked).targetGroups[0]?.targets).toHaveLength(2);
});

test.each([
  ["is starting", "pending"],
  ["is stopped", "stopped"],
  ["is not shown, or lacks the tag", undefined],
])("an instance that %s is waited for, but not with the hostname", (_, state) => {
  const other = state === undefined ? {} : { "i-2": instance({ state }) };
  const aws = world({ instances: { ...running(["i-1"]), ...other } });
  const asked = question(service(), nodes("i-1", "i-2"));
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
  const aws = world({ instances: running(["i-1", "i-2"]) });
  const asked = question(service(), nodes("i-1", "i-2"));
  converge(aws, isRegistered ? asked : question(service(), nodes("i-1")));
  aws.vpc = { ...aws.vpc, instances: { ...running(["i-1"]), "i-2": instance({ state }) } };
  expect(converge(aws, asked)).not.toHaveProperty("awaits");
  expect(observe(aws, asked).targetGroups[0]?.targets).toHaveLength(isRegistered ? 2 : 1);
});

test("of more than AWS takes in a zone a subset stays, the same for all ports, and what leaves is replaced", () => {
  const all = ids(600);
  const aws = world({ instances: running(all) });
  const ports = [80, 443].map((port) => ({
    protocol: "TCP",
    port,
    nodePort: 30_000 + port,
    name: `p${port}`,
  }));
  const asked = question(service({ ports }), nodes(...all));
  expect(converge(aws, asked)).toMatchObject({ warnings: [{ code: "TooManyTargets", value: "600" }] });
  const taken = () =>
    observe(aws, asked).targetGroups.map(({ targets }) => targets.map(({ Id }) => Id ?? "").sort());
  const [first, second] = taken();
  expect(first).toHaveLength(250);
  expect(second).toEqual(first);
  const left = new Set(first?.slice(10));
  const rest = all.filter((id) => !first?.includes(id) || left.has(id));
  converge(aws, question(service({ ports }), nodes(...rest)));
  expect(taken()[0]).toHaveLength(250);
  expect([...left].every((id) => taken()[0]?.includes(id))).toBe(true);
});

test("zones have room each, unless traffic is sent across them", () => {
  const all = ids(600);
  const instances = { ...running(all.slice(0, 300)), ...running(all.slice(300), "eu-central-1b") };
  const aws = world({ instances });
  expect(converge(aws, question(service(), nodes(...all)))).toMatchObject({ warnings: [] });
  const across = service({}, { "cross-zone-load-balancing-enabled": "true" });
  expect(converge(aws, question(across, nodes(...all)))).toMatchObject({
    warnings: [{ code: "TooManyTargets" }],
  });
});

/** Instances in zones, so many in each. */
const inZones = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(counts).flatMap(([zone, count]) =>
      Object.entries(running(ids(count), `eu-central-1${zone}`)).map(
        ([id, of]) => [`${id}${zone}`, of] as const,
      ),
    ),
  );

test.each([
  ["a target group takes 1,000", 1, {}, { a: 450, b: 450, c: 450 }, { a: 333, b: 333, c: 333 }],
  ["what a small zone leaves others get", 1, {}, { a: 500, b: 500, c: 40 }, { a: 480, b: 480, c: 40 }],
  [
    "a load balancer takes 3,000, of all ports",
    5,
    {},
    { a: 90, b: 90, c: 90, d: 90, e: 90, f: 90, g: 90 },
    { a: 85, b: 85, c: 85, d: 85, e: 85, f: 85, g: 85 },
  ],
  [
    "across zones it takes 500, of all zones",
    1,
    { "cross-zone-load-balancing-enabled": "true" },
    { a: 600, b: 30 },
    { a: 470, b: 30 },
  ],
])("of more than AWS takes: %s", (_, count, annotations, there, taken) => {
  const instances = inZones(there);
  const all = Object.keys(instances);
  const aws = world({ instances });
  const ports = Array.from({ length: count }, (_, at) => ({
    protocol: "TCP",
    port: 80 + at,
    nodePort: 30_080 + at,
    name: `p${at}`,
  }));
  const asked = question(service({ ports }, annotations), nodes(...all));
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
  // A node that goes is replaced, and nobody else's place changes but by one in each zone.
  const [gone] = targets[0] ?? [];
  converge(aws, question(service({ ports }, annotations), nodes(...all.filter((id) => id !== gone))));
  const after = observe(aws, asked).targetGroups[0]?.targets.map(({ Id = "" }) => Id) ?? [];
  const moved = after.filter((id) => targets[0]?.includes(id) !== true);
  expect(moved.length).toBeLessThanOrEqual(Object.keys(there).length);
});

test("a label that a Service chooses nodes by is part of what its targets are, and of no other's", () => {
  const [node] = nodes("i-1");
  const as = (labels: Readonly<Record<string, string>>) => ({
    name: "n",
    ...node,
    labels: labelMarks(labels),
  });
  const chosen = service({}, { "target-node-labels": "pool=edge" });
  expect(model.targetOf(as({ pool: "edge" }), chosen)).toBe("i-1");
  expect(model.targetOf(as({ pool: "core" }), chosen)).toBeUndefined();
  expect(model.targetOf(as({ pool: "core" }), service())).toBe("i-1");
});

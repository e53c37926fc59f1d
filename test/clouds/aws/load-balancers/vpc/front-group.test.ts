import { expect, test } from "vitest";
import type { VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { Opening } from "#clouds/aws/load-balancers/types.ts";
import { planFrontendGroup } from "#clouds/aws/load-balancers/vpc/frontend-group.ts";
import {
  buildGroup,
  buildRule,
  buildVpc,
  OURS,
  OWNER,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { converge, formatRules } from "#test/clouds/aws/load-balancers/vpc/world.ts";

const NAME = "k8s-elb-a1";
const OPENINGS: readonly Opening[] = [
  { protocol: "tcp", ports: [80, 80], cidrs: ["10.0.0.0/8", "2001:db8::/32"] },
  { protocol: "icmp", ports: [3, 4], cidrs: ["10.0.0.0/8"] },
];
const WANTED = { owner: OWNER, name: NAME, description: "of a1", openings: OPENINGS };
const RULES = ["icmp 3-4 10.0.0.0/8", "tcp 80-80 10.0.0.0/8", "tcp 80-80 2001:db8::/32"];
const TAGS = { ...OURS, "kubernetes.io/service-name": "default/web" };

const plan = (vpc: VpcState) => planFrontendGroup(WANTED, vpc);

test("the group is made with its tags, and then its rules are", () => {
  const { vpc, done, last } = converge(plan, buildVpc());
  expect(done.map(({ action }) => action)).toEqual([
    "ec2:CreateSecurityGroup",
    "ec2:AuthorizeSecurityGroupIngress",
  ]);
  expect(done[0]?.parameters).toMatchObject({ GroupName: NAME, VpcId: "vpc-1", Description: "of a1" });
  expect(vpc.groups).toMatchObject([{ group: { GroupId: "sg-new", GroupName: NAME }, tags: TAGS }]);
  expect(formatRules(vpc, "sg-new")).toEqual(RULES);
  expect(last).toEqual({ kind: "ready", value: "sg-new" });
});

test.each([
  ["missing rules are added", [buildRule("tcp", [80, 80], "10.0.0.0/8")], ["Authorize"]],
  [
    "unwanted rules are removed",
    [
      buildRule("tcp", [80, 80], "10.0.0.0/8"),
      buildRule("tcp", [80, 80], "2001:db8::/32"),
      buildRule("icmp", [3, 4], "10.0.0.0/8"),
      buildRule("tcp", [443, 443], "10.0.0.0/8"),
      buildRule("tcp", [80, 80], "sg-other"),
    ],
    ["Revoke"],
  ],
  [
    "new rules are added before old ones are removed",
    [buildRule("tcp", [443, 443], "0.0.0.0/0")],
    ["Authorize", "Revoke"],
  ],
  [
    "equivalent rules in another notation stay",
    [
      buildRule("6", [80, 80], "10.0.0.0/8", "by hand"),
      buildRule("tcp", [80, 80], "2001:DB8::/32"),
      buildRule("1", [3, 4], "10.0.0.0/8"),
    ],
    [],
  ],
  [
    "old rules are removed first if both sets do not fit",
    Array.from({ length: 60 }, (_, port) => buildRule("tcp", [port, port], "0.0.0.0/0")),
    ["Revoke", "Authorize"],
  ],
])("%s", (_, ingress, expected) => {
  const { vpc, done } = converge(
    plan,
    buildVpc({ groups: [buildGroup("sg-1", { name: NAME, tags: TAGS, ingress })] }),
  );
  expect(done.map(({ action }) => action.slice("ec2:".length).replace("SecurityGroupIngress", ""))).toEqual(
    expected,
  );
  if (expected.length > 0) expect(formatRules(vpc, "sg-1")).toEqual(RULES);
});

/** Builds rules for one port from networks of their own. */
const buildNetworks = (count: number, first = 10) =>
  Array.from({ length: count }, (_, index) =>
    buildRule("tcp", [80, 80], `${first + Math.floor(index / 200)}.${index % 200}.0.0/16`),
  );

test.each([
  ["rules that can never fit are tried before old ones are removed", 1, 70, ["Authorize", "Revoke"]],
  ["a higher quota shows in the number of old rules", 70, 70, ["Revoke", "Authorize"]],
  ["both sets fit", 30, 30, ["Authorize", "Revoke"]],
])("%s", (_, before, count, expected) => {
  const ingress = buildNetworks(before, 100);
  const cidrs = buildNetworks(count).flatMap(({ IpRanges = [] }) =>
    IpRanges.flatMap(({ CidrIp = "" }) => CidrIp),
  );
  const openings: readonly Opening[] = [{ protocol: "tcp", ports: [80, 80], cidrs }];
  const step = planFrontendGroup(
    { ...WANTED, openings },
    buildVpc({ groups: [buildGroup("sg-1", { name: NAME, tags: TAGS, ingress })] }),
  );
  const actions = step.kind === "act" ? step.actions : [];
  expect(
    actions.map(({ action }) => action.slice("ec2:".length).replace("SecurityGroupIngress", "")),
  ).toEqual(expected);
});

test("the quotas of IPv4 and IPv6 rules are separate", () => {
  const ingress = Array.from({ length: 40 }, (_, index) =>
    buildRule("tcp", [80, 80], `2001:db8:${index}::/48`),
  );
  const openings: readonly Opening[] = [
    {
      protocol: "tcp",
      ports: [80, 80],
      cidrs: Array.from({ length: 40 }, (_, index) => `10.${index}.0.0/16`),
    },
  ];
  const step = planFrontendGroup(
    { ...WANTED, openings },
    buildVpc({ groups: [buildGroup("sg-1", { name: NAME, tags: TAGS, ingress })] }),
  );
  expect(step.kind === "act" && step.actions[0]?.action).toBe("ec2:AuthorizeSecurityGroupIngress");
});

test("tags follow the annotation, and tags of others stay", () => {
  const wish = (additionalTags: Record<string, string>) => (state: VpcState) =>
    planFrontendGroup({ ...WANTED, owner: { ...OWNER, legacy: true, additionalTags }, openings: [] }, state);
  const groups = [buildGroup("sg-1", { name: NAME, tags: { ...TAGS, by: "hand" } })];
  const added = converge(wish({ team: "a", cost: "1" }), buildVpc({ groups }));
  expect(added.vpc.groups[0]?.tags).toMatchObject({
    ...TAGS,
    by: "hand",
    team: "a",
    cost: "1",
    KubernetesCluster: "demo",
  });
  const { vpc } = converge(wish({ team: "b" }), added.vpc);
  expect(vpc.groups[0]?.tags).toMatchObject({ ...TAGS, by: "hand", team: "b" });
  expect(vpc.groups[0]?.tags).not.toHaveProperty("cost");
});

test.each([
  ["without an owner", {}],
  ["another cluster's", THEIRS],
  ["shared", { "kubernetes.io/cluster/demo": "shared" }],
])("a group of the name that is %s is left alone", (_, tags) => {
  expect(plan(buildVpc({ groups: [buildGroup("sg-1", { name: NAME, tags })] }))).toMatchObject({
    kind: "refused",
    issue: { code: "NameTaken", detail: expect.stringContaining("sg-1") },
  });
});

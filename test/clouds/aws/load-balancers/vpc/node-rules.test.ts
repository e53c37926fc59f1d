import { expect, test } from "vitest";
import type { VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { DesiredNodeRules } from "#clouds/aws/load-balancers/types.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  planNodeRules,
  spreadNodeRules,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import {
  ALLOW_NOTHING,
  buildGroup,
  buildRule,
  buildTarget,
  buildVpc,
  OURS,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { converge, formatRules } from "#test/clouds/aws/load-balancers/vpc/world.ts";

const CLIENT = `${CLIENT_RULE}=a1`;
const HEALTH = `${HEALTH_RULE}=a1`;

function wanted(traits: Partial<DesiredNodeRules> = {}): DesiredNodeRules {
  return {
    disabled: false,
    clusterTag: "demo",
    allow: ALLOW_NOTHING,
    instanceIds: ["i-1"],
    openings: [
      { protocol: "tcp", ports: [30001, 30001], cidrs: ["10.0.0.0/8", "2001:db8::/32"], description: CLIENT },
      { protocol: "tcp", ports: [30001, 30001], cidrs: ["10.9.0.0/20"], description: HEALTH },
      { protocol: "icmp", ports: [3, 4], cidrs: ["10.0.0.0/8"], description: MTU_RULE },
    ],
    ownRules: { descriptions: [CLIENT, HEALTH], groupIds: [], ownPorts: [30001, 30002] },
    ...traits,
  };
}

const RULES = [
  `icmp 3-4 10.0.0.0/8 ${MTU_RULE}`,
  `tcp 30001-30001 10.0.0.0/8 ${CLIENT}`,
  `tcp 30001-30001 10.9.0.0/20 ${HEALTH}`,
  `tcp 30001-30001 2001:db8::/32 ${CLIENT}`,
];

const NODES = buildGroup("sg-nodes", { tags: OURS });
const OTHER = buildGroup("sg-other");
const planned = (traits: Partial<DesiredNodeRules>, vpc: VpcState) =>
  converge((state) => planNodeRules(wanted(traits), state), vpc);

test.each([
  ["the one with the cluster's tag", [NODES, OTHER], buildTarget("sg-other", "sg-nodes")],
  [
    "the shared one",
    [buildGroup("sg-nodes", { tags: { "kubernetes.io/cluster/demo": "shared" } }), OTHER],
    buildTarget("sg-nodes", "sg-other"),
  ],
  [
    "the only one, without a tag, which only nodes have",
    [{ ...buildGroup("sg-nodes"), isOnNodesAlone: true as const }, OTHER],
    buildTarget("sg-nodes"),
  ],
])("rules are put on an instance's own group: %s", (_, groups, target) => {
  const { vpc, last } = planned({}, buildVpc({ groups, instances: { "i-1": target } }));
  expect(formatRules(vpc, "sg-nodes")).toEqual(RULES);
  expect(formatRules(vpc, "sg-other")).toEqual([]);
  expect(last).toEqual({ kind: "ready", value: [] });
});

test.each([
  [
    "two with the cluster's tag",
    [NODES, buildGroup("sg-2", { tags: OURS })],
    buildTarget("sg-nodes", "sg-2"),
    "AmbiguousNodeSecurityGroup",
  ],
  [
    "two without",
    [buildGroup("sg-nodes"), buildGroup("sg-2")],
    buildTarget("sg-nodes", "sg-2"),
    "NoNodeSecurityGroup",
  ],
  ["no group at all", [], buildTarget(), "NoNodeSecurityGroup"],
])("an instance with %s is reported, and delays nothing", (_, groups, target, code) => {
  const good = buildGroup("sg-good", { tags: OURS });
  const instances = { "i-1": target, "i-2": buildTarget("sg-good") };
  const { vpc, last } = planned(
    { instanceIds: ["i-1", "i-2"] },
    buildVpc({ groups: [...groups, good], instances }),
  );
  expect(formatRules(vpc, "sg-good")).toEqual(RULES);
  expect(formatRules(vpc, "sg-nodes")).toEqual([]);
  expect(last).toMatchObject({ kind: "ready", value: [{ code, detail: expect.stringContaining("i-1") }] });
});

test.each<[string, number, number, readonly string[]]>([
  ["are removed before new ones are added if both do not fit", 35, 35, ["Revoke nodes", "Authorize nodes"]],
  ["are removed after new ones are added if both fit", 25, 35, ["Authorize nodes", "Revoke nodes"]],
  ["stay until new ones are added that can never fit", 35, 61, ["Authorize nodes", "Revoke nodes"]],
])("obsolete rules %s", (_, before, count, expected) => {
  const networks = (first: number, length: number) =>
    Array.from({ length }, (_each, index) => `${first}.${index}.0.0/16`);
  const ingress = networks(10, before).map((cidr) => buildRule("tcp", [30001, 30001], cidr, CLIENT));
  const openings = [
    { protocol: "tcp", ports: [30001, 30001] as const, cidrs: networks(11, count), description: CLIENT },
  ];
  const step = planNodeRules(
    wanted({ openings, instanceIds: ["i-1", "i-2"] }),
    buildVpc({
      groups: [buildGroup("sg-nodes", { tags: OURS, ingress }), buildGroup("sg-roomy", { tags: OURS })],
      instances: { "i-1": buildTarget("sg-nodes"), "i-2": buildTarget("sg-roomy") },
    }),
  );
  const actions = step.kind === "act" ? step.actions : [];
  expect(
    actions.map(({ action, target }) => `${action.slice(4).replace(/Security.*/, "")} ${target.slice(3)}`),
  ).toEqual(
    expected[0] === "Revoke nodes"
      ? ["Authorize roomy", ...expected]
      : [expected[0], "Authorize roomy", expected[1]],
  );
});

test("rules of others always stay, and ours are removed when they are no longer wanted", () => {
  const ingress = [
    buildRule("tcp", [22, 22], "0.0.0.0/0", "by hand"),
    buildRule("tcp", [30001, 30001], "192.168.0.0/16", `${CLIENT_RULE}=a2`),
    buildRule("tcp", [30002, 30002], "10.0.0.0/8", CLIENT),
    buildRule("tcp", [30002, 30002], "10.9.0.0/20", HEALTH),
  ];
  const left = buildGroup("sg-left", {
    tags: OURS,
    ingress: [buildRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT)],
  });
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress }), left];
  const { vpc } = planned({}, buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }));
  expect(formatRules(vpc, "sg-nodes")).toEqual(
    [...RULES, "tcp 22-22 0.0.0.0/0 by hand", `tcp 30001-30001 192.168.0.0/16 ${CLIENT_RULE}=a2`].toSorted(),
  );
  expect(formatRules(vpc, "sg-left")).toEqual([]);
});

test("traffic that a foreign rule allows gets no second rule, and the foreign rule stays", () => {
  const ingress = [buildRule("tcp", [30001, 30001], "10.9.0.0/20", "by hand")];
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress })];
  const { vpc } = planned({}, buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }));
  expect(formatRules(vpc, "sg-nodes")).toContain("tcp 30001-30001 10.9.0.0/20 by hand");
  expect(formatRules(vpc, "sg-nodes")).toHaveLength(4);
  const gone = planned({ openings: [], instanceIds: [] }, vpc);
  expect(formatRules(gone.vpc, "sg-nodes")).toEqual([
    `icmp 3-4 10.0.0.0/8 ${MTU_RULE}`,
    "tcp 30001-30001 10.9.0.0/20 by hand",
  ]);
});

test("the rule that all load balancers share stays until the audit when a load balancer is deleted", () => {
  const groups = [buildGroup("sg-nodes", { tags: OURS })];
  const { vpc } = planned({}, buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }));
  const gone = planned({ openings: [], instanceIds: [] }, vpc);
  expect(formatRules(gone.vpc, "sg-nodes")).toEqual([`icmp 3-4 10.0.0.0/8 ${MTU_RULE}`]);
});

test.each([
  ["goes if its clients use the same port", [30001], [], []],
  ["goes if the port belongs to the Service", [31000], [31000], []],
  [
    "stays if others may have health checks at the port",
    [10256],
    [31000],
    [`tcp 10256-10256 10.9.0.0/20 ${HEALTH}`],
  ],
])("a rule for health checks %s", (_, [port = 0], ownPorts, left) => {
  const ingress = [
    buildRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT),
    buildRule("tcp", [port, port], "10.9.0.0/20", HEALTH),
  ];
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress })];
  const mine = { descriptions: [CLIENT, HEALTH], groupIds: [], ownPorts };
  const gone = planned({ openings: [], instanceIds: [], ownRules: mine }, buildVpc({ groups }));
  expect(formatRules(gone.vpc, "sg-nodes")).toEqual(left);
});

test("consecutive ports need one rule of each network", () => {
  const openings = [30003, 30001, 30002, 30010].map((port) => ({
    protocol: "tcp",
    ports: [port, port] as const,
    cidrs: ["10.0.0.0/8"],
    description: CLIENT,
  }));
  const { vpc } = planned(
    { openings },
    buildVpc({ groups: [NODES], instances: { "i-1": buildTarget("sg-nodes") } }),
  );
  expect(formatRules(vpc, "sg-nodes")).toEqual([
    `tcp 30001-30003 10.0.0.0/8 ${CLIENT}`,
    `tcp 30010-30010 10.0.0.0/8 ${CLIENT}`,
  ]);
});

test("the stock controller's rules, one for each port, stay as they are", () => {
  const ports = [30001, 30002];
  const openings = ports.map((port) => ({
    protocol: "udp",
    ports: [port, port] as const,
    cidrs: ["10.0.0.0/8"],
    description: CLIENT,
  }));
  const ingress = ports.map((port) => buildRule("udp", [port, port], "10.0.0.0/8", CLIENT));
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress })];
  const { done } = planned({ openings }, buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }));
  expect(done).toEqual([]);
});

test("a classic load balancer allows its group in, and removes only that rule", () => {
  const traits = {
    openings: [{ protocol: "-1", groupIds: ["sg-lb"] }],
    ownRules: { descriptions: [], groupIds: ["sg-lb"] },
  };
  const byHand = buildRule("tcp", [9000, 9000], "sg-lb", "by hand");
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress: [byHand] })];
  const { vpc } = planned(traits, buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }));
  expect(formatRules(vpc, "sg-nodes")).toEqual(["-1 all sg-lb", "tcp 9000-9000 sg-lb by hand"]);
  const gone = planned({ ...traits, openings: [], instanceIds: [] }, vpc);
  expect(formatRules(gone.vpc, "sg-nodes")).toEqual(["tcp 9000-9000 sg-lb by hand"]);
});

test("with disableSecurityGroupIngress nothing is added and nothing removed", () => {
  const ingress = [buildRule("tcp", [30002, 30002], "10.0.0.0/8", CLIENT)];
  const groups = [buildGroup("sg-nodes", { tags: OURS, ingress })];
  const { done } = planned(
    { disabled: true },
    buildVpc({ groups, instances: { "i-1": buildTarget("sg-nodes") } }),
  );
  expect(done).toEqual([]);
});

test.each([
  ["without a tag", {}],
  ["with another cluster's tag", THEIRS],
])("a group %s without proof that it is the nodes' is reported, and its rules stay", (_, tags) => {
  const ingress = [buildRule("tcp", [30009, 30009], "10.0.0.0/8", CLIENT)];
  const state = buildVpc({
    groups: [buildGroup("sg-nodes", { tags, ingress })],
    instances: { "i-1": buildTarget("sg-nodes") },
  });
  const { last, done } = planned({}, state);
  expect(done).toEqual([]);
  expect(last).toMatchObject({
    kind: "ready",
    value: [{ code: "NodeSecurityGroupNotProven", detail: expect.stringContaining("sg-nodes") }],
  });
  expect(planned({ openings: [], instanceIds: [] }, state)).toMatchObject({ done: [], last: { value: [] } });
});

test.each<[string, DesiredNodeRules["allow"]["nodeSecurityGroups"]]>([
  ["by its id", ["sg-nodes"]],
  ["by a tag", [{ tag: "team", value: "a" }]],
])("a group that the operator lists %s is the nodes', with any other group on the instance", (_, listed) => {
  const groups = [buildGroup("sg-nodes", { tags: { team: "a" } }), OTHER];
  const { vpc, last } = planned(
    { allow: { ...ALLOW_NOTHING, nodeSecurityGroups: listed } },
    buildVpc({ groups, instances: { "i-1": buildTarget("sg-other", "sg-nodes") } }),
  );
  expect(formatRules(vpc, "sg-nodes")).toEqual(RULES);
  expect(formatRules(vpc, "sg-other")).toEqual([]);
  expect(last).toEqual({ kind: "ready", value: [] });
});

test("rules are copied to new groups only from groups of nodes", () => {
  const planted = buildGroup("sg-planted", { ingress: [buildRule("tcp", [22, 22], "0.0.0.0/0", CLIENT)] });
  const state = buildVpc({ groups: [planted, NODES], instances: { "i-1": buildTarget("sg-nodes") } });
  const { disabled, clusterTag, allow, instanceIds } = wanted();
  const isNeeded = ({ description }: { description: string | undefined }) => description === CLIENT;
  expect(spreadNodeRules({ disabled, clusterTag, allow, instanceIds, isNeeded }, state)).toEqual([]);
});

test("across all groups, rules are added before others are removed", () => {
  const moved = buildGroup("sg-before", {
    tags: OURS,
    ingress: [buildRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT)],
  });
  const { done } = planned(
    {},
    buildVpc({ groups: [moved, NODES], instances: { "i-1": buildTarget("sg-nodes") } }),
  );
  expect(done.map(({ action, target }) => `${action} ${target}`)).toEqual([
    "ec2:AuthorizeSecurityGroupIngress sg-nodes",
    "ec2:AuthorizeSecurityGroupIngress sg-nodes",
    "ec2:RevokeSecurityGroupIngress sg-before",
  ]);
});

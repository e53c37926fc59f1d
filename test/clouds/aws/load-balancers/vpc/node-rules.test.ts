import { expect, test } from "vitest";
import type { NodeRulesWanted } from "#clouds/aws/load-balancers/pieces.ts";
import type { VpcState } from "#clouds/aws/load-balancers/state.ts";
import {
  CLIENT_RULE,
  HEALTH_RULE,
  MTU_RULE,
  planNodeRules,
  spreadNodeRules,
} from "#clouds/aws/load-balancers/vpc/node-rules.ts";
import {
  ALLOW_NOTHING,
  aGroup,
  aRule,
  aTarget,
  aVpc,
  OURS,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";
import { converged, linesOf } from "#test/clouds/aws/load-balancers/vpc/world.ts";

const CLIENT = `${CLIENT_RULE}=a1`;
const HEALTH = `${HEALTH_RULE}=a1`;

function wanted(traits: Partial<NodeRulesWanted> = {}): NodeRulesWanted {
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
    mine: { descriptions: [CLIENT, HEALTH], groupIds: [], ownPorts: [30001, 30002] },
    ...traits,
  };
}

const RULES = [
  `icmp 3-4 10.0.0.0/8 ${MTU_RULE}`,
  `tcp 30001-30001 10.0.0.0/8 ${CLIENT}`,
  `tcp 30001-30001 10.9.0.0/20 ${HEALTH}`,
  `tcp 30001-30001 2001:db8::/32 ${CLIENT}`,
];

const NODES = aGroup("sg-nodes", { tags: OURS });
const OTHER = aGroup("sg-other");
const planned = (traits: Partial<NodeRulesWanted>, vpc: VpcState) =>
  converged((state) => planNodeRules(wanted(traits), state), vpc);

test.each([
  ["the one with the cluster's tag", [NODES, OTHER], aTarget("sg-other", "sg-nodes")],
  [
    "the one that clusters share",
    [aGroup("sg-nodes", { tags: { "kubernetes.io/cluster/demo": "shared" } }), OTHER],
    aTarget("sg-nodes", "sg-other"),
  ],
  [
    "the only one, without a tag, which only nodes have",
    [{ ...aGroup("sg-nodes"), isOnNodesAlone: true as const }, OTHER],
    aTarget("sg-nodes"),
  ],
])("rules stand on an instance's own group: %s", (_, groups, target) => {
  const { vpc, last } = planned({}, aVpc({ groups, instances: { "i-1": target } }));
  expect(linesOf(vpc, "sg-nodes")).toEqual(RULES);
  expect(linesOf(vpc, "sg-other")).toEqual([]);
  expect(last).toEqual({ kind: "ready", value: [] });
});

test.each([
  [
    "two with the cluster's tag",
    [NODES, aGroup("sg-2", { tags: OURS })],
    aTarget("sg-nodes", "sg-2"),
    "AmbiguousNodeSecurityGroup",
  ],
  ["two without", [aGroup("sg-nodes"), aGroup("sg-2")], aTarget("sg-nodes", "sg-2"), "NoNodeSecurityGroup"],
  ["none at all", [], aTarget(), "NoNodeSecurityGroup"],
])("an instance with %s is told of, and keeps nobody from anything", (_, groups, target, code) => {
  const good = aGroup("sg-good", { tags: OURS });
  const instances = { "i-1": target, "i-2": aTarget("sg-good") };
  const { vpc, last } = planned(
    { instanceIds: ["i-1", "i-2"] },
    aVpc({ groups: [...groups, good], instances }),
  );
  expect(linesOf(vpc, "sg-good")).toEqual(RULES);
  expect(linesOf(vpc, "sg-nodes")).toEqual([]);
  expect(last).toMatchObject({ kind: "ready", value: [{ code, detail: expect.stringContaining("i-1") }] });
});

test("rules of others stay whatever they are, and ours go where they are not wanted any more", () => {
  const ingress = [
    aRule("tcp", [22, 22], "0.0.0.0/0", "by hand"),
    aRule("tcp", [30001, 30001], "192.168.0.0/16", `${CLIENT_RULE}=a2`),
    aRule("tcp", [30002, 30002], "10.0.0.0/8", CLIENT),
    aRule("tcp", [30002, 30002], "10.9.0.0/20", HEALTH),
  ];
  const left = aGroup("sg-left", {
    tags: OURS,
    ingress: [aRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT)],
  });
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress }), left];
  const { vpc } = planned({}, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  expect(linesOf(vpc, "sg-nodes")).toEqual(
    [...RULES, "tcp 22-22 0.0.0.0/0 by hand", `tcp 30001-30001 192.168.0.0/16 ${CLIENT_RULE}=a2`].toSorted(),
  );
  expect(linesOf(vpc, "sg-left")).toEqual([]);
});

test("what somebody else has let in already is not let in again, and is not ours to take away", () => {
  const ingress = [aRule("tcp", [30001, 30001], "10.9.0.0/20", "by hand")];
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress })];
  const { vpc } = planned({}, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  expect(linesOf(vpc, "sg-nodes")).toContain("tcp 30001-30001 10.9.0.0/20 by hand");
  expect(linesOf(vpc, "sg-nodes")).toHaveLength(4);
  const gone = planned({ openings: [], instanceIds: [] }, vpc);
  expect(linesOf(gone.vpc, "sg-nodes")).toEqual([
    `icmp 3-4 10.0.0.0/8 ${MTU_RULE}`,
    "tcp 30001-30001 10.9.0.0/20 by hand",
  ]);
});

test("the rule that all load balancers share stays for the audit, whoever goes", () => {
  const groups = [aGroup("sg-nodes", { tags: OURS })];
  const { vpc } = planned({}, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  const gone = planned({ openings: [], instanceIds: [] }, vpc);
  expect(linesOf(gone.vpc, "sg-nodes")).toEqual([`icmp 3-4 10.0.0.0/8 ${MTU_RULE}`]);
});

test.each([
  ["goes where its clients come to the same port", [30001], [], []],
  ["goes where the port is the Service's own", [31000], [31000], []],
  [
    "stays where others may be checked at the port",
    [10256],
    [31000],
    [`tcp 10256-10256 10.9.0.0/20 ${HEALTH}`],
  ],
])("a rule for health checks %s", (_, [port = 0], ownPorts, left) => {
  const ingress = [
    aRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT),
    aRule("tcp", [port, port], "10.9.0.0/20", HEALTH),
  ];
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress })];
  const mine = { descriptions: [CLIENT, HEALTH], groupIds: [], ownPorts };
  const gone = planned({ openings: [], instanceIds: [], mine }, aVpc({ groups }));
  expect(linesOf(gone.vpc, "sg-nodes")).toEqual(left);
});

test("ports that follow each other need one rule of each network", () => {
  const openings = [30003, 30001, 30002, 30010].map((port) => ({
    protocol: "tcp",
    ports: [port, port] as const,
    cidrs: ["10.0.0.0/8"],
    description: CLIENT,
  }));
  const { vpc } = planned({ openings }, aVpc({ groups: [NODES], instances: { "i-1": aTarget("sg-nodes") } }));
  expect(linesOf(vpc, "sg-nodes")).toEqual([
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
  const ingress = ports.map((port) => aRule("udp", [port, port], "10.0.0.0/8", CLIENT));
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress })];
  const { done } = planned({ openings }, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  expect(done).toEqual([]);
});

test("a classic load balancer lets its group in, and takes away that rule alone", () => {
  const traits = {
    openings: [{ protocol: "-1", groupIds: ["sg-lb"] }],
    mine: { descriptions: [], groupIds: ["sg-lb"] },
  };
  const byHand = aRule("tcp", [9000, 9000], "sg-lb", "by hand");
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress: [byHand] })];
  const { vpc } = planned(traits, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  expect(linesOf(vpc, "sg-nodes")).toEqual(["-1 all sg-lb", "tcp 9000-9000 sg-lb by hand"]);
  const gone = planned({ ...traits, openings: [], instanceIds: [] }, vpc);
  expect(linesOf(gone.vpc, "sg-nodes")).toEqual(["tcp 9000-9000 sg-lb by hand"]);
});

test("with disableSecurityGroupIngress nothing is added and nothing taken away", () => {
  const ingress = [aRule("tcp", [30002, 30002], "10.0.0.0/8", CLIENT)];
  const groups = [aGroup("sg-nodes", { tags: OURS, ingress })];
  const { done } = planned({ disabled: true }, aVpc({ groups, instances: { "i-1": aTarget("sg-nodes") } }));
  expect(done).toEqual([]);
});

test.each([
  ["without a tag", {}],
  ["with another cluster's tag", THEIRS],
])("a group %s that nothing proves to be the nodes' is told, and its rules stay", (_, tags) => {
  const ingress = [aRule("tcp", [30009, 30009], "10.0.0.0/8", CLIENT)];
  const state = aVpc({
    groups: [aGroup("sg-nodes", { tags, ingress })],
    instances: { "i-1": aTarget("sg-nodes") },
  });
  const { last, done } = planned({}, state);
  expect(done).toEqual([]);
  expect(last).toMatchObject({
    kind: "ready",
    value: [{ code: "NodeSecurityGroupNotProven", detail: expect.stringContaining("sg-nodes") }],
  });
  expect(planned({ openings: [], instanceIds: [] }, state)).toMatchObject({ done: [], last: { value: [] } });
});

test.each<[string, NodeRulesWanted["allow"]["nodeSecurityGroups"]]>([
  ["by its id", ["sg-nodes"]],
  ["by a tag", [{ tag: "team", value: "a" }]],
])("a group that the operator lists %s is the nodes', whatever else an instance has", (_, listed) => {
  const groups = [aGroup("sg-nodes", { tags: { team: "a" } }), OTHER];
  const { vpc, last } = planned(
    { allow: { ...ALLOW_NOTHING, nodeSecurityGroups: listed } },
    aVpc({ groups, instances: { "i-1": aTarget("sg-other", "sg-nodes") } }),
  );
  expect(linesOf(vpc, "sg-nodes")).toEqual(RULES);
  expect(linesOf(vpc, "sg-other")).toEqual([]);
  expect(last).toEqual({ kind: "ready", value: [] });
});

test("rules are copied to new groups from groups of nodes alone", () => {
  const planted = aGroup("sg-planted", { ingress: [aRule("tcp", [22, 22], "0.0.0.0/0", CLIENT)] });
  const state = aVpc({ groups: [planted, NODES], instances: { "i-1": aTarget("sg-nodes") } });
  const { disabled, clusterTag, allow, instanceIds } = wanted();
  const isNeeded = ({ description }: { description: string | undefined }) => description === CLIENT;
  expect(spreadNodeRules({ disabled, clusterTag, allow, instanceIds, isNeeded }, state)).toEqual([]);
});

test("what is let in comes before what is shut out, over all groups", () => {
  const moved = aGroup("sg-before", {
    tags: OURS,
    ingress: [aRule("tcp", [30001, 30001], "10.0.0.0/8", CLIENT)],
  });
  const { done } = planned({}, aVpc({ groups: [moved, NODES], instances: { "i-1": aTarget("sg-nodes") } }));
  expect(done.map(({ action, target }) => `${action} ${target}`)).toEqual([
    "ec2:AuthorizeSecurityGroupIngress sg-nodes",
    "ec2:AuthorizeSecurityGroupIngress sg-nodes",
    "ec2:RevokeSecurityGroupIngress sg-before",
  ]);
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { createHistory, TOPICS } from "./history.ts";
import { findRow, KNOWN_DIFFERENCES } from "./known-differences.ts";
import { compare, findFailures, IS_MADE_AGAIN, type Snapshot } from "./snapshot.ts";

test.each(KNOWN_DIFFERENCES)("the page $page has the row $text", ({ page, text }) => {
  const lines = readFileSync(`${PROJECT_FOLDER}/${page}`, "utf8").split("\n");
  expect(lines.filter((line) => line.startsWith(text))).toHaveLength(1);
});

test("a difference that no row explains is found, member by member", () => {
  const build = (...facts: string[]): Snapshot => ({
    things: new Map([["node a", [".type: 1", ...facts]]]),
    failures: new Map(),
  });
  const differences = compare(build('.taints[]: "x"', '.taints[]: "y"'), build('.taints[]: "y"', ".zone: 2"));
  expect(differences).toMatchObject([
    { thing: "node a", path: ".taints[]", stock: ['"x"'], ours: [] },
    { thing: "node a", path: ".zone", stock: [], ours: ["2"] },
  ]);
  expect(differences.map(findRow)).toEqual([undefined, undefined]);
});

test("a rule that only the stock controller has is known only if no rule of ours for clients needs it", () => {
  const build = (cidr: string, description: string): string =>
    `.IpPermissions[]: {"peer":{"CidrIp":"${cidr}","Description":"kubernetes.io/rule/nlb/${description}"}}`;
  const findRows = (rule: string, ...others: string[]): readonly unknown[] => {
    const snapshotOf = (...facts: string[]): Snapshot => ({
      things: new Map([["security group nodes", facts]]),
      failures: new Map(),
    });
    return compare(snapshotOf(rule, ...others), snapshotOf(...others)).map(findRow);
  };
  const client = build("10.0.0.0/8", "client=<service-1>");
  const findMissing = (rule: string): readonly unknown[] =>
    compare(
      { things: new Map([["security group nodes", [client]]]), failures: new Map() },
      { things: new Map([["security group nodes", [client, rule]]]), failures: new Map() },
    ).map(findRow);
  expect(findMissing(build("10.0.0.0/8", "mtu"))).not.toContain(undefined);
  expect(findMissing(build("192.0.2.0/24", "mtu"))).toEqual([undefined]);
  expect(findRows(build("10.0.0.0/8", "mtu"), client)).toEqual([undefined]);
  expect(findRows(build("192.0.2.0/24", "mtu"), client)).not.toContain(undefined);
  expect(findRows(build("10.20.0.0/20", "health=<service-1>"), client)).toEqual([undefined]);
  expect(
    findRows(build("10.20.0.0/20", "health=<service-1>"), build("0.0.0.0/0", "client=<service-1>")),
  ).not.toContain(undefined);
});

const event = (reason: string, second: number, name = "service-1") => ({
  ...{ involvedObject: { kind: "Service", name }, reason, message: `${reason} of ${name}`, eventTime: null },
  lastTimestamp: `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`,
});

test.each([
  [
    "updated after the deletion began",
    [event("DeletingLoadBalancer", 5), event("UpdatedLoadBalancer", 7)],
    [IS_MADE_AGAIN],
  ],
  [
    "updated in the same second",
    [event("UpdateLoadBalancerFailed", 5), event("DeletingLoadBalancer", 5)],
    [IS_MADE_AGAIN],
  ],
  ["updated before", [event("UpdatedLoadBalancer", 4), event("DeletingLoadBalancer", 5)], []],
  [
    "of a Service that has one again",
    [event("DeletingLoadBalancer", 5), event("EnsuredLoadBalancer", 6), event("UpdatedLoadBalancer", 7)],
    [],
  ],
  [
    "with an update of another",
    [event("DeletingLoadBalancer", 5), event("UpdatedLoadBalancer", 7, "service-2")],
    [],
  ],
  [
    "whose deletion failed, too",
    [event("DeletingLoadBalancer", 5), event("SyncLoadBalancerFailed", 6), event("UpdatedLoadBalancer", 7)],
    [`SyncLoadBalancerFailed of service-1; ${IS_MADE_AGAIN}`],
  ],
])("a load balancer %s is found in the Events", (_given, events, expected) => {
  expect([...findFailures(events).values()]).toEqual(expected);
});

test("an NLB that only the stock controller has is known only if its targets were updated during the deletion", () => {
  const findRows = (failures: Snapshot["failures"], isOurs = false): readonly unknown[] => {
    const things = new Map([["network load balancer <service-7>", [".Type: 1"]]]);
    const none: Snapshot = { things: new Map(), failures: new Map() };
    const one: Snapshot = { things, failures };
    return (isOurs ? compare({ ...none, failures }, one) : compare(one, none)).map(findRow);
  };
  const madeAgain = new Map([["service-7", IS_MADE_AGAIN]]);
  expect(findRows(madeAgain)).not.toContain(undefined);
  expect(findRows(madeAgain, true)).toEqual([undefined]);
  expect(findRows(new Map([["service-7", "failed"]]))).toEqual([undefined]);
  expect(findRows(new Map([["service-6", IS_MADE_AGAIN]]))).toEqual([undefined]);
});

test("what the stock controller cannot make is known for the Service and for the network of its clients", () => {
  const rule = (cidr: string, description: string): string =>
    `.IpPermissions[]: {"peer":{"CidrIp":"${cidr}","Description":"kubernetes.io/rule/nlb/${description}"}}`;
  const failed = new Map([["service-7", "CreateTargetGroup: DuplicateTargetGroupName"]]);
  const findRows = (stock: readonly string[], ours: readonly string[]): readonly unknown[] =>
    compare(
      { things: new Map([["security group nodes", stock]]), failures: failed },
      { things: new Map([["security group nodes", ours]]), failures: new Map() },
    ).map(findRow);
  const [client, icmp] = [rule("10.0.0.0/8", "client=<service-7>"), rule("10.0.0.0/8", "mtu")];
  expect(findRows([], [client, icmp])).not.toContain(undefined);
  expect(findRows([], [client, rule("192.0.2.0/24", "mtu")])).toContain(undefined);
  expect(findRows([], [rule("10.0.0.0/8", "client=<service-6>")])).toEqual([undefined]);
  expect(findRows([rule("192.0.2.0/24", "client=<service-7>")], [])).toEqual([undefined]);
});

test("a node that only we have is known only if it was never initialized", () => {
  const findRows = (...facts: string[]): readonly unknown[] =>
    compare(
      { things: new Map(), failures: new Map() },
      { things: new Map([["node a", facts]]), failures: new Map() },
    ).map(findRow);
  const taint = (key: string): string => `.taints[]: {"effect":"NoSchedule","key":"${key}"}`;
  expect(findRows(taint("node.cloudprovider.kubernetes.io/uninitialized"))).not.toContain(undefined);
  expect(findRows(taint("node.kubernetes.io/not-ready"))).toEqual([undefined]);
});

test("a thing that only one side has is a difference", () => {
  const [none, one] = [new Map<string, string[]>(), new Map([["node a", [".type: 1"]]])];
  const found = compare({ things: none, failures: new Map() }, { things: one, failures: new Map() });
  expect(found).toMatchObject([{ thing: "node a", path: "", stock: [], ours: [".type: 1"] }]);
});

test("a seed always has the same history, which uses no node or Service after its end", () => {
  const history = createHistory(7, 200, TOPICS);
  expect(createHistory(7, 200, TOPICS)).toEqual(history);
  const ended = new Set<string>();
  for (const step of history) {
    const name = "node" in step ? `node ${step.node}` : "service" in step ? `Service ${step.service}` : "";
    expect(ended).not.toContain(name);
    if (/^(terminate|delete)/.test(step.do)) ended.add(name);
  }
});

test.each(Array.from({ length: 40 }, (_, seed) => seed))(
  "history %i does not end with both Services and stopped instances",
  (seed) => {
    const [stopped, services] = [new Set<number>(), new Set<number>()];
    for (const step of createHistory(seed, 100, TOPICS)) {
      if (step.do === "stop instance") stopped.add(step.node);
      if (["start instance", "terminate instance", "delete node"].includes(step.do) && "node" in step)
        stopped.delete(step.node);
      if (step.do === "create Service") services.add(step.service);
      if (step.do === "delete Service") services.delete(step.service);
    }
    expect(Math.min(stopped.size, services.size)).toBe(0);
  },
);

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { PROJECT_FOLDER } from "#emulators/harness/project-folder.ts";
import { createHistory, TOPICS } from "./history.ts";
import { findRow, KNOWN_DIFFERENCES } from "./known-differences.ts";
import { compare, type Snapshot } from "./snapshot.ts";

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
  expect(findRows(build("10.0.0.0/8", "mtu"), client)).toEqual([undefined]);
  expect(findRows(build("192.0.2.0/24", "mtu"), client)).not.toContain(undefined);
  expect(findRows(build("10.20.0.0/20", "health=<service-1>"), client)).toEqual([undefined]);
  expect(
    findRows(build("10.20.0.0/20", "health=<service-1>"), build("0.0.0.0/0", "client=<service-1>")),
  ).not.toContain(undefined);
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

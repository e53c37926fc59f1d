import { afterAll, beforeAll, expect, test } from "vitest";
import { type FunctionUnderTest, startFunction } from "./function-under-test.ts";

let node: FunctionUnderTest;
let object: unknown;
beforeAll(async () => {
  node = await startFunction();
  [object] = await node.join("a");
});
afterAll(() => node.close());

const rejected: readonly (readonly [given: string, event: () => unknown, named: readonly string[]])[] = [
  ["nothing", () => null, ["event: "]],
  ["a text", () => "event", ["event: "]],
  [
    "an empty object",
    () => ({}),
    ["version: ", "id: ", "cluster: ", "clusterHash: ", "controller: ", "reason: ", "objects: "],
  ],
  ["another version", () => node.event([object], { version: 3 }), ["version: "]],
  ["no objects", () => node.event([]), ["objects: "]],
  ["101 objects", () => node.event(Array(101).fill(object)), ["objects: "]],
  ["objects that are no list", () => node.event([], { objects: { 0: object } }), ["objects: "]],
  ["another controller", () => node.event([object], { controller: "route" }), ["controller: "]],
  ["an unknown reason", () => node.event([object], { reason: "whim" }), ["reason: "]],
  [
    "a cluster that is no name",
    () => node.event([object], { cluster: "https://example.com" }),
    ["cluster: "],
  ],
  ["an invalid hash", () => node.event([object], { clusterHash: "same" }), ["clusterHash: "]],
  ["a share of nothing", () => node.event([object], { budget: { share: 0 } }), ["budget.share: "]],
  ["a share of more than all", () => node.event([object], { budget: { share: 1.5 } }), ["budget.share: "]],
  ["a policy loosened", () => node.event([object], { dryRun: false }), ["dryRun: "]],
  ["two faults", () => node.event([object], { version: 0, id: "" }), ["version: ", "id: "]],
  ["6 MB", () => node.event([object, { padding: "x".repeat(6_000_000) }]), ["at most 5000000"]],
  [
    "6 MB of characters beyond ASCII",
    () => node.event([{ padding: "é".repeat(3_000_000) }]),
    ["at most 5000000"],
  ],
];

test.each(rejected)("an event with %s is rejected, each fault by its path", async (_, event, named) => {
  const error = await node.invoke(event()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "EventRejected", code: "EventRejected" });
  for (const path of named) expect((error as Error).message).toContain(path);
  expect([await node.requests(), node.asked]).toEqual([0, []]);
});

test("an event's contents are not quoted in its rejection", async () => {
  const event = node.event([object], {
    id: "",
    budget: { share: "secret-1" },
    reason: "secret-2",
    cluster: "secret-3!",
  });
  const error = await node.invoke(event).catch((thrown: unknown) => thrown);
  expect(String(error)).not.toContain("secret-");
});

test("a rejection is short, however much is wrong", async () => {
  const hints = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`uid${index}`, 1]));
  const error = await node.invoke(node.event([object], { hints })).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain("uid0");
  expect(String(error).length).toBeLessThan(1_200);
});

test("what a later version adds to an event is not looked at, and where the API server is stays configuration", async () => {
  const report = await node.invoke(node.event([object], { server: "https://127.0.0.1:1", priority: 7 }));
  expect(report.objects).toMatchObject([{ outcome: "changed" }]);
});

test("an event of 5 MB in one object is let in", async () => {
  const report = await node.invoke(node.event([{ padding: "x".repeat(4_900_000) }]));
  expect(report.objects).toMatchObject([{ outcome: "skipped", because: { code: "Malformed" } }]);
});

test("the message about a malformed object is short, however much is wrong with it", async () => {
  const labels = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`label${index}`, index]));
  const report = await node.invoke(node.event([{ metadata: { name: "a", labels } }]));
  expect(report.objects[0]?.because.message).toMatch(/metadata\.labels\.label0: .*; and \d+ more$/);
  expect(report.objects[0]?.because.message.length).toBeLessThan(1_200);
});

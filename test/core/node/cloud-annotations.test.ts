import { describe, expect, test } from "vitest";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import { snapshotOf } from "#core/node/snapshot.ts";
import { applyPolicies } from "#core/policies.ts";
import { found, IDENTITY, initialized, NOW, node } from "#test/core/node/builders.ts";
import { carriedOut, failedTests, patchesOf } from "#test/core/node/carry-out.ts";

const KEY = "example.com/compartment";
const PATH = "/metadata/annotations/example.com~1compartment";
const OWN = "serverless-ccm.io/instance";
const ANSWER = found({ annotations: { [KEY]: "c1" } });

const ways = [
  ["initialization", node, "watch"],
  ["a look at an initialized node", initialized, "refresh"],
] as const;

describe.each(ways)("annotations of the cloud at %s", (_, build, reason) => {
  const decide = (subject: Node, answer = ANSWER) => decideNode(subject, answer, { reason, now: NOW });
  const having = (annotations: Record<string, string>) => build({ metadata: { annotations } });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ["are written where there are none", {}, { [KEY]: "c1", [OWN]: IDENTITY }],
    ["are written where one is empty", { [KEY]: "" }, { [KEY]: "c1", [OWN]: IDENTITY }],
    ["never override one that says something", { [KEY]: "mine" }, { [KEY]: "mine", [OWN]: IDENTITY }],
    ["leave those of others alone", { a: "b" }, { a: "b", [KEY]: "c1", [OWN]: IDENTITY }],
  ])("%s", (__, before, after) => {
    const subject = having(before);
    expect(carriedOut(subject, decide(subject)).metadata.annotations).toEqual(after);
  });

  test.each<[string, Record<string, string>, unknown]>([
    ["absent", {}, null],
    ["empty", { [KEY]: "" }, ""],
  ])("are written on the condition that what was %s still is", (__, before, value) => {
    const subject = having(before);
    const write = patchesOf(decide(subject)).at(-1);
    if (write === undefined) throw new Error("nothing is written");
    expect(write.precondition).toContainEqual({ op: "test", path: PATH, value });
    const since = {
      ...subject,
      metadata: { ...subject.metadata, annotations: { ...before, [KEY]: "mine" } },
    };
    expect(failedTests(since, write).map(({ path }) => path)).toContain(PATH);
  });

  test("come with ours in one map, where the node has none", () => {
    const { annotations: __, ...metadata } = build().metadata;
    const subject = { ...build(), metadata };
    expect(carriedOut(subject, decide(subject)).metadata.annotations).toEqual({
      [KEY]: "c1",
      [OWN]: IDENTITY,
    });
  });

  test("leave nothing to do once they are there, and an empty one is none", () => {
    const done = having({ [KEY]: "c1", [OWN]: IDENTITY });
    const without = having({ [OWN]: IDENTITY });
    const patched = [decide(done), decide(without, found({ annotations: { [KEY]: "" } }))].map((decision) =>
      patchesOf(decision).flatMap(({ patch }) =>
        patch.filter(({ path }) => path.startsWith("/metadata/annotations")),
      ),
    );
    expect(patched).toEqual([[], []]);
  });

  test("are not written where labels alone may be", () => {
    const decision = applyPolicies(decide(having({})), { dryRun: false, labelsOnly: true });
    const paths = patchesOf(decision).flatMap(({ patch }) => patch.map(({ path }) => path));
    expect(paths.filter((path) => !path.startsWith("/metadata/labels/"))).toEqual([]);
  });

  test("are decided alike on a snapshot that keeps their keys", () => {
    const subject = having({ [KEY]: "mine", a: "b" });
    expect(decide(snapshotOf(subject, [], [KEY]))).toEqual(decide(subject));
  });
});

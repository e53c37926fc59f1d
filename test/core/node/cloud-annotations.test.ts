import { describe, expect, test } from "vitest";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import { projectNode } from "#core/node/snapshot.ts";
import { applyPolicies } from "#core/policies.ts";
import {
  buildFoundAnswer,
  buildInitializedNode,
  buildNode,
  IDENTITY,
  NOW,
} from "#test/core/node/builders.ts";
import { carryOut, listFailedTests, listPatches } from "#test/core/node/carry-out.ts";

const KEY = "example.com/compartment";
const PATH = "/metadata/annotations/example.com~1compartment";
const OWN = "serverless-ccm.io/instance";
const ANSWER = buildFoundAnswer({ annotations: { [KEY]: "c1" } });

const ways = [
  ["initialization", buildNode, "watch"],
  ["the refresh of an initialized node", buildInitializedNode, "refresh"],
] as const;

describe.each(ways)("cloud annotations at %s", (_, build, reason) => {
  const decide = (subject: Node, answer = ANSWER) => decideNode(subject, answer, { reason, now: NOW });
  const having = (annotations: Record<string, string>) => build({ metadata: { annotations } });

  test.each<[string, Record<string, string>, Record<string, string>]>([
    ["are written if they are missing", {}, { [KEY]: "c1", [OWN]: IDENTITY }],
    ["are written if one is empty", { [KEY]: "" }, { [KEY]: "c1", [OWN]: IDENTITY }],
    ["never override a value", { [KEY]: "mine" }, { [KEY]: "mine", [OWN]: IDENTITY }],
    ["leave other annotations unchanged", { a: "b" }, { a: "b", [KEY]: "c1", [OWN]: IDENTITY }],
  ])("%s", (__, before, after) => {
    const subject = having(before);
    expect(carryOut(subject, decide(subject)).metadata.annotations).toEqual(after);
  });

  test.each<[string, Record<string, string>, unknown]>([
    ["absent", {}, null],
    ["empty", { [KEY]: "" }, ""],
  ])("are written only if the value that was %s is unchanged", (__, before, value) => {
    const subject = having(before);
    const write = listPatches(decide(subject)).at(-1);
    if (write === undefined) throw new Error("nothing is written");
    expect(write.precondition).toContainEqual({ op: "test", path: PATH, value });
    const since = {
      ...subject,
      metadata: { ...subject.metadata, annotations: { ...before, [KEY]: "mine" } },
    };
    expect(listFailedTests(since, write).map(({ path }) => path)).toContain(PATH);
  });

  test("are written with ours as one map if the node has no annotations", () => {
    const { annotations: __, ...metadata } = build().metadata;
    const subject = { ...build(), metadata };
    expect(carryOut(subject, decide(subject)).metadata.annotations).toEqual({
      [KEY]: "c1",
      [OWN]: IDENTITY,
    });
  });

  test("need no work once written, and an empty one counts as missing", () => {
    const done = having({ [KEY]: "c1", [OWN]: IDENTITY });
    const without = having({ [OWN]: IDENTITY });
    const patched = [decide(done), decide(without, buildFoundAnswer({ annotations: { [KEY]: "" } }))].map(
      (decision) =>
        listPatches(decision).flatMap(({ patch }) =>
          patch.filter(({ path }) => path.startsWith("/metadata/annotations")),
        ),
    );
    expect(patched).toEqual([[], []]);
  });

  test("are not written under labels-only", () => {
    const decision = applyPolicies(decide(having({})), { dryRun: false, labelsOnly: true });
    const paths = listPatches(decision).flatMap(({ patch }) => patch.map(({ path }) => path));
    expect(paths.filter((path) => !path.startsWith("/metadata/labels/"))).toEqual([]);
  });

  test("give equal decisions on a snapshot that keeps their keys", () => {
    const subject = having({ [KEY]: "mine", a: "b" });
    expect(decide(projectNode(subject, [], [KEY]))).toEqual(decide(subject));
  });
});

import { describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, SHUTDOWN_TAINT } from "#core/contracts.ts";
import type { Decision, Write } from "#core/decision.ts";
import { decideNode } from "#core/node/decide.ts";
import { patchNode } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import {
  compareLifecycle,
  deletedByThemAlone,
  identityIn,
  isDeletion,
  withIdentity,
} from "#core/shadow/lifecycle.ts";
import { found, IDENTITY, initialized, NOW, node } from "#test/core/node/builders.ts";

const OBJECT = { apiVersion: "v1", kind: "Node", name: "node-a", uid: "u" };
const BECAUSE = { code: "Code", message: "because" };
const change = (...writes: [Write, ...Write[]]): Decision => ({
  kind: "change",
  object: OBJECT,
  because: BECAUSE,
  writes,
  events: [],
  warnings: [],
});
const retry: Decision = { kind: "retry", object: OBJECT, because: BECAUSE, afterSeconds: 1, events: [] };
const patch = (of: Node, edit: Parameters<typeof patchNode>[1][number]): Write =>
  patchNode(of, [edit]) as Write;
const DELETE: Write = {
  on: "cluster",
  apiVersion: "v1",
  resource: "nodes",
  name: "node-a",
  verb: "delete",
  precondition: { uid: "u" },
};
const plain = initialized();
const marked = initialized({ spec: { taints: [SHUTDOWN_TAINT] } });

describe("beside another lifecycle controller", () => {
  test.each<[string, Node, Decision, string[]]>([
    ["a decision that writes nothing is no difference", plain, retry, []],
    ["a deletion of a node that is there is one", plain, change(DELETE), ["DeletedByUsAlone"]],
    [
      "a taint that we would put there is one",
      plain,
      change(patch(plain, addShutdownTaint(plain))),
      ["ShutdownTaintMissing"],
    ],
    [
      "a taint that we would take is one",
      marked,
      change(patch(marked, removeShutdownTaint(marked))),
      ["ShutdownTaintExtra"],
    ],
    [
      "a change of something else is none",
      plain,
      change({
        ...(patch(plain, addShutdownTaint(plain)) as Extract<Write, { verb: "patch" }>),
        patch: [{ op: "add", path: "/metadata/labels/a", value: "b" }],
      }),
      [],
    ],
  ])("%s", (_, of, decision, expected) => {
    expect(compareLifecycle(of, decision).map(({ code }) => code)).toEqual(expected);
  });

  test("a node that they alone deleted says what we thought of it", () => {
    expect(deletedByThemAlone(plain, retry)).toEqual({
      code: "DeletedByThemAlone",
      node: "node-a",
      ours: "Code: because",
      theirs: "the node was deleted",
    });
  });

  test.each([
    ["a DELETE", change(DELETE), true],
    ["a patch", change(patch(plain, addShutdownTaint(plain))), false],
    ["nothing", retry, false],
  ])("%s deletes: %s", (_, decision, expected) => {
    expect(isDeletion(decision)).toBe(expected);
  });
});

describe("the instance of a node", () => {
  test("is what our initialization would have written", () => {
    const decision = decideNode(node(), found(), { reason: "watch", now: NOW });
    expect(identityIn(node(), decision)).toBe(IDENTITY);
  });

  test("is unknown where we would have left it", () => {
    expect(identityIn(node(), retry)).toBeUndefined();
  });

  test("is written on a copy, and on none where it is unknown", () => {
    const bare = node();
    expect(withIdentity(bare, IDENTITY).metadata.annotations?.[INSTANCE_ANNOTATION]).toBe(IDENTITY);
    expect(bare.metadata.annotations).toEqual({});
    expect(withIdentity(bare, undefined)).toBe(bare);
  });
});

import { describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, SHUTDOWN_TAINT } from "#core/contracts.ts";
import type { Decision, Write } from "#core/decision.ts";
import {
  compareDeletion,
  compareLifecycle,
  getWrittenIdentity,
  isDeletion,
  withIdentity,
} from "#core/handover-check/lifecycle.ts";
import { decideNode } from "#core/node/decide.ts";
import { patchNode } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node/taints.ts";
import {
  buildFoundAnswer,
  buildInitializedNode,
  buildNode,
  IDENTITY,
  NOW,
} from "#test/core/node/builders.ts";

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
const plain = buildInitializedNode();
const marked = buildInitializedNode({ spec: { taints: [SHUTDOWN_TAINT] } });

describe("the comparison with another lifecycle controller", () => {
  test.each<[string, Node, Decision, string[]]>([
    ["reports no difference for a decision that writes nothing", plain, retry, []],
    ["reports a deletion of a node that still exists", plain, change(DELETE), ["DeletedByUsAlone"]],
    [
      "reports a shutdown taint that we would add",
      plain,
      change(patch(plain, addShutdownTaint(plain))),
      ["ShutdownTaintMissing"],
    ],
    [
      "reports a shutdown taint that we would remove",
      marked,
      change(patch(marked, removeShutdownTaint(marked))),
      ["ShutdownTaintExtra"],
    ],
    [
      "reports no difference for a change of another field",
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

  test("quotes our decision for a node that only the other controller deleted", () => {
    expect(compareDeletion(plain, retry)).toEqual({
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
  test("is the one that our initialization would have written", () => {
    const decision = decideNode(buildNode(), buildFoundAnswer(), { reason: "watch", now: NOW });
    expect(getWrittenIdentity(buildNode(), decision)).toBe(IDENTITY);
  });

  test("is unknown if we would not have initialized the node", () => {
    expect(getWrittenIdentity(buildNode(), retry)).toBeUndefined();
  });

  test("is written to a copy of the node, and not at all if unknown", () => {
    const bare = buildNode();
    expect(withIdentity(bare, IDENTITY).metadata.annotations?.[INSTANCE_ANNOTATION]).toBe(IDENTITY);
    expect(bare.metadata.annotations).toEqual({});
    expect(withIdentity(bare, undefined)).toBe(bare);
  });
});

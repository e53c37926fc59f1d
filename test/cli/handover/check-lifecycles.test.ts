import { describe, expect, test } from "vitest";
import { createLifecycles } from "#cli/handover/check/lifecycles.ts";
import { createTally } from "#cli/handover/check/tally.ts";
import { SHUTDOWN_TAINT } from "#core/contracts.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { nodeLifecycleController } from "#core/node-lifecycle/controller.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { buildFoundAnswer, buildInitializedNode, IDENTITY } from "#test/core/node/builders.ts";

const SETTLE_MS = 10_000;
const NOT_FOUND = {
  kind: "not-found",
  message: "no such instance",
  control: { id: "i-other", account: "123456789012" },
} as const;

/** Follows one node next to a controller that the test plays, with its own clock. */
function follow(answer: InstanceAnswer) {
  let nowMs = Date.parse("2026-03-01T12:00:00Z");
  const lines: string[] = [];
  const tally = createTally([], (line) => lines.push(line));
  const lifecycles = createLifecycles({
    controller: nodeLifecycleController,
    judge: {
      plan: async (controller, nodes, reason, under) =>
        controller.decide(
          nodes.map((object) => ({ object, answer, hint: undefined })),
          {
            reason,
            now: new Date(nowMs),
            related: {},
            settings: DEFAULT_SETTINGS,
            clock: "test",
            ...(under === undefined ? {} : { state: under.state, count: under.count }),
          },
        ),
    },
    tally,
    settings: DEFAULT_SETTINGS.nodes,
    settleMs: SETTLE_MS,
    now: () => nowMs,
  });
  return {
    ...lifecycles,
    tally,
    codes: () => lines.map((line) => line.split(" ")[0]),
    async wait(seconds: number) {
      for (let second = 0; second < seconds; second += 1) {
        nowMs += 1_000;
        await lifecycles.compareDue();
      }
    },
  };
}

const conditions = (status: string) => [{ type: "Ready", status }];
const ready = (taints: NonNullable<Node["spec"]["taints"]> = []): Node => withStatus("True", taints);
const notReady = (taints: NonNullable<Node["spec"]["taints"]> = []): Node => withStatus("Unknown", taints);

function withStatus(status: string, taints: NonNullable<Node["spec"]["taints"]>): Node {
  const node = buildInitializedNode();
  const { annotations: _, ...metadata } = node.metadata;
  return {
    metadata,
    spec: { ...node.spec, taints },
    status: { ...node.status, conditions: conditions(status) },
  };
}

const { uid } = buildInitializedNode().metadata;

describe("a check of the node lifecycle", () => {
  test("reports nothing about a Ready node, or one whose instance runs", async () => {
    const followed = follow(buildFoundAnswer());
    followed.seen(ready());
    await followed.wait(30);
    followed.seen(notReady());
    await followed.wait(60);
    expect(followed.tally.nodes).toBe(0);
  });

  test("reports a missing taint of a stopped instance once, and not while the other controller may still add it", async () => {
    const followed = follow(buildFoundAnswer({ state: "stopped" }));
    followed.seen(notReady());
    await followed.wait(9);
    expect(followed.codes()).toEqual([]);
    await followed.wait(60);
    expect(followed.codes()).toEqual(["ShutdownTaintMissing"]);
  });

  test("accepts an existing taint, and reports it once the node is Ready again", async () => {
    const followed = follow(buildFoundAnswer({ state: "stopped" }));
    followed.seen(notReady([SHUTDOWN_TAINT]));
    await followed.wait(30);
    expect(followed.codes()).toEqual([]);
    followed.seen(ready([SHUTDOWN_TAINT]));
    await followed.wait(30);
    expect(followed.codes()).toEqual(["ShutdownTaintExtra"]);
  });

  test.each([
    ["is gone", { ...NOT_FOUND, kind: "not-found" } as const, []],
    ["is terminated", buildFoundAnswer({ state: "terminated" }), []],
    ["runs", buildFoundAnswer(), ["DeletedByThemAlone"]],
    [
      "is not found, and no other is",
      { kind: "not-found", message: "none" } as const,
      ["DeletedByThemAlone"],
    ],
  ])("judges the deletion of a node whose instance %s", async (_, answer, expected) => {
    const followed = follow(answer);
    // The brake also holds in a check: with fewer nodes none would be deleted.
    for (const other of ["b", "c", "d"])
      followed.seen({ ...ready(), metadata: { ...ready().metadata, uid: other } });
    followed.seen(notReady());
    followed.identified(uid, IDENTITY);
    followed.gone(uid);
    await followed.wait(90);
    expect(followed.codes()).toEqual(expected);
    expect(followed.tally.nodes).toBe(1);
  });

  test("reports an existing node that we would have deleted", async () => {
    const followed = follow(buildFoundAnswer({ state: "terminated" }));
    followed.identified(uid, IDENTITY);
    followed.seen(notReady());
    followed.identified(uid, IDENTITY);
    await followed.wait(30);
    expect(followed.codes()).toEqual(["DeletedByUsAlone"]);
  });

  test("does not judge the deletion of a Ready node", async () => {
    const followed = follow(buildFoundAnswer());
    followed.seen(ready());
    followed.gone(uid);
    await followed.wait(90);
    expect(followed.tally.nodes).toBe(0);
  });

  test("reports a deletion that was not judged before the end", () => {
    const followed = follow(buildFoundAnswer());
    followed.seen(notReady());
    followed.gone(uid);
    followed.end();
    expect(followed.tally.summary()[1]).toContain("not compared: 1 node");
  });
});

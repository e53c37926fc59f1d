import { describe, expect, test } from "vitest";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { buildLifecycleNode, buildSettings, type LifecycleNode } from "#test/core/node-lifecycle/builders.ts";

const SHUTDOWN = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
const UNINITIALIZED = { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" };
const NEWBORN: LifecycleNode = { taints: [UNINITIALIZED], annotations: {} };

const context = (nodes = {}) => ({ labelPrefixes: [], settings: buildSettings(nodes) });

describe("a node's lifecycle", () => {
  test.each<[string, LifecycleNode, boolean]>([
    ["is Ready", { ready: "True" }, false],
    ["is Ready, and marked as shut down", { ready: "True", taints: [SHUTDOWN] }, true],
    [
      "is Ready, and marked so with another effect",
      { ready: "True", taints: [{ ...SHUTDOWN, effect: "NoExecute" }] },
      false,
    ],
    ["is not Ready", { ready: "False" }, true],
    ["has a kubelet that is silent", { ready: "Unknown" }, true],
    ["says nothing of being Ready", { ready: undefined }, true],
    ["was taken over, and is not Ready", { annotations: {} }, true],
    ["has just registered", NEWBORN, false],
    ["is tainted as new again, of an instance that was seen", { taints: [UNINITIALIZED] }, true],
    ["is being deleted", { deletionTimestamp: "2026-03-01T11:59:59Z" }, false],
  ])("needs work, or not, if it %s", (_, difference, needed) => {
    expect(nodeLifecycleWatch.needsWork(buildLifecycleNode(1, difference), context())).toBe(needed);
  });

  test("of a node that has just registered needs work under the stock controller's rule", () => {
    expect(
      nodeLifecycleWatch.needsWork(buildLifecycleNode(1, NEWBORN), context({ deletion: { unseen: true } })),
    ).toBe(true);
  });

  const monitors = nodeLifecycleWatch.monitorPolicy;
  const afterSeconds = (difference: LifecycleNode) =>
    monitors?.afterSeconds(buildLifecycleNode(1, difference), context({ monitorSeconds: 7 }));

  test("is checked after a delay if the node is not Ready, and at once if it is Ready again", () => {
    expect([afterSeconds({}), afterSeconds({ ready: "True", taints: [SHUTDOWN] })]).toEqual([7, 0]);
  });

  test("is checked sooner after a change of the node's state, but not after a heartbeat", () => {
    const of = (difference: LifecycleNode) => monitors?.fingerprint(buildLifecycleNode(1, difference));
    expect(of({ resourceVersion: "2" })).toBe(of({}));
    expect(
      new Set([
        of({}),
        of({ ready: "True" }),
        of({ since: "2026-03-01T11:00:00Z" }),
        of({ ready: undefined }),
      ]).size,
    ).toBe(4);
  });

  test.each<[string, LifecycleNode, boolean]>([
    ["is Ready", { ready: "True" }, false],
    ["is not Ready", { ready: "False" }, true],
    ["was taken over, and is not Ready", { annotations: {} }, true],
    ["has just registered", NEWBORN, false],
    ["is tainted as new again, of an instance that was seen", { taints: [UNINITIALIZED] }, true],
  ])("counts as waiting, or not, if the node %s", (_, difference, waits) => {
    expect(nodeLifecycleWatch.waiting?.isWaiting(buildLifecycleNode(1, difference))).toBe(waits);
  });

  test("waits since the time of the node's condition, or else since its creation", () => {
    const since = (difference: LifecycleNode) => {
      const node = nodeLifecycleWatch.snapshot(buildLifecycleNode(1, difference), context());
      return nodeLifecycleWatch.waiting?.since?.(node);
    };
    expect([since({ since: "2026-03-01T11:00:00Z" }), since({ ready: undefined })]).toEqual([
      "2026-03-01T11:00:00Z",
      undefined,
    ]);
  });

  test("has no heartbeat fields in its snapshot", () => {
    const beat = (time: string) => {
      const node = buildLifecycleNode(1);
      const condition = {
        type: "Ready",
        status: "True",
        lastTransitionTime: "2026-03-01T11:00:00Z",
        lastHeartbeatTime: time,
      };
      const parsed = nodeLifecycleWatch.parse({ ...node, status: { conditions: [condition] } });
      return parsed.kind === "object" ? nodeLifecycleWatch.snapshot(parsed.object, context()) : undefined;
    };
    expect(beat("2026-03-01T11:59:00Z")).toEqual(beat("2026-03-04T11:59:00Z"));
  });
});

import { describe, expect, test } from "vitest";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import { buildLifecycleNode, buildSettings, type LifecycleNode } from "#test/core/node-lifecycle/builders.ts";

const SHUTDOWN = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
const UNINITIALIZED = { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" };
const NEWBORN: LifecycleNode = { taints: [UNINITIALIZED], annotations: {} };

const context = (nodes = {}) => ({ labelPrefixes: [], settings: buildSettings(nodes) });

describe("the lifecycle watch of a node that", () => {
  test.each<[string, LifecycleNode, boolean]>([
    ["is Ready", { ready: "True" }, false],
    ["is Ready and has the shutdown taint", { ready: "True", taints: [SHUTDOWN] }, true],
    [
      "is Ready and has the shutdown taint with another effect",
      { ready: "True", taints: [{ ...SHUTDOWN, effect: "NoExecute" }] },
      false,
    ],
    ["is not Ready", { ready: "False" }, true],
    ["has a silent kubelet", { ready: "Unknown" }, true],
    ["has no Ready condition", { ready: undefined }, true],
    ["is not Ready and has no observed instance", { annotations: {} }, true],
    ["has just registered", NEWBORN, false],
    ["has the uninitialized taint again after its instance was observed", { taints: [UNINITIALIZED] }, true],
    ["is being deleted", { deletionTimestamp: "2026-03-01T11:59:59Z" }, false],
  ])("%s: needs work or not", (_, difference, needed) => {
    expect(nodeLifecycleWatch.needsWork(buildLifecycleNode(1, difference), context())).toBe(needed);
  });

  test("has just registered: needs work with deletion.unseen", () => {
    expect(
      nodeLifecycleWatch.needsWork(buildLifecycleNode(1, NEWBORN), context({ deletion: { unseen: true } })),
    ).toBe(true);
  });

  const monitors = nodeLifecycleWatch.rechecks?.monitor;
  const afterSeconds = (difference: LifecycleNode) =>
    monitors?.afterSeconds(buildLifecycleNode(1, difference), context({ monitorSeconds: 7 }));

  test("is not Ready: checks it after a delay, and at once if it is Ready again", () => {
    expect([afterSeconds({}), afterSeconds({ ready: "True", taints: [SHUTDOWN] })]).toEqual([7, 0]);
  });

  test("changes its Ready condition: checks it sooner, but not after a heartbeat", () => {
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
    ["is not Ready and has no observed instance", { annotations: {} }, true],
    ["has just registered", NEWBORN, false],
    ["has the uninitialized taint again after its instance was observed", { taints: [UNINITIALIZED] }, true],
  ])("%s: counts it as waiting or not", (_, difference, waits) => {
    expect(nodeLifecycleWatch.metrics?.waiting?.isWaiting(buildLifecycleNode(1, difference))).toBe(waits);
  });

  test("is not Ready: it waits since the time of its Ready condition, or else since its creation", () => {
    const since = (difference: LifecycleNode) => {
      const node = nodeLifecycleWatch.snapshot(buildLifecycleNode(1, difference), context());
      return nodeLifecycleWatch.metrics?.waiting?.since?.(node);
    };
    expect([since({ since: "2026-03-01T11:00:00Z" }), since({ ready: undefined })]).toEqual([
      "2026-03-01T11:00:00Z",
      undefined,
    ]);
  });

  test("has a heartbeat: the snapshot is unchanged", () => {
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

import { describe, expect, test } from "vitest";
import { EventReason } from "#core/event.ts";
import { needsInstance, needsWork } from "#core/node/watch.ts";
import { buildInitializedNode, buildNode, TAINT } from "#test/core/node/builders.ts";

const DELETED = { deletionTimestamp: "2026-03-01T11:59:59Z" };
const UNEVEN = { labels: { "failure-domain.beta.kubernetes.io/zone": "z" } };

describe("whether a node needs work", () => {
  test.each([
    ["with the uninitialized taint", buildNode(), true],
    [
      "with the uninitialized taint of another value and effect",
      buildNode({ spec: { taints: [{ key: TAINT.key, effect: "NoExecute" }] } }),
      true,
    ],
    [
      "with a stable label that differs from its beta label",
      buildInitializedNode({ metadata: UNEVEN }),
      true,
    ],
    ["initialized", buildInitializedNode(), false],
    [
      "with foreign taints only",
      buildInitializedNode({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
      false,
    ],
    ["with the uninitialized taint, being deleted", buildNode({ metadata: DELETED }), false],
    [
      "with differing labels, being deleted",
      buildInitializedNode({ metadata: { ...UNEVEN, ...DELETED } }),
      false,
    ],
  ])("%s", (_, subject, needed) => {
    expect(needsWork(subject)).toBe(needed);
  });
});

describe("the event reasons for which the cloud is asked", () => {
  test.each([
    ["about a tainted node: all", buildNode(), EventReason.options],
    [
      "about an initialized node: refresh, sweep and replay",
      buildInitializedNode(),
      ["refresh", "sweep", "replay"],
    ],
    ["about a node that is being deleted: none", buildNode({ metadata: DELETED }), []],
  ])("%s", (_, subject, reasons) => {
    expect(EventReason.options.filter((reason) => needsInstance(subject, reason))).toEqual(reasons);
  });
});

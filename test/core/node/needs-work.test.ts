import { describe, expect, test } from "vitest";
import { EventReason } from "#core/event.ts";
import { needsInstance, needsWork } from "#core/node/needs-work.ts";
import { buildInitializedNode, buildNode, TAINT } from "#test/core/node/builders.ts";

const DELETED = { deletionTimestamp: "2026-03-01T11:59:59Z" };
const UNEVEN = { labels: { "failure-domain.beta.kubernetes.io/zone": "z" } };

describe("a node needs work", () => {
  test.each([
    ["with the taint", buildNode(), true],
    [
      "with the taint of any value and effect",
      buildNode({ spec: { taints: [{ key: TAINT.key, effect: "NoExecute" }] } }),
      true,
    ],
    ["with labels that differ", buildInitializedNode({ metadata: UNEVEN }), true],
    ["initialized", buildInitializedNode(), false],
    [
      "with taints of others",
      buildInitializedNode({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }),
      false,
    ],
    ["with the taint but going", buildNode({ metadata: DELETED }), false],
    [
      "with labels that differ but going",
      buildInitializedNode({ metadata: { ...UNEVEN, ...DELETED } }),
      false,
    ],
  ])("%s", (_, subject, needed) => {
    expect(needsWork(subject)).toBe(needed);
  });
});

describe("the cloud is asked about the node", () => {
  test.each([
    ["about a tainted node", buildNode(), EventReason.options],
    ["about an initialized node", buildInitializedNode(), ["refresh", "sweep", "replay"]],
    ["about a node that is going", buildNode({ metadata: DELETED }), []],
  ])("%s", (_, subject, reasons) => {
    expect(EventReason.options.filter((reason) => needsInstance(subject, reason))).toEqual(reasons);
  });
});

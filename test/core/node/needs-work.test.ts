import { describe, expect, test } from "vitest";
import { EventReason } from "#core/event.ts";
import { needsInstance, needsWork } from "#core/node/needs-work.ts";
import { initialized, node, TAINT } from "#test/core/node/builders.ts";

const DELETED = { deletionTimestamp: "2026-03-01T11:59:59Z" };
const UNEVEN = { labels: { "failure-domain.beta.kubernetes.io/zone": "z" } };

describe("a node needs work", () => {
  test.each([
    ["with the taint", node(), true],
    [
      "with the taint of any value and effect",
      node({ spec: { taints: [{ key: TAINT.key, effect: "NoExecute" }] } }),
      true,
    ],
    ["with labels that differ", initialized({ metadata: UNEVEN }), true],
    ["initialized", initialized(), false],
    ["with taints of others", initialized({ spec: { taints: [{ key: "a", effect: "NoSchedule" }] } }), false],
    ["with the taint but going", node({ metadata: DELETED }), false],
    ["with labels that differ but going", initialized({ metadata: { ...UNEVEN, ...DELETED } }), false],
  ])("%s", (_, subject, needed) => {
    expect(needsWork(subject)).toBe(needed);
  });
});

describe("the cloud is asked", () => {
  test.each([
    ["about a tainted node", node(), EventReason.options],
    ["about an initialized node", initialized(), ["refresh", "sweep", "replay"]],
    ["about a node that is going", node({ metadata: DELETED }), []],
  ])("%s", (_, subject, reasons) => {
    expect(EventReason.options.filter((reason) => needsInstance(subject, reason))).toEqual(reasons);
  });
});

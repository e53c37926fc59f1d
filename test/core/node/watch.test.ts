import { describe, expect, test } from "vitest";
import { nodeController } from "#core/node/controller.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  found,
  hostname,
  initialized,
  internal,
  LABEL_PREFIXES,
  NOW,
  node,
} from "#test/core/node/builders.ts";

const CONTEXT = { reason: "watch", now: NOW, related: {}, settings: DEFAULT_SETTINGS } as const;

describe("the fingerprint of a node", () => {
  const before = nodeWatch.looks?.fingerprint(initialized());
  test.each([
    ["its addresses", initialized({ status: { addresses: [internal("10.0.9.9")] } })],
    ["its provider ID", initialized({ spec: {} })],
    [
      "its node IP",
      initialized({ metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": "10.0.9.9" } } }),
    ],
    ["all of it", initialized({ spec: {}, status: {} })],
  ])("differs with %s", (_, changed) => {
    expect(nodeWatch.looks?.fingerprint(changed)).not.toBe(before);
  });

  test("is the same where the API server has the same addresses by type", () => {
    const [mixed, grouped] = [
      [internal("10.0.1.17"), hostname("a"), internal("2001:db8::17")],
      [internal("10.0.1.17"), internal("2001:db8::17"), hostname("a")],
    ].map((addresses) => nodeWatch.looks?.fingerprint(initialized({ status: { addresses } })));
    expect(grouped).toBe(mixed);
  });

  test("is the same of its snapshot, and with other labels and versions", () => {
    const other = initialized({ metadata: { resourceVersion: "2", labels: { a: "b" } } });
    expect(nodeWatch.looks?.fingerprint(other)).toBe(before);
    expect(
      nodeWatch.looks?.fingerprint(
        nodeWatch.snapshot(other, { labelPrefixes: LABEL_PREFIXES, settings: DEFAULT_SETTINGS }),
      ),
    ).toBe(before);
  });
});

describe("who restored the taint", () => {
  const entry = (manager: unknown, time: string | undefined, fields: unknown) => ({
    manager,
    time,
    fieldsV1: fields,
  });
  const taints = { "f:spec": { "f:taints": {} } };
  test.each([
    [
      "the last writer of taints that is not us",
      [
        entry("a", "2026-01-01", taints),
        entry("b", "2026-01-02", taints),
        entry("serverless-ccm", "2026-01-03", taints),
      ],
      "b",
    ],
    [
      "whoever wrote at the same time as others",
      [entry("b", "2026-01-02", taints), entry("a", undefined, taints)],
      "b",
    ],
    ["nobody, where only we wrote them", [entry("serverless-ccm", "2026-01-03", taints)], undefined],
    ["nobody, of other fields", [entry("a", undefined, { "f:spec": {} })], undefined],
    ["nobody, without a name", [entry(7, undefined, taints)], undefined],
    ["nobody, of rubbish", "rubbish", undefined],
  ])("is %s", (_, managedFields, expected) => {
    expect(nodeWatch.undoneBy?.({ metadata: { managedFields } })).toBe(expected);
  });

  test("is nobody of an object without metadata", () => {
    expect(nodeWatch.undoneBy?.(null)).toBeUndefined();
  });
});

describe("the node controller", () => {
  test("asks about the instances of those nodes whose decision depends on it", () => {
    expect(nodeController.asks(node(), CONTEXT)).toEqual({
      capability: "instances",
      node: node(),
      labels: "missing",
    });
    expect(nodeController.asks(initialized(), CONTEXT)).toBeUndefined();
  });

  test.each([
    [{ addMissing: true, correctDiffering: false }, "missing"],
    [{ addMissing: false, correctDiffering: true }, "all"],
    [{ addMissing: false, correctDiffering: false }, undefined],
  ] as const)("asks for the labels that it may write: %j", (labels, expected) => {
    const settings = { ...DEFAULT_SETTINGS, nodes: { ...DEFAULT_SETTINGS.nodes, labels } };
    expect(nodeController.asks(initialized(), { ...CONTEXT, settings, reason: "refresh" })).toMatchObject({
      labels: expected,
    });
  });

  test("decides on each, and tells on the node who undoes its work", () => {
    const plan = nodeController.decide(
      [
        { object: node(), answer: found(), hint: { undoneBy: "other" } },
        { object: initialized(), answer: undefined, hint: undefined },
      ],
      { ...CONTEXT, now: NOW },
    );
    expect(plan).toMatchObject({
      kind: "each",
      decisions: [
        { kind: "change", events: [{ reason: "Synced" }, { reason: "TaintRestored" }] },
        { kind: "unchanged" },
      ],
    });
  });
});

test("what waits for both delays of the stock controller is a node that is not initialized", () => {
  const waits = (of: ReturnType<typeof node>) => nodeWatch.delays?.map((delay) => delay.waits(of));
  expect([waits(node()), waits(initialized())]).toEqual([
    [true, true],
    [false, false],
  ]);
});

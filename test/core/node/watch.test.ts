import { describe, expect, test } from "vitest";
import type { EventReason } from "#core/event.ts";
import { nodeController } from "#core/node/controller.ts";
import type { LookAheadSource } from "#core/node/settings.ts";
import { nodeWatch } from "#core/node/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildFoundAnswer,
  buildHostname,
  buildInitializedNode,
  buildInternalAddress,
  buildNode,
  LABEL_PREFIXES,
  NOW,
} from "#test/core/node/builders.ts";

const CONTEXT = { reason: "watch", now: NOW, related: {}, settings: DEFAULT_SETTINGS } as const;

describe("the fingerprint of a node", () => {
  const before = nodeWatch.rechecks?.resync?.fingerprint(buildInitializedNode());
  test.each([
    ["its addresses", buildInitializedNode({ status: { addresses: [buildInternalAddress("10.0.9.9")] } })],
    ["its provider ID", buildInitializedNode({ spec: {} })],
    [
      "its node IP",
      buildInitializedNode({
        metadata: { annotations: { "alpha.kubernetes.io/provided-node-ip": "10.0.9.9" } },
      }),
    ],
    ["all of it", buildInitializedNode({ spec: {}, status: {} })],
  ])("differs with %s", (_, changed) => {
    expect(nodeWatch.rechecks?.resync?.fingerprint(changed)).not.toBe(before);
  });

  test("is equal for equal addresses that the API server has grouped by type", () => {
    const [mixed, grouped] = [
      [buildInternalAddress("10.0.1.17"), buildHostname("a"), buildInternalAddress("2001:db8::17")],
      [buildInternalAddress("10.0.1.17"), buildInternalAddress("2001:db8::17"), buildHostname("a")],
    ].map((addresses) =>
      nodeWatch.rechecks?.resync?.fingerprint(buildInitializedNode({ status: { addresses } })),
    );
    expect(grouped).toBe(mixed);
  });

  test("is equal for its snapshot, and for other labels and versions", () => {
    const other = buildInitializedNode({ metadata: { resourceVersion: "2", labels: { a: "b" } } });
    expect(nodeWatch.rechecks?.resync?.fingerprint(other)).toBe(before);
    expect(
      nodeWatch.rechecks?.resync?.fingerprint(
        nodeWatch.snapshot(other, { labelPrefixes: LABEL_PREFIXES, settings: DEFAULT_SETTINGS }),
      ),
    ).toBe(before);
  });
});

describe("the manager that restored the taint", () => {
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
      "one of several that wrote at one time",
      [entry("b", "2026-01-02", taints), entry("a", undefined, taints)],
      "b",
    ],
    ["undefined, if only we wrote them", [entry("serverless-ccm", "2026-01-03", taints)], undefined],
    ["undefined, for other fields", [entry("a", undefined, { "f:spec": {} })], undefined],
    ["undefined, without a name", [entry(7, undefined, taints)], undefined],
    ["undefined, for invalid input", "rubbish", undefined],
  ])("is %s", (_, managedFields, expected) => {
    expect(nodeWatch.rechecks?.findConflictingManager?.({ metadata: { managedFields } })).toBe(expected);
  });

  test("is undefined for an object without metadata", () => {
    expect(nodeWatch.rechecks?.findConflictingManager?.(null)).toBeUndefined();
  });
});

describe("the node controller", () => {
  test("asks about the instances of nodes whose decision depends on them", () => {
    expect(nodeController.buildQuestion(buildNode(), CONTEXT)).toEqual({
      capability: "instances",
      node: buildNode(),
      labels: "missing",
    });
    expect(nodeController.buildQuestion(buildInitializedNode(), CONTEXT)).toBeUndefined();
  });

  test("uses what was found before a node joined if the cluster has a source of look-ahead", () => {
    const ask = (reason: EventReason, ...lookAhead: readonly LookAheadSource[]) => {
      const nodes = { ...DEFAULT_SETTINGS.nodes, lookAhead: [...lookAhead] };
      return nodeController.buildQuestion(buildNode(), {
        ...{ ...CONTEXT, reason, settings: { ...DEFAULT_SETTINGS, nodes } },
      });
    };
    expect(ask("watch", "node-claims")).toMatchObject({ ahead: "use", launches: false });
    expect(ask("retry", "launches")).toMatchObject({ ahead: "use", launches: true });
    expect(ask("sweep", "launches")).not.toHaveProperty("ahead");
    expect(ask("watch")).not.toHaveProperty("ahead");
  });

  test.each([
    [{ addMissing: true, correctDiffering: false }, "missing"],
    [{ addMissing: false, correctDiffering: true }, "all"],
    [{ addMissing: false, correctDiffering: false }, undefined],
  ] as const)("asks for the labels that it may write: %j", (labels, expected) => {
    const settings = { ...DEFAULT_SETTINGS, nodes: { ...DEFAULT_SETTINGS.nodes, labels } };
    expect(
      nodeController.buildQuestion(buildInitializedNode(), { ...CONTEXT, settings, reason: "refresh" }),
    ).toMatchObject({
      labels: expected,
    });
  });

  test("decides on each node, and reports the manager that reverts our changes", () => {
    const plan = nodeController.decide(
      [
        { object: buildNode(), answer: buildFoundAnswer(), hint: { undoneBy: "other" } },
        { object: buildInitializedNode(), answer: undefined, hint: undefined },
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

test("an uninitialized node counts for both delays of the stock controller", () => {
  const waits = (of: ReturnType<typeof buildNode>) =>
    nodeWatch.metrics?.delays?.map((delay) => delay.isWaiting(of));
  expect([waits(buildNode()), waits(buildInitializedNode())]).toEqual([
    [true, true],
    [false, false],
  ]);
});

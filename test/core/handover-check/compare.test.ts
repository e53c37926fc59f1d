import { describe, expect, test } from "vitest";
import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import {
  applyWrites,
  compareInitialized,
  DIFFERENCE_CODES,
  isIgnored,
  parseIgnored,
} from "#core/handover-check/compare.ts";
import { isCloudLabel, parseObservedNode, restoreUninitialized } from "#core/handover-check/observed-node.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import {
  buildExternalAddress,
  buildFoundAnswer,
  buildInitializedNode,
  buildInternalAddress,
  buildNode,
  LABEL_PREFIXES,
  NOW,
} from "#test/core/node/builders.ts";

const ZONE_ID = "topology.k8s.aws/zone-id";

function compared(after: Node, answer: InstanceAnswer = buildFoundAnswer(), before = buildNode()) {
  const decision = decideNode(before, answer, { reason: "watch", now: NOW });
  return compareInitialized(before, after, decision, LABEL_PREFIXES);
}

const withLabels = (labels: Record<string, string>): Node =>
  buildInitializedNode({ metadata: { labels: { ...buildInitializedNode().metadata.labels, ...labels } } });
const withoutLabel = (key: string): Node => {
  const { [key]: _, ...labels } = buildInitializedNode().metadata.labels ?? {};
  return buildInitializedNode({ metadata: { labels } });
};

describe("the comparison of a node that another controller initialized", () => {
  test.each<[string, Node, InstanceAnswer, string[]]>([
    ["reports no difference for an equal node", buildInitializedNode(), buildFoundAnswer(), []],
    ["reports no difference for foreign labels", withLabels({ mine: "x" }), buildFoundAnswer(), []],
    [
      "reports another address",
      buildInitializedNode({ status: { addresses: [buildInternalAddress("10.9.9.9")] } }),
      buildFoundAnswer(),
      ['Addresses - ["InternalIP=10.0.1.17"] ["InternalIP=10.9.9.9"]'],
    ],
    [
      "reports missing addresses",
      buildInitializedNode({ status: {} }),
      buildFoundAnswer(),
      ['Addresses - ["InternalIP=10.0.1.17"] []'],
    ],
    [
      "reports another order of addresses of one type",
      buildInitializedNode({
        status: { addresses: [buildInternalAddress("fd00::1"), buildInternalAddress("10.0.1.17")] },
      }),
      buildFoundAnswer({ addresses: [buildInternalAddress("10.0.1.17"), buildInternalAddress("fd00::1")] }),
      [
        'AddressOrder - ["InternalIP=10.0.1.17","InternalIP=fd00::1"] ["InternalIP=fd00::1","InternalIP=10.0.1.17"]',
      ],
    ],
    [
      "reports no difference for another order of address types",
      buildInitializedNode({
        status: { addresses: [buildExternalAddress("203.0.113.7"), buildInternalAddress("10.0.1.17")] },
      }),
      buildFoundAnswer({
        addresses: [buildInternalAddress("10.0.1.17"), buildExternalAddress("203.0.113.7")],
      }),
      [],
    ],
    [
      "reports another provider ID",
      buildInitializedNode({ spec: { providerID: "aws:///z/i-1" } }),
      buildFoundAnswer(),
      ['ProviderID - "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" "aws:///z/i-1"'],
    ],
    [
      "reports a missing provider ID",
      buildInitializedNode({ spec: {} }),
      buildFoundAnswer(),
      ['ProviderID - "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" ""'],
    ],
    [
      "reports another value of a label",
      withLabels({ "topology.kubernetes.io/zone": "z" }),
      buildFoundAnswer(),
      ['LabelDiffers topology.kubernetes.io/zone "eu-central-1a" "z"'],
    ],
    [
      "reports a missing label",
      withoutLabel("topology.kubernetes.io/region"),
      buildFoundAnswer(),
      ['LabelMissing topology.kubernetes.io/region "eu-central-1" undefined'],
    ],
    [
      "reports a cloud label that we would not write",
      withLabels({ [ZONE_ID]: "euc1-az2" }),
      buildFoundAnswer(),
      [`LabelExtra ${ZONE_ID} undefined "euc1-az2"`],
    ],
    [
      "reports a node that we would not initialize yet",
      buildInitializedNode(),
      { kind: "not-found", message: "no such instance" },
      [
        'InitializedByThemAlone - "InstanceNotFound: no such instance" "aws:///eu-central-1a/i-0a1b2c3d4e5f60718"',
      ],
    ],
    [
      "reports a node without a provider ID that we would not initialize",
      buildInitializedNode({ spec: {} }),
      { kind: "error", code: "Foreign", message: "another cluster's" },
      ['InitializedByThemAlone - "Foreign: another cluster\'s" ""'],
    ],
  ])("%s", (_, after, answer, expected) => {
    const result = compared(after, answer);
    const differences = result.kind === "compared" ? result.differences : undefined;
    expect(
      differences?.map(
        ({ code, about = "-", ours, theirs }) =>
          `${code} ${about} ${JSON.stringify(ours)} ${JSON.stringify(theirs)}`,
      ),
    ).toEqual(expected);
  });

  test.each(["Throttled", "Unavailable", "Aborted"] as const)(
    "a cloud that answers %s proves no difference",
    (code) => {
      expect(compared(buildInitializedNode(), { kind: "error", code, message: "later" })).toEqual({
        kind: "later",
        message: "later",
      });
    },
  );

  test("a node without labels lacks all of them", () => {
    const { labels: _, ...metadata } = buildInitializedNode().metadata;
    const result = compared({ ...buildInitializedNode(), metadata });
    expect(result.kind === "compared" && result.differences.map(({ code }) => code)).toEqual(
      Array.from({ length: 6 }, () => "LabelMissing"),
    );
  });
});

describe("a node from the API server", () => {
  const TIME = "2026-03-01T11:00:00Z";
  const written = (manager: string, fieldsV1: unknown) => ({ manager, time: TIME, fieldsV1 });
  const CCM = "aws-cloud-controller-manager";
  const LABELS = { "f:metadata": { "f:labels": { "f:topology.kubernetes.io/zone": {} } } };
  const PROVIDER_ID = { "f:spec": { "f:providerID": {} } };
  const whole = (...managedFields: readonly unknown[]) => ({
    ...buildInitializedNode(),
    metadata: { ...buildInitializedNode().metadata, managedFields },
  });

  test("is undefined if it is invalid", () => {
    expect(parseObservedNode({ metadata: {} }, LABEL_PREFIXES)).toBeUndefined();
  });

  test.each([
    ["another controller", whole(written("kubelet", PROVIDER_ID), written(CCM, LABELS)), "other"],
    [
      "serverless-ccm and another controller",
      whole(written("serverless-ccm", PROVIDER_ID), written(CCM, LABELS)),
      "other",
    ],
    ["serverless-ccm", whole(written("serverless-ccm", LABELS)), "ours"],
    ["no known manager", whole(written("kubelet", LABELS)), undefined],
    ["no manager at all", buildInitializedNode(), undefined],
  ])("was initialized by %s", (_, object, expected) => {
    expect(parseObservedNode(object, LABEL_PREFIXES)?.initializedBy).toBe(expected);
  });

  const nodeBefore = (object: unknown): Node | undefined => {
    const seen = parseObservedNode(object, LABEL_PREFIXES);
    return seen && restoreUninitialized(seen);
  };

  test("is restored without a controller's fields, and with the taint", () => {
    const was = nodeBefore(
      whole(written(CCM, { ...LABELS, ...PROVIDER_ID }), written(1 as unknown as string, {})),
    );
    expect(was?.spec).toEqual({
      taints: [{ key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" }],
    });
    expect(was?.metadata.labels?.["topology.kubernetes.io/zone"]).toBeUndefined();
    expect(was?.metadata.labels?.["topology.kubernetes.io/region"]).toBe("eu-central-1");
    expect(was?.status).toEqual(buildInitializedNode().status);
  });

  test("is restored with its kubelet's fields, and with the taints of others", () => {
    const taints = [{ key: "mine", effect: "NoSchedule" }];
    const object = {
      ...whole(written("kubelet", { ...LABELS, ...PROVIDER_ID })),
      spec: { providerID: "aws:///z/i-1", taints },
    };
    const was = nodeBefore(object);
    expect(was?.spec.providerID).toBe("aws:///z/i-1");
    expect(was?.spec.taints?.map(({ key }) => key)).toEqual(["mine", UNINITIALIZED_TAINT]);
    expect(was?.metadata.labels).toEqual(buildInitializedNode().metadata.labels);
  });

  test("is unchanged while it waits", () => {
    expect(nodeBefore(buildNode())).toEqual(buildNode());
  });

  test("is restored without labels if it has none", () => {
    const { labels: _, ...metadata } = buildInitializedNode().metadata;
    const was = nodeBefore({ metadata: { ...metadata }, spec: {}, status: {} });
    expect(was?.metadata.labels).toBeUndefined();
    expect(was?.spec.providerID).toBeUndefined();
  });
});

test("writes that are no patches of the node leave it unchanged", () => {
  const write = {
    on: "cluster",
    apiVersion: "v1",
    resource: "nodes",
    name: "node-a",
    verb: "delete",
    precondition: { uid: "u" },
  } as const;
  expect(applyWrites(buildNode(), [write])).toEqual(buildNode());
});

test.each([
  ["topology.kubernetes.io/zone", true],
  ["beta.kubernetes.io/instance-type", true],
  [ZONE_ID, true],
  ["kubernetes.io/hostname", false],
])("%s is a label of the cloud: %s", (key, expected) => {
  expect(isCloudLabel(key, LABEL_PREFIXES)).toBe(expected);
});

describe("the known differences", () => {
  const difference = { code: "LabelExtra", node: "a", about: ZONE_ID, ours: undefined, theirs: "x" } as const;
  test.each([
    ["LabelExtra", true],
    [`LabelExtra:${ZONE_ID}`, true],
    ["LabelExtra:other", false],
    ["LabelMissing", false],
  ])("%s names it: %s", (text, expected) => {
    const ignored = parseIgnored(text);
    expect(ignored && isIgnored(difference, [ignored])).toBe(expected);
  });

  test.each(["", "Label", "labelextra", ":x", "LabelExtra\n"])("%j is not a difference", (text) => {
    expect(parseIgnored(text)).toBeUndefined();
  });

  test("exist for every code", () => {
    expect(DIFFERENCE_CODES.map((code) => parseIgnored(code)?.code)).toEqual(DIFFERENCE_CODES);
  });
});

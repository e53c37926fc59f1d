import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import type { LabelSettings } from "#core/node/settings.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildExternalAddress,
  buildFoundAnswer,
  buildHostname,
  buildInitializedNode,
  buildInternalAddress,
  IDENTITY,
  NOW,
} from "#test/core/node/builders.ts";
import { carryOut, listPatches } from "#test/core/node/carry-out.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const BETA_ZONE = "failure-domain.beta.kubernetes.io/zone";
const ZONE = "topology.kubernetes.io/zone";

describe("labels of an initialized node, without the cloud", () => {
  test.each<[string, Record<string, string> | undefined, Record<string, string> | undefined]>([
    ["without any label, stay unchanged", undefined, undefined],
    ["without both labels, stay unchanged", { a: "b" }, { a: "b" }],
    ["with the stable label only, stay unchanged", { [ZONE]: "a" }, { [ZONE]: "a" }],
    [
      "with equal stable and beta labels, stay unchanged",
      { [BETA_ZONE]: "a", [ZONE]: "a" },
      { [BETA_ZONE]: "a", [ZONE]: "a" },
    ],
    ["with the beta label only, get the stable one", { [BETA_ZONE]: "a" }, { [BETA_ZONE]: "a", [ZONE]: "a" }],
    [
      "with a different stable label, get it from the beta one",
      { [BETA_ZONE]: "a", [ZONE]: "b" },
      { [BETA_ZONE]: "a", [ZONE]: "a" },
    ],
    [
      "with an empty beta label, get an empty stable one",
      { [BETA_ZONE]: "", [ZONE]: "b" },
      { [BETA_ZONE]: "", [ZONE]: "" },
    ],
  ])("%s", (_, labels, expected) => {
    const { labels: __, ...metadata } = buildInitializedNode().metadata;
    const subject = { ...buildInitializedNode(), metadata: { ...metadata, ...(labels && { labels }) } };
    const decision = decide(subject, undefined, "watch");
    expect(decision.kind).toBe(
      expected === labels || JSON.stringify(expected) === JSON.stringify(labels) ? "unchanged" : "change",
    );
    expect(carryOut(subject, decision).metadata.labels).toEqual(expected);
  });

  test("are written only if the beta label is unchanged", () => {
    const subject = buildInitializedNode({
      metadata: { labels: { [BETA_ZONE]: "a", "beta.kubernetes.io/instance-type": "t" } },
    });
    expect(decide(subject, undefined, "watch")).toMatchObject({
      kind: "change",
      because: { code: "LabelsReconciled" },
      events: [],
      writes: [
        {
          precondition: [
            { path: "/metadata/uid" },
            { path: "/metadata/labels/beta.kubernetes.io~1instance-type", value: "t" },
            { path: "/metadata/labels/failure-domain.beta.kubernetes.io~1zone", value: "a" },
          ],
          patch: [
            { op: "add", path: "/metadata/labels/node.kubernetes.io~1instance-type", value: "t" },
            { op: "add", path: "/metadata/labels/topology.kubernetes.io~1zone", value: "a" },
          ],
        },
      ],
    });
  });

  test.each(["watch", "retry", "monitor"] as const)("are all that a %s checks", (reason) => {
    const decision = decide(
      buildInitializedNode(),
      buildFoundAnswer({ addresses: [buildInternalAddress("10.0.9.9")] }),
      reason,
    );
    expect(decision).toMatchObject({ kind: "unchanged", because: { code: "UpToDate" } });
  });
});

describe.each(["refresh", "sweep", "replay"] as const)("the %s of an initialized node", (reason) => {
  test("changes nothing if the node equals its instance", () => {
    expect(decide(buildInitializedNode(), buildFoundAnswer(), reason)).toMatchObject({
      kind: "unchanged",
      because: { code: "UpToDate" },
    });
  });

  test("updates only its addresses", () => {
    const answer = buildFoundAnswer({
      addresses: [buildInternalAddress("10.0.9.9")],
      zone: "elsewhere",
      providerID: "b",
    });
    expect(carryOut(buildInitializedNode(), decide(buildInitializedNode(), answer, reason))).toEqual(
      buildInitializedNode({ status: { addresses: [buildInternalAddress("10.0.9.9")] } }),
    );
  });

  test("is retried later if the cloud was not asked", () => {
    expect(decide(buildInitializedNode(), undefined, reason)).toMatchObject({
      kind: "retry",
      because: { code: "NoAnswer" },
    });
  });
});

describe("a refresh", () => {
  test.each<
    [
      string,
      Partial<Parameters<typeof buildFoundAnswer>[0]>,
      Partial<Node["metadata"]>,
      ReturnType<typeof buildInternalAddress>[],
    ]
  >([
    ["an empty list", { addresses: [] }, {}, [buildInternalAddress("10.0.1.17"), buildHostname("a")]],
    [
      "only names",
      { addresses: [buildHostname("b")] },
      {},
      [buildInternalAddress("10.0.1.17"), buildHostname("a")],
    ],
    [
      "a terminated instance",
      { state: "terminated", addresses: [buildExternalAddress("203.0.113.7")] },
      {},
      [buildInternalAddress("10.0.1.17"), buildHostname("a")],
    ],
    [
      "an invalid node IP",
      {},
      { annotations: { [PROVIDED]: "", "serverless-ccm.io/instance": IDENTITY } },
      [buildInternalAddress("10.0.1.17"), buildHostname("a")],
    ],
    [
      "a node IP that is not the instance's",
      {},
      { annotations: { [PROVIDED]: "10.1.1.1", "serverless-ccm.io/instance": IDENTITY } },
      [buildInternalAddress("10.0.1.17"), buildHostname("a")],
    ],
  ])("keeps the addresses with %s", (_, difference, metadata, addresses) => {
    const subject = buildInitializedNode({ metadata, status: { addresses } });
    expect(["skip", "unchanged"]).toContain(decide(subject, buildFoundAnswer(difference)).kind);
  });

  test.each([
    ["terminated", buildFoundAnswer({ state: "terminated" }), "InstanceTerminated"],
    ["not found", { kind: "not-found", message: "none" } as const, "InstanceNotFound"],
    ["another owner's instance", { kind: "error", code: "Foreign", message: "theirs" } as const, "Foreign"],
    ["not to be seen", { kind: "error", code: "Denied", message: "arn:aws:iam" } as const, "Denied"],
    [
      "another provider's node",
      { kind: "error", code: "ForeignProviderID", message: "eks-hybrid:///x" } as const,
      "ForeignProviderID",
    ],
  ])("reports why it skips: %s", (_, answer, code) => {
    expect(decide(buildInitializedNode(), answer)).toMatchObject({ kind: "skip", because: { code } });
  });

  test.each([
    ["Throttled", 3, 0],
    ["Ambiguous", 30, 1],
  ] as const)("is retried after the error %s", (code, afterSeconds, events) => {
    const decision = decide(buildInitializedNode(), { kind: "error", code, message: "as the cloud says" });
    expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
    expect(decision.kind === "retry" && decision.events.length).toBe(events);
  });

  test("keeps equal dual-stack addresses, and reorders others", () => {
    const addresses = [buildInternalAddress("10.0.1.17"), buildInternalAddress("2001:db8::17")];
    const subject = buildInitializedNode({ status: { addresses } });
    expect(decide(subject, buildFoundAnswer({ addresses })).kind).toBe("unchanged");
    const turned = decide(subject, buildFoundAnswer({ addresses: [...addresses].reverse() }));
    expect(carryOut(subject, turned).status.addresses).toEqual([...addresses].reverse());
  });

  test("keeps addresses grouped by type, as the stock controller's patch leaves them", () => {
    const cloud = [
      buildInternalAddress("10.0.1.17"),
      buildHostname("a"),
      buildInternalAddress("2001:db8::17"),
    ];
    const grouped = [
      buildInternalAddress("10.0.1.17"),
      buildInternalAddress("2001:db8::17"),
      buildHostname("a"),
    ];
    const node = buildInitializedNode({ status: { addresses: grouped } });
    const decision = decideNode(node, buildFoundAnswer({ addresses: cloud }), {
      reason: "refresh",
      now: NOW,
    });
    expect(decision.kind).toBe("unchanged");
  });

  test("writes addresses only if they and the node IP are unchanged since read", () => {
    const { annotations: _, ...metadata } = buildInitializedNode().metadata;
    const decision = decide(
      { ...buildInitializedNode(), metadata },
      buildFoundAnswer({ addresses: [buildInternalAddress("10.0.9.9")] }),
    );
    expect(listPatches(decision)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/status/addresses", value: [buildInternalAddress("10.0.1.17")] },
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "test", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    ]);
  });

  test.each([
    ["says which instance it is where it does not say", {}, IDENTITY],
    ["leaves another word on it alone", { "serverless-ccm.io/instance": "other" }, "other"],
  ])("of a node that was taken over %s", (_, annotations, expected) => {
    const subject = buildInitializedNode({ metadata: { annotations } });
    const after = carryOut(subject, decide(subject, buildFoundAnswer()));
    expect(after.metadata.annotations).toEqual({ "serverless-ccm.io/instance": expected });
  });

  test("reconciles labels in one patch with the addresses", () => {
    const subject = buildInitializedNode({ metadata: { labels: { [BETA_ZONE]: "a" }, annotations: {} } });
    const decision = decide(subject, buildFoundAnswer());
    expect(listPatches(decision)).toHaveLength(1);
    expect(carryOut(subject, decision).metadata).toMatchObject({
      labels: { [BETA_ZONE]: "a", [ZONE]: "a" },
      annotations: { "serverless-ccm.io/instance": IDENTITY },
    });
  });

  test.each(["Foreign", "Denied"] as const)("treats %s like a missing instance", (code) => {
    for (const labels of [{}, { [BETA_ZONE]: "a" }]) {
      const subject = buildInitializedNode({ metadata: { labels } });
      const other = decide(subject, { kind: "error", code, message: "theirs" });
      const absent = decide(subject, { kind: "not-found", message: "none" });
      expect({ ...other, because: absent.because }).toEqual(absent);
    }
  });

  test("reconciles labels if the instance is not found", () => {
    const subject = buildInitializedNode({ metadata: { labels: { [BETA_ZONE]: "a" } } });
    const after = carryOut(subject, decide(subject, { kind: "not-found", message: "none" }));
    expect(after.metadata.labels).toEqual({ [BETA_ZONE]: "a", [ZONE]: "a" });
  });
});

describe("an instance that no longer exists, whose name another instance has", () => {
  const takenOverBy = "i-0ffffffffffffffff";
  const stale = buildInitializedNode({
    status: { addresses: [buildInternalAddress("10.0.1.17"), buildHostname("a")] },
  });

  test.each<[string, InstanceAnswer]>([
    ["not found", { kind: "not-found", message: "none", takenOverBy }],
    [
      "terminated",
      {
        ...buildFoundAnswer({ state: "terminated", addresses: [], zone: "" }),
        takenOverBy,
      } as InstanceAnswer,
    ],
  ])("%s: the node keeps its addresses, and a Warning names both instances", (_, answer) => {
    const decision = decide(stale, answer);
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "InstanceReplaced" },
      afterSeconds: 600,
    });
    const words = decision.kind === "retry" ? decision.events.map(renderEvent) : [];
    expect(words).toEqual([
      {
        type: "Warning",
        reason: "InstanceReplaced",
        message: expect.stringMatching(/i-0a1b2c3d4e5f60718.* gone.*i-0ffffffffffffffff/),
      },
    ]);
  });

  test("is reported along with other writes", () => {
    const subject = buildInitializedNode({ metadata: { labels: { [BETA_ZONE]: "a" } } });
    const decision = decide(subject, { kind: "not-found", message: "none", takenOverBy });
    expect(decision).toMatchObject({ kind: "change", events: [{ code: "InstanceReplaced" }] });
    expect(carryOut(subject, decision).status).toEqual(subject.status);
  });

  test("is reported for a node without a provider ID too", () => {
    const subject = buildInitializedNode({ spec: {} });
    expect(decide(subject, { kind: "not-found", message: "none", takenOverBy })).toMatchObject({
      events: [{ facts: { providerID: "" } }],
    });
  });
});

describe("labels of an initialized node, with the cloud's facts", () => {
  const BETA_TYPE = "beta.kubernetes.io/instance-type";
  const TYPE = "node.kubernetes.io/instance-type";
  const EXTRA = "topology.k8s.aws/zone-id";
  const missing = { addMissing: true, correctDiffering: false };
  const differing = { addMissing: false, correctDiffering: true };
  const both = { addMissing: true, correctDiffering: true };
  const neither = { addMissing: false, correctDiffering: false };
  type Labels = Record<string, string>;

  test.each<[string, LabelSettings, Labels, Labels]>([
    ["missing labels are added", missing, {}, { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" }],
    [
      "the stable label follows the beta one, not the cloud",
      missing,
      { [BETA_TYPE]: "old", [EXTRA]: "y" },
      { [BETA_TYPE]: "old", [TYPE]: "old", [EXTRA]: "y" },
    ],
    [
      "a missing beta label is added if the stable one is correct",
      missing,
      { [TYPE]: "t", [EXTRA]: "x" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "no beta label is added if the stable one differs from the cloud",
      missing,
      { [TYPE]: "own", [EXTRA]: "x" },
      { [TYPE]: "own", [EXTRA]: "x" },
    ],
    [
      "a stable label that differs from a correct beta label is corrected",
      missing,
      { [BETA_TYPE]: "t", [TYPE]: "own", [EXTRA]: "x" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "with both settings, differing labels are corrected",
      both,
      { [BETA_TYPE]: "old", [TYPE]: "older", [EXTRA]: "y" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "with both settings, differing labels are corrected and missing ones added",
      both,
      { [TYPE]: "own" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    ["with correctDiffering, missing labels are not added", differing, {}, {}],
    [
      "with correctDiffering, a stable label without a beta one is corrected",
      differing,
      { [TYPE]: "own" },
      { [TYPE]: "t" },
    ],
    [
      "with correctDiffering, a beta label is corrected, and the stable one follows",
      differing,
      { [BETA_TYPE]: "old" },
      { [BETA_TYPE]: "t", [TYPE]: "t" },
    ],
    ["with neither setting, extra labels stay unchanged", neither, { [EXTRA]: "y" }, { [EXTRA]: "y" }],
    [
      "with neither setting, the stable label still follows the beta one",
      neither,
      { [BETA_TYPE]: "old" },
      { [BETA_TYPE]: "old", [TYPE]: "old" },
    ],
  ])("%s", (_, labels, present, expected) => {
    const settings = { ...DEFAULT_SETTINGS, nodes: { ...DEFAULT_SETTINGS.nodes, labels } };
    const answer = buildFoundAnswer({ type: "t", zone: "", region: "", labels: { [EXTRA]: "x" } });
    const subject = buildInitializedNode({
      metadata: {
        labels: { mine: "m", ...present },
        annotations: { "serverless-ccm.io/instance": IDENTITY },
      },
    });
    const decision = decide(subject, answer, "refresh", settings);
    const after = carryOut(subject, decision);
    expect(after.metadata.labels).toEqual({ mine: "m", ...expected });
    expect(decision.kind).toBe(
      JSON.stringify(Object.entries(present).toSorted()) ===
        JSON.stringify(Object.entries(expected).toSorted())
        ? "unchanged"
        : "change",
    );
    expect(decide(after, answer, "refresh", settings).kind).toBe("unchanged");
    expect(decide(after, undefined, "watch", settings).kind).toBe("unchanged");
  });

  test("a label that Kubernetes would reject is left out, and the others are added", () => {
    const answer = buildFoundAnswer({
      type: "a b",
      labels: { "kubernetes.io/x": "y", "-": "z", "example.com/ok": "a b", [EXTRA]: "x" },
    });
    const { [BETA_TYPE]: _, [TYPE]: __, ...labels } = buildInitializedNode().metadata.labels ?? {};
    const subject = buildInitializedNode({ metadata: { labels } });
    const decision = decide(subject, answer);
    expect(decision).toMatchObject({
      kind: "change",
      warnings: [
        { code: "InvalidLabel" },
        { code: "ReservedLabel" },
        { code: "InvalidLabel" },
        { code: "InvalidLabel" },
      ],
    });
    expect(carryOut(subject, decision).metadata.labels).toEqual({ ...labels, [EXTRA]: "x" });
    expect(decide(carryOut(subject, decision), answer).kind).toBe("unchanged");
  });

  test.each(["shutting-down", "terminated"] as const)(
    "are left unchanged once the instance is %s",
    (state) => {
      const subject = buildInitializedNode({ metadata: { labels: {} } });
      const decision = decide(subject, buildFoundAnswer({ state, labels: { [EXTRA]: "x" } }));
      expect(carryOut(subject, decision).metadata.labels).toEqual({});
    },
  );

  test("are written only if no other client has written them since", () => {
    const { labels: _, ...metadata } = buildInitializedNode().metadata;
    const bare = decide({ ...buildInitializedNode(), metadata }, buildFoundAnswer());
    expect(listPatches(bare)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/metadata/labels", value: null },
      { op: "test", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    ]);
    const some = decide(
      buildInitializedNode({ metadata: { labels: { [TYPE]: "m7g.large" }, annotations: {} } }),
      buildFoundAnswer({ zone: "", region: "", labels: { [EXTRA]: "x" } }),
    );
    expect(listPatches(some)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/metadata/labels/beta.kubernetes.io~1instance-type", value: null },
      { op: "test", path: "/metadata/labels/node.kubernetes.io~1instance-type", value: "m7g.large" },
      { op: "test", path: "/metadata/labels/topology.k8s.aws~1zone-id", value: null },
      { op: "test", path: "/metadata/annotations/serverless-ccm.io~1instance", value: null },
      { op: "test", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    ]);
  });
});

function decide(
  subject: Node,
  answer: InstanceAnswer | undefined,
  reason: EventReason = "refresh",
  settings = DEFAULT_SETTINGS,
): Decision {
  return decideNode(subject, answer, { reason, now: NOW, settings });
}

import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
import { DEFAULT_SETTINGS, type LabelSettings } from "#core/settings.ts";
import { external, found, hostname, IDENTITY, initialized, internal, NOW } from "#test/core/node/builders.ts";
import { carriedOut, patchesOf } from "#test/core/node/carry-out.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const BETA_ZONE = "failure-domain.beta.kubernetes.io/zone";
const ZONE = "topology.kubernetes.io/zone";

describe("labels of an initialized node, without the cloud", () => {
  test.each<[string, Record<string, string> | undefined, Record<string, string> | undefined]>([
    ["no labels", undefined, undefined],
    ["neither", { a: "b" }, { a: "b" }],
    ["stable alone", { [ZONE]: "a" }, { [ZONE]: "a" }],
    ["both the same", { [BETA_ZONE]: "a", [ZONE]: "a" }, { [BETA_ZONE]: "a", [ZONE]: "a" }],
    ["beta alone", { [BETA_ZONE]: "a" }, { [BETA_ZONE]: "a", [ZONE]: "a" }],
    ["stable differs", { [BETA_ZONE]: "a", [ZONE]: "b" }, { [BETA_ZONE]: "a", [ZONE]: "a" }],
    ["beta empty", { [BETA_ZONE]: "", [ZONE]: "b" }, { [BETA_ZONE]: "", [ZONE]: "" }],
  ])("%s", (_, labels, expected) => {
    const { labels: __, ...metadata } = initialized().metadata;
    const subject = { ...initialized(), metadata: { ...metadata, ...(labels && { labels }) } };
    const decision = decide(subject, undefined, "watch");
    expect(decision.kind).toBe(
      expected === labels || JSON.stringify(expected) === JSON.stringify(labels) ? "unchanged" : "change",
    );
    expect(carriedOut(subject, decision).metadata.labels).toEqual(expected);
  });

  test("are written on the condition that the beta label still says so", () => {
    const subject = initialized({
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

  test.each(["watch", "retry", "monitor"] as const)("are all that a %s looks at", (reason) => {
    const decision = decide(initialized(), found({ addresses: [internal("10.0.9.9")] }), reason);
    expect(decision).toMatchObject({ kind: "unchanged", because: { code: "UpToDate" } });
  });
});

describe.each(["refresh", "sweep", "replay"] as const)("%s of an initialized node", (reason) => {
  test("that is as its instance says", () => {
    expect(decide(initialized(), found(), reason)).toMatchObject({
      kind: "unchanged",
      because: { code: "UpToDate" },
    });
  });

  test("brings its addresses, and nothing else, in line", () => {
    const answer = found({
      addresses: [internal("10.0.9.9")],
      zone: "elsewhere",
      providerID: "b",
    });
    expect(carriedOut(initialized(), decide(initialized(), answer, reason))).toEqual(
      initialized({ status: { addresses: [internal("10.0.9.9")] } }),
    );
  });

  test("is left for later where the cloud was not asked", () => {
    expect(decide(initialized(), undefined, reason)).toMatchObject({
      kind: "retry",
      because: { code: "NoAnswer" },
    });
  });
});

describe("a refresh", () => {
  test.each<
    [string, Partial<Parameters<typeof found>[0]>, Partial<Node["metadata"]>, ReturnType<typeof internal>[]]
  >([
    ["an empty list", { addresses: [] }, {}, [internal("10.0.1.17"), hostname("a")]],
    ["names alone", { addresses: [hostname("b")] }, {}, [internal("10.0.1.17"), hostname("a")]],
    [
      "a terminated instance",
      { state: "terminated", addresses: [external("203.0.113.7")] },
      {},
      [internal("10.0.1.17"), hostname("a")],
    ],
    [
      "an unreadable node IP",
      {},
      { annotations: { [PROVIDED]: "", "serverless-ccm.io/instance": IDENTITY } },
      [internal("10.0.1.17"), hostname("a")],
    ],
    [
      "an unmatched node IP",
      {},
      { annotations: { [PROVIDED]: "10.1.1.1", "serverless-ccm.io/instance": IDENTITY } },
      [internal("10.0.1.17"), hostname("a")],
    ],
  ])("leaves the addresses alone with %s", (_, difference, metadata, addresses) => {
    const subject = initialized({ metadata, status: { addresses } });
    expect(["skip", "unchanged"]).toContain(decide(subject, found(difference)).kind);
  });

  test.each([
    ["terminated", found({ state: "terminated" }), "InstanceTerminated"],
    ["not found", { kind: "not-found", message: "none" } as const, "InstanceNotFound"],
    ["somebody else's", { kind: "error", code: "Foreign", message: "theirs" } as const, "Foreign"],
    ["not to be seen", { kind: "error", code: "Denied", message: "arn:aws:iam" } as const, "Denied"],
    [
      "another provider's node",
      { kind: "error", code: "ForeignProviderID", message: "eks-hybrid:///x" } as const,
      "ForeignProviderID",
    ],
  ])("says of what it skips why: %s", (_, answer, code) => {
    expect(decide(initialized(), answer)).toMatchObject({ kind: "skip", because: { code } });
  });

  test.each([
    ["Throttled", 3, 0],
    ["Ambiguous", 30, 1],
  ] as const)("is tried again after the error %s", (code, afterSeconds, events) => {
    const decision = decide(initialized(), { kind: "error", code, message: "as the cloud says" });
    expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
    expect(decision.kind === "retry" && decision.events.length).toBe(events);
  });

  test("leaves dual-stack addresses that are the same alone, and reorders those that are not", () => {
    const addresses = [internal("10.0.1.17"), internal("2001:db8::17")];
    const subject = initialized({ status: { addresses } });
    expect(decide(subject, found({ addresses })).kind).toBe("unchanged");
    const turned = decide(subject, found({ addresses: [...addresses].reverse() }));
    expect(carriedOut(subject, turned).status.addresses).toEqual([...addresses].reverse());
  });

  test("leaves addresses alone that the API server has by type, as the stock controller's patch makes it", () => {
    const cloud = [internal("10.0.1.17"), hostname("a"), internal("2001:db8::17")];
    const grouped = [internal("10.0.1.17"), internal("2001:db8::17"), hostname("a")];
    const node = initialized({ status: { addresses: grouped } });
    const decision = decideNode(node, found({ addresses: cloud }), { reason: "refresh", now: NOW });
    expect(decision.kind).toBe("unchanged");
  });

  test("writes addresses on the condition that they and the node IP are as they were read", () => {
    const { annotations: _, ...metadata } = initialized().metadata;
    const decision = decide({ ...initialized(), metadata }, found({ addresses: [internal("10.0.9.9")] }));
    expect(patchesOf(decision)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/status/addresses", value: [internal("10.0.1.17")] },
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "test", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    ]);
  });

  test.each([
    ["says which instance it is where it does not say", {}, IDENTITY],
    ["leaves another word on it alone", { "serverless-ccm.io/instance": "other" }, "other"],
  ])("of a node that was taken over %s", (_, annotations, expected) => {
    const subject = initialized({ metadata: { annotations } });
    const after = carriedOut(subject, decide(subject, found()));
    expect(after.metadata.annotations).toEqual({ "serverless-ccm.io/instance": expected });
  });

  test("reconciles labels in the same patch", () => {
    const subject = initialized({ metadata: { labels: { [BETA_ZONE]: "a" }, annotations: {} } });
    const decision = decide(subject, found());
    expect(patchesOf(decision)).toHaveLength(1);
    expect(carriedOut(subject, decision).metadata).toMatchObject({
      labels: { [BETA_ZONE]: "a", [ZONE]: "a" },
      annotations: { "serverless-ccm.io/instance": IDENTITY },
    });
  });

  test.each(["Foreign", "Denied"] as const)("does of %s what it does of no instance", (code) => {
    for (const labels of [{}, { [BETA_ZONE]: "a" }]) {
      const subject = initialized({ metadata: { labels } });
      const other = decide(subject, { kind: "error", code, message: "theirs" });
      const absent = decide(subject, { kind: "not-found", message: "none" });
      expect({ ...other, because: absent.because }).toEqual(absent);
    }
  });

  test("reconciles labels where the instance is not found", () => {
    const subject = initialized({ metadata: { labels: { [BETA_ZONE]: "a" } } });
    const after = carriedOut(subject, decide(subject, { kind: "not-found", message: "none" }));
    expect(after.metadata.labels).toEqual({ [BETA_ZONE]: "a", [ZONE]: "a" });
  });
});

describe("an instance whose name another one has by now", () => {
  const takenOverBy = "i-0ffffffffffffffff";
  const stale = initialized({ status: { addresses: [internal("10.0.1.17"), hostname("a")] } });

  test.each<[string, InstanceAnswer]>([
    ["not found", { kind: "not-found", message: "none", takenOverBy }],
    [
      "terminated",
      { ...found({ state: "terminated", addresses: [], zone: "" }), takenOverBy } as InstanceAnswer,
    ],
  ])("%s: the node keeps its addresses, and a Warning names both", (_, answer) => {
    const decision = decide(stale, answer);
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "InstanceReplaced" },
      afterSeconds: 600,
    });
    const words = decision.kind === "retry" ? decision.events.map(inWords) : [];
    expect(words).toEqual([
      {
        type: "Warning",
        reason: "InstanceReplaced",
        message: expect.stringMatching(/i-0a1b2c3d4e5f60718.* gone.*i-0ffffffffffffffff/),
      },
    ]);
  });

  test("is said along with what else is to be written", () => {
    const subject = initialized({ metadata: { labels: { [BETA_ZONE]: "a" } } });
    const decision = decide(subject, { kind: "not-found", message: "none", takenOverBy });
    expect(decision).toMatchObject({ kind: "change", events: [{ code: "InstanceReplaced" }] });
    expect(carriedOut(subject, decision).status).toEqual(subject.status);
  });

  test("is said of a node that names nothing, too", () => {
    const subject = initialized({ spec: {} });
    expect(decide(subject, { kind: "not-found", message: "none", takenOverBy })).toMatchObject({
      events: [{ facts: { providerID: "" } }],
    });
  });
});

describe("labels of an initialized node, by what the cloud says", () => {
  const BETA_TYPE = "beta.kubernetes.io/instance-type";
  const TYPE = "node.kubernetes.io/instance-type";
  const EXTRA = "topology.k8s.aws/zone-id";
  const missing = { addMissing: true, correctDiffering: false };
  const differing = { addMissing: false, correctDiffering: true };
  const both = { addMissing: true, correctDiffering: true };
  const neither = { addMissing: false, correctDiffering: false };
  type Labels = Record<string, string>;

  test.each<[string, LabelSettings, Labels, Labels]>([
    ["a pair that is missing is added", missing, {}, { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" }],
    [
      "the stable one follows the beta one, whatever the cloud says",
      missing,
      { [BETA_TYPE]: "old", [EXTRA]: "y" },
      { [BETA_TYPE]: "old", [TYPE]: "old", [EXTRA]: "y" },
    ],
    [
      "a beta one is added beside a stable one that says the same",
      missing,
      { [TYPE]: "t", [EXTRA]: "x" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "no beta one is added beside a stable one that says something else",
      missing,
      { [TYPE]: "own", [EXTRA]: "x" },
      { [TYPE]: "own", [EXTRA]: "x" },
    ],
    [
      "a stable one that differs from a beta one that is right is set",
      missing,
      { [BETA_TYPE]: "t", [TYPE]: "own", [EXTRA]: "x" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "what differs is corrected",
      both,
      { [BETA_TYPE]: "old", [TYPE]: "older", [EXTRA]: "y" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    [
      "what differs is corrected, and what is missing added",
      both,
      { [TYPE]: "own" },
      { [BETA_TYPE]: "t", [TYPE]: "t", [EXTRA]: "x" },
    ],
    ["what is missing stays so where that alone is corrected", differing, {}, {}],
    ["a stable one alone is corrected", differing, { [TYPE]: "own" }, { [TYPE]: "t" }],
    [
      "a beta one alone is corrected, and followed",
      differing,
      { [BETA_TYPE]: "old" },
      { [BETA_TYPE]: "t", [TYPE]: "t" },
    ],
    ["nothing is done where neither is set", neither, { [EXTRA]: "y" }, { [EXTRA]: "y" }],
    [
      "but the stable one follows the beta one even then",
      neither,
      { [BETA_TYPE]: "old" },
      { [BETA_TYPE]: "old", [TYPE]: "old" },
    ],
  ])("%s", (_, labels, present, expected) => {
    const settings = { ...DEFAULT_SETTINGS, nodes: { ...DEFAULT_SETTINGS.nodes, labels } };
    const answer = found({ type: "t", zone: "", region: "", labels: { [EXTRA]: "x" } });
    const subject = initialized({
      metadata: {
        labels: { mine: "m", ...present },
        annotations: { "serverless-ccm.io/instance": IDENTITY },
      },
    });
    const decision = decide(subject, answer, "refresh", settings);
    const after = carriedOut(subject, decision);
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

  test("one that Kubernetes would refuse is left out, and the others are added", () => {
    const answer = found({
      type: "a b",
      labels: { "kubernetes.io/x": "y", "-": "z", "example.com/ok": "a b", [EXTRA]: "x" },
    });
    const { [BETA_TYPE]: _, [TYPE]: __, ...labels } = initialized().metadata.labels ?? {};
    const subject = initialized({ metadata: { labels } });
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
    expect(carriedOut(subject, decision).metadata.labels).toEqual({ ...labels, [EXTRA]: "x" });
    expect(decide(carriedOut(subject, decision), answer).kind).toBe("unchanged");
  });

  test.each(["shutting-down", "terminated"] as const)("are left alone once it is %s", (state) => {
    const subject = initialized({ metadata: { labels: {} } });
    const decision = decide(subject, found({ state, labels: { [EXTRA]: "x" } }));
    expect(carriedOut(subject, decision).metadata.labels).toEqual({});
  });

  test("are written on the condition that nobody has written them meanwhile", () => {
    const { labels: _, ...metadata } = initialized().metadata;
    const bare = decide({ ...initialized(), metadata }, found());
    expect(patchesOf(bare)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/metadata/labels", value: null },
      { op: "test", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
    ]);
    const some = decide(
      initialized({ metadata: { labels: { [TYPE]: "m7g.large" }, annotations: {} } }),
      found({ zone: "", region: "", labels: { [EXTRA]: "x" } }),
    );
    expect(patchesOf(some)[0]?.precondition.slice(1)).toEqual([
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

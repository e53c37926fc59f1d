import { describe, expect, test } from "vitest";
import type { Decision } from "#core/decision.ts";
import type { EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node } from "#core/node/node.ts";
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
      labels: { rack: "a" },
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

  test("writes addresses on the condition that they and the node IP are as they were read", () => {
    const { annotations: _, ...metadata } = initialized().metadata;
    const decision = decide({ ...initialized(), metadata }, found({ addresses: [internal("10.0.9.9")] }));
    expect(patchesOf(decision)[0]?.precondition.slice(1)).toEqual([
      { op: "test", path: "/status/addresses", value: [internal("10.0.1.17")] },
      { op: "test", path: "/metadata/annotations", value: null },
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
    expect(patchesOf(decision).map(({ patch }) => patch.map(({ path }) => path))).toEqual([
      ["/metadata/labels/topology.kubernetes.io~1zone", "/metadata/annotations/serverless-ccm.io~1instance"],
    ]);
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

function decide(
  subject: Node,
  answer: InstanceAnswer | undefined,
  reason: EventReason = "refresh",
): Decision {
  return decideNode(subject, answer, { reason, now: NOW });
}

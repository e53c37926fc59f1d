import { describe, expect, test } from "vitest";
import type { AskContext, DecisionContext, InstanceController } from "#core/controller.ts";
import { selectNeededWatches, WATCHES } from "#core/controllers.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { createKubeletCsrController, nodeClaimController } from "#core/look-ahead/controller.ts";
import { kubeletCsrWatch, nodeClaimWatch } from "#core/look-ahead/watch.ts";
import type { LookAheadSource } from "#core/node/settings.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import type { ApiObject, Watch } from "#core/watch.ts";
import { buildFoundAnswer, getCreationTime, NOW } from "#test/core/node/builders.ts";

const PROVIDER_ID = "aws:///eu-central-1a/i-1";
const CONTEXT = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
const ASK: AskContext = { reason: "watch", now: NOW, related: {}, settings: DEFAULT_SETTINGS };
const csrController = createKubeletCsrController((request) =>
  request === "unreadable" ? undefined : request,
);

function buildClaim(status: object = { providerID: PROVIDER_ID }, ageSeconds = 5) {
  return {
    metadata: {
      name: "claim",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: getCreationTime(ageSeconds),
    },
    status,
  };
}

function buildCsr(spec: Partial<CertificateSigningRequest["spec"]> = {}, ageSeconds = 5) {
  return {
    metadata: { name: "csr", uid: "u", resourceVersion: "1", creationTimestamp: getCreationTime(ageSeconds) },
    spec: {
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      username: "system:bootstrap:abcdef",
      request: "node-1",
      ...spec,
    },
  };
}

function parse<T extends ApiObject>(watch: Watch<T>, value: unknown): T {
  const parsed = watch.parse(value);
  if (parsed.kind !== "object") throw new Error(JSON.stringify(parsed.faults));
  return parsed.object;
}

function ask<T extends ApiObject>(controller: InstanceController<T>, value: unknown): unknown {
  const object = parse(controller, value);
  const question = controller.buildQuestion(controller.snapshot(object, CONTEXT), ASK);
  if (question === undefined || !("node" in question)) return question;
  expect(question.ahead).toBe("keep");
  return question.node.spec.providerID ?? question.node.metadata.name;
}

describe("a NodeClaim", () => {
  test.each<[string, unknown, string | undefined]>([
    ["whose machine was launched", buildClaim(), PROVIDER_ID],
    ["whose machine was not launched yet", buildClaim({}), undefined],
    ["with an empty provider ID", buildClaim({ providerID: "" }), undefined],
    ["whose node has joined", buildClaim({ providerID: PROVIDER_ID, nodeName: "node-1" }), undefined],
    ["of ten minutes ago", buildClaim({ providerID: PROVIDER_ID }, 601), undefined],
  ])("%s", (_, claim, asked) => {
    expect(ask(nodeClaimController, claim)).toBe(asked);
  });

  test("with a provider ID of 2,000 characters is malformed", () => {
    const parsed = nodeClaimWatch.parse(buildClaim({ providerID: "i".repeat(2_000) }));
    expect(parsed).toMatchObject({ kind: "malformed", faults: [{ path: "status.providerID" }] });
  });
});

describe("a certificate signing request", () => {
  test.each<[string, unknown, string | undefined]>([
    ["of a kubelet that has no node yet", buildCsr(), "node-1"],
    ["of a node that renews its certificate", buildCsr({ username: "system:node:node-1" }), undefined],
    ["for a serving certificate", buildCsr({ signerName: "kubernetes.io/kubelet-serving" }), undefined],
    ["that is unreadable", buildCsr({ request: "unreadable" }), undefined],
    ["that is too long", buildCsr({ request: "r".repeat(20_000) }), undefined],
    ["of ten minutes ago", buildCsr({}, 601), undefined],
  ])("%s", (_, csr, asked) => {
    expect(ask(csrController, csr)).toBe(asked);
  });

  test("has no content in its snapshot if it announces nothing", () => {
    const csr = parse(kubeletCsrWatch, buildCsr({ username: "system:node:node-1" }));
    expect(kubeletCsrWatch.snapshot(csr, CONTEXT).spec.request).toBeUndefined();
  });
});

describe("an announced machine", () => {
  const decide = (answer: InstanceAnswer | undefined) => {
    const context: DecisionContext = ASK;
    const subject = { object: parse(nodeClaimWatch, buildClaim()), answer, hint: undefined };
    const plan = nodeClaimController.decide([subject], context);
    const [decision] = plan.kind === "each" ? plan.decisions : [];
    return decision?.kind === "retry"
      ? `retry ${decision.because.code} ${decision.afterSeconds}`
      : decision?.kind;
  };

  test.each<[string, InstanceAnswer | undefined, string]>([
    ["that was not looked up", undefined, "unchanged"],
    ["that runs", buildFoundAnswer(), "unchanged"],
    [
      "that is starting is looked up again",
      buildFoundAnswer({ state: "pending" }),
      "retry InstancePending 8",
    ],
    ["that is stopped", buildFoundAnswer({ state: "stopped" }), "skip"],
    ["that does not exist", { kind: "not-found", message: "" }, "skip"],
    ["of another cluster", { kind: "error", code: "Foreign", message: "" }, "skip"],
    [
      "is looked up again after a throttle",
      { kind: "error", code: "Throttled", message: "" },
      "retry Throttled 8",
    ],
  ])("%s", (_, answer, decision) => {
    expect(decide(answer)).toBe(decision);
  });

  test("tells a foreign machine in no other words than a missing one", () => {
    const subjects = [
      { kind: "not-found", message: "secret" } as const,
      { kind: "error", code: "Foreign", message: "secret" } as const,
    ].map((answer) => ({ object: parse(nodeClaimWatch, buildClaim()), answer, hint: undefined }));
    const plan = nodeClaimController.decide(subjects, ASK);
    const [missing, foreign] = plan.kind === "each" ? plan.decisions : [];
    expect(foreign).toEqual(missing);
  });
});

test("a cluster follows the sources that it configures", () => {
  const follow = (...lookAhead: LookAheadSource[]) =>
    selectNeededWatches(["cloud-node-controller"], WATCHES, {
      ...DEFAULT_SETTINGS,
      nodes: { ...DEFAULT_SETTINGS.nodes, lookAhead },
    }).map(({ name }) => name);
  expect(follow()).toEqual(["cloud-node-controller"]);
  expect(follow("launches")).toEqual(["cloud-node-controller"]);
  expect(follow("node-claims")).toEqual(["cloud-node-controller", "node-claim-announcements"]);
  expect(follow("kubelet-csrs")).toEqual(["cloud-node-controller", "kubelet-csr-announcements"]);
});

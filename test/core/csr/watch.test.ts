import { describe, expect, test } from "vitest";
import { MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  buildCsr,
  buildRelated,
  buildRelatedNode,
  csrController,
  NODE_NAME,
} from "#test/core/csr/builders.ts";
import { buildFoundAnswer, getCreationTime, NOW } from "#test/core/node/builders.ts";

const CONTEXT = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
const [RELATED] = csrWatch.related;

/** An object from the API server, with more fields than decisions read. */
const WHOLE = {
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { ...buildCsr().metadata, generateName: "csr-", managedFields: [{ manager: "kubelet" }] },
  spec: { ...buildCsr().spec, uid: "", extra: { "authentication.kubernetes.io/credential-id": ["x"] } },
  status: {},
};

describe("a snapshot", () => {
  test("contains what decisions read of the whole object", () => {
    expect(csrWatch.parse(WHOLE)).toEqual({ kind: "object", object: buildCsr() });
    expect(csrWatch.snapshot(buildCsr(), CONTEXT)).toEqual(buildCsr());
  });

  test.each([
    ["pending", buildCsr()],
    ["pending and too large", buildCsr({ spec: { request: undefined } })],
    ["approved", buildCsr({ status: { conditions: [{ type: "Approved" }] } })],
    ["of another signer", buildCsr({ spec: { signerName: "example.com/serving" } })],
    ["malformed", buildCsr({ spec: { request: "rubbish" } })],
  ])("of a CSR that is %s leads to an equal decision, and is its own snapshot", (_, object) => {
    const snapshot = csrWatch.snapshot(object, CONTEXT);
    expect(csrWatch.snapshot(snapshot, CONTEXT)).toEqual(snapshot);
    expect(csrWatch.parse(JSON.parse(JSON.stringify(snapshot)))).toEqual({
      kind: "object",
      object: snapshot,
    });
    const decide = (each: typeof object) =>
      csrController.decide([{ object: each, answer: buildFoundAnswer(), hint: undefined }], {
        reason: "watch",
        now: NOW,
        related: buildRelated(buildRelatedNode()),
        settings: DEFAULT_SETTINGS,
      });
    expect(decide(snapshot)).toEqual(decide(object));
  });

  test("drops unread content", () => {
    const other = buildCsr({ spec: { signerName: "example.com/serving" } });
    expect(csrWatch.snapshot(other, CONTEXT).spec).not.toHaveProperty("request");
  });

  test.each([
    [0, true],
    [1, false],
  ])("with a request of %d characters above the maximum keeps the request: %s", (more, kept) => {
    const request = "x".repeat(MAX_REQUEST_LENGTH + more);
    const parsed = csrWatch.parse({ ...WHOLE, spec: { ...WHOLE.spec, request } });
    expect(parsed.kind === "object" && parsed.object.spec.request !== undefined).toBe(kept);
    expect(
      parsed.kind === "object" &&
        csrWatch.needsWork(parsed.object, { labelPrefixes: [], settings: DEFAULT_SETTINGS }),
    ).toBe(true);
  });
});

describe("an invalid CSR", () => {
  test.each([
    ["null", null, {}],
    ["a pod", { metadata: { name: "pod-a", uid: "u" } }, { name: "pod-a", uid: "u" }],
    ["one with invalid metadata", { metadata: { name: 5, uid: "" } }, {}],
    ["one without a signer", { ...WHOLE, spec: {} }, { name: "csr-abcde" }],
  ])("such as %s is malformed, and keeps the valid parts of its identity", (_, value, identity) => {
    expect(csrWatch.parse(value)).toMatchObject({ kind: "malformed", ...identity });
  });
});

describe("the related node", () => {
  test("is the requestor's", () => {
    expect(RELATED?.reads(buildCsr())).toEqual([NODE_NAME]);
    expect(RELATED?.reads(buildCsr({ spec: { username: "kubernetes-admin" } }))).toEqual([]);
  });

  test("is unchanged by a kubelet's regular writes", () => {
    const node = {
      ...buildRelatedNode(),
      status: { conditions: [{ type: "Ready", status: "False" }], addresses: [] },
    };
    const later = {
      ...buildRelatedNode({ metadata: { resourceVersion: "9", labels: { a: "b" } } }),
      status: { conditions: [{ type: "Ready", status: "True" }] },
    };
    expect(RELATED?.project(node)).toEqual(buildRelatedNode());
    expect(RELATED?.project(later)).toEqual(RELATED?.project(node));
  });

  test.each([
    ["provider ID", buildRelatedNode({ spec: { providerID: "aws:///b/i-1" } })],
    ["uid", buildRelatedNode({ metadata: { uid: "other" } })],
    ["deletion", buildRelatedNode({ metadata: { deletionTimestamp: getCreationTime(1) } })],
  ])("differs after a change of its %s", (_, node) => {
    expect(RELATED?.project(node)).not.toEqual(RELATED?.project(buildRelatedNode()));
  });

  test("is dropped if it is invalid", () => {
    expect(RELATED?.project({ metadata: { name: "a" } })).toBeUndefined();
  });
});

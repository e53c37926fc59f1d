import { describe, expect, test } from "vitest";
import { MAX_REQUEST_LENGTH } from "#core/csr/csr.ts";
import { csrWatch } from "#core/csr/watch.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { csr, csrController, NODE_NAME, related, relatedNode } from "#test/core/csr/builders.ts";
import { bornSecondsAgo, found, NOW } from "#test/core/node/builders.ts";

const CONTEXT = { labelPrefixes: [], settings: DEFAULT_SETTINGS };
const [RELATED] = csrWatch.related;

/** As the API server has it: with more than decisions read. */
const WHOLE = {
  apiVersion: "certificates.k8s.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { ...csr().metadata, generateName: "csr-", managedFields: [{ manager: "kubelet" }] },
  spec: { ...csr().spec, uid: "", extra: { "authentication.kubernetes.io/credential-id": ["x"] } },
  status: {},
};

describe("a snapshot", () => {
  test("is what decisions read of the whole object", () => {
    expect(csrWatch.parse(WHOLE)).toEqual({ kind: "object", object: csr() });
    expect(csrWatch.snapshot(csr(), CONTEXT)).toEqual(csr());
  });

  test.each([
    ["pending", csr()],
    ["pending and too large", csr({ spec: { request: undefined } })],
    ["approved", csr({ status: { conditions: [{ type: "Approved" }] } })],
    ["of another signer", csr({ spec: { signerName: "example.com/serving" } })],
    ["malformed", csr({ spec: { request: "rubbish" } })],
  ])("of one that is %s is decided on alike, and is its own snapshot", (_, object) => {
    const snapshot = csrWatch.snapshot(object, CONTEXT);
    expect(csrWatch.snapshot(snapshot, CONTEXT)).toEqual(snapshot);
    expect(csrWatch.parse(JSON.parse(JSON.stringify(snapshot)))).toEqual({
      kind: "object",
      object: snapshot,
    });
    const decide = (each: typeof object) =>
      csrController.decide([{ object: each, answer: found(), hint: undefined }], {
        reason: "watch",
        now: NOW,
        related: related(relatedNode()),
        settings: DEFAULT_SETTINGS,
      });
    expect(decide(snapshot)).toEqual(decide(object));
  });

  test("keeps no content that nobody reads", () => {
    const other = csr({ spec: { signerName: "example.com/serving" } });
    expect(csrWatch.snapshot(other, CONTEXT).spec).not.toHaveProperty("request");
  });

  test.each([
    [0, true],
    [1, false],
  ])("keeps a request that is %d longer than the longest: %s", (more, kept) => {
    const request = "x".repeat(MAX_REQUEST_LENGTH + more);
    const parsed = csrWatch.parse({ ...WHOLE, spec: { ...WHOLE.spec, request } });
    expect(parsed.kind === "object" && parsed.object.spec.request !== undefined).toBe(kept);
    expect(
      parsed.kind === "object" &&
        csrWatch.needsWork(parsed.object, { labelPrefixes: [], settings: DEFAULT_SETTINGS }),
    ).toBe(true);
  });
});

describe("what is none", () => {
  test.each([
    ["nothing", null, {}],
    ["a pod", { metadata: { name: "pod-a", uid: "u" } }, { name: "pod-a", uid: "u" }],
    ["one with odd metadata", { metadata: { name: 5, uid: "" } }, {}],
    ["one without a signer", { ...WHOLE, spec: {} }, { name: "csr-abcde" }],
  ])("such as %s is malformed, with as much of its identity as it has", (_, value, identity) => {
    expect(csrWatch.parse(value)).toMatchObject({ kind: "malformed", ...identity });
  });
});

describe("the related node", () => {
  test("is the requestor's", () => {
    expect(RELATED?.reads(csr())).toEqual([NODE_NAME]);
    expect(RELATED?.reads(csr({ spec: { username: "kubernetes-admin" } }))).toEqual([]);
  });

  test("is the same after whatever a kubelet keeps writing", () => {
    const node = {
      ...relatedNode(),
      status: { conditions: [{ type: "Ready", status: "False" }], addresses: [] },
    };
    const later = {
      ...relatedNode({ metadata: { resourceVersion: "9", labels: { a: "b" } } }),
      status: { conditions: [{ type: "Ready", status: "True" }] },
    };
    expect(RELATED?.project(node)).toEqual(relatedNode());
    expect(RELATED?.project(later)).toEqual(RELATED?.project(node));
  });

  test.each([
    ["provider ID", relatedNode({ spec: { providerID: "aws:///b/i-1" } })],
    ["uid", relatedNode({ metadata: { uid: "other" } })],
    ["deletion", relatedNode({ metadata: { deletionTimestamp: bornSecondsAgo(1) } })],
  ])("is another one after a change of its %s", (_, node) => {
    expect(RELATED?.project(node)).not.toEqual(RELATED?.project(relatedNode()));
  });

  test("is of no use where it is none", () => {
    expect(RELATED?.project({ metadata: { name: "a" } })).toBeUndefined();
  });
});

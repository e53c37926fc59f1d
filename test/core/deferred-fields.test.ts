import { describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, LABEL_PAIRS, SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { buildApproval } from "#core/csr/controller.ts";
import { ApproveWrite, PatchWrite } from "#core/decision.ts";
import { type CloudKeys, findForeignField } from "#core/deferred-fields.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { initialize, reconcile, refresh } from "#core/node/decide.ts";
import { patchNode } from "#core/node/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { LabelSettings } from "#core/node/settings.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node/taints.ts";
import { buildCsr } from "#test/core/csr/builders.ts";
import {
  buildFoundAnswer,
  buildInitializedNode,
  buildInternalAddress,
  buildNode,
  NOW,
  TAINT,
} from "#test/core/node/builders.ts";

const KEYS: CloudKeys = { labelPrefixes: ["topology.k8s.aws/"], nodeKeys: ["example.com/compartment"] };
const OTHER = { key: "example.com/other", effect: "NoSchedule" };
const LABELS = LABEL_PAIRS.flatMap(({ beta, stable }) => [beta, stable]);
const at = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");

const ANSWER = buildFoundAnswer({
  labels: { "topology.k8s.aws/zone-id": "euc1-az1" },
  annotations: { "example.com/compartment": "a" },
});
const SETTINGS = LabelSettings.parse({});

/** The node function's decisions on nodes of every kind. */
const INITIALIZED = [
  buildNode(),
  buildNode({ metadata: { labels: undefined, annotations: undefined } }),
  buildNode({ spec: { taints: [OTHER, TAINT, { ...TAINT, effect: "NoExecute" }] } }),
  buildNode({ spec: { taints: [TAINT], providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" } }),
  buildNode({ status: { addresses: [buildInternalAddress("10.0.9.9")] } }),
].map((each) => [each, initialize(each, ANSWER, { now: NOW, labels: SETTINGS })] as const);
const REFRESHED = [
  buildInitializedNode({ metadata: { labels: {}, annotations: {} } }),
  buildInitializedNode({ metadata: { labels: undefined, annotations: undefined } }),
  buildInitializedNode({ status: { addresses: [buildInternalAddress("10.0.9.9")] } }),
].map((each) => [each, refresh(each, ANSWER, { now: NOW, labels: SETTINGS })] as const);
const beta = { "failure-domain.beta.kubernetes.io/zone": "b" };
const RECONCILED = [buildInitializedNode({ metadata: { labels: beta } })].map(
  (each) => [each, reconcile(each)] as const,
);

test.each([...INITIALIZED, ...REFRESHED, ...RECONCILED])(
  "accepts a decision of the node function: %#",
  (object, decision) => {
    if (decision.kind !== "change") throw new Error(`nothing is written: ${decision.kind}`);
    for (const write of decision.writes) {
      if (write.on !== "cluster" || write.verb !== "patch") throw new Error("a node is patched");
      expect(findForeignField("node", { write, object, keys: KEYS })).toBeUndefined();
    }
  },
);

test.each([
  buildNode({ spec: {} }),
  buildNode({ spec: { taints: [] } }),
  buildNode({ spec: { taints: [OTHER] } }),
  buildNode({ spec: { taints: [OTHER, SHUTDOWN_TAINT, { ...SHUTDOWN_TAINT, value: "x" }] } }),
])("accepts a decision of the node-lifecycle function: %#", (object) => {
  const write =
    patchNode(object, [addShutdownTaint(object)]) ?? patchNode(object, [removeShutdownTaint(object)]);
  if (write === undefined) throw new Error("nothing is written");
  expect(findForeignField("node-lifecycle", { write, object, keys: KEYS })).toBeUndefined();
});

test.each(["InstanceVerified", "UsagesForbidden"] as const)(
  "accepts a decision of the csr function: %s",
  (code) => {
    const object = buildCsr();
    const write = buildApproval(object, { code, facts: {} }, NOW);
    expect(findForeignField("csr", { write, object, keys: KEYS })).toBeUndefined();
  },
);

interface Refused {
  readonly what: string;
  readonly patch: readonly unknown[];
  readonly tests?: readonly unknown[];
  readonly subresource?: string;
  readonly object?: unknown;
  /** The reported field; by default the first operation's. */
  readonly field?: string;
}

const add = (path: string, value: unknown = "x") => ({ op: "add", path, value });
const remove = (path: string) => ({ op: "remove", path });
const guard = (path: string, value: unknown) => ({ op: "test", path, value });
const TWO: Node = buildNode({ spec: { taints: [OTHER, TAINT, SHUTDOWN_TAINT] } });
const UNINITIALIZED = guard("/spec/taints/1/key", UNINITIALIZED_TAINT);
const SHUTDOWN = [
  guard("/spec/taints/2/key", SHUTDOWN_TAINT.key),
  guard("/spec/taints/2/effect", SHUTDOWN_TAINT.effect),
];

const OF_NODE: readonly Refused[] = [
  ...[
    "phase",
    "capacity",
    "conditions",
    "conditions/-",
    "features",
    "runtimeHandlers",
    "images",
    "config",
  ].map((field) => ({
    what: `${field} of the status`,
    patch: [add(`/status/${field}`)],
    subresource: "status",
  })),
  { what: "invalid addresses", patch: [add("/status/addresses")], subresource: "status" },
  { what: "a single address", patch: [add("/status/addresses/0", {})], subresource: "status" },
  { what: "the removal of all addresses", patch: [remove("/status/addresses")], subresource: "status" },
  {
    what: "more addresses than the maximum",
    patch: [
      add(
        "/status/addresses",
        Array.from({ length: 257 }, () => ({})),
      ),
    ],
    subresource: "status",
  },
  {
    what: "conditions, in a patch that begins with addresses",
    patch: [add("/status/addresses", []), add("/status/conditions", [])],
    subresource: "status",
    field: "/status/conditions",
  },
  {
    what: "a label through the status subresource",
    patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`)],
    subresource: "status",
  },
  { what: "addresses without the status subresource", patch: [add("/status/addresses", [])] },
  { what: "spec.unschedulable", patch: [add("/spec/unschedulable", true)] },
  { what: "spec.podCIDR", patch: [add("/spec/podCIDR", "10.0.0.0/24")] },
  { what: "a finalizer", patch: [add("/metadata/finalizers", ["example.com/hold"])] },
  { what: "an owner reference", patch: [add("/metadata/ownerReferences", [])] },
  { what: "a foreign taint", patch: [add("/spec/taints/-", OTHER)] },
  { what: "an empty list of taints", patch: [add("/spec/taints", [])] },
  { what: "the removal of all taints", patch: [remove("/spec/taints")] },
  {
    what: "the removal of a foreign taint",
    patch: [remove("/spec/taints/0")],
    tests: [UNINITIALIZED],
    object: TWO,
  },
  {
    what: "the removal of a taint without a test of its key",
    patch: [remove("/spec/taints/1")],
    object: TWO,
  },
  {
    what: "the removal of a foreign taint that moved to the tested index",
    patch: [remove("/spec/taints/0"), remove("/spec/taints/1")],
    tests: [guard("/spec/taints/0/key", UNINITIALIZED_TAINT), UNINITIALIZED],
    object: TWO,
    field: "/spec/taints/1",
  },
  {
    what: "the removal of two taints at one index",
    patch: [remove("/spec/taints/1"), remove("/spec/taints/1")],
    field: "/spec/taints/1",
    tests: [UNINITIALIZED],
    object: TWO,
  },
  { what: "a taint's key", patch: [add("/spec/taints/1/key")], tests: [UNINITIALIZED], object: TWO },
  {
    what: "another provider ID on a node that has one",
    patch: [add("/spec/providerID")],
    object: buildInitializedNode(),
  },
  { what: "an invalid provider ID", patch: [add("/spec/providerID", {})] },
  { what: "a label that the cloud does not set", patch: [add("/metadata/labels/a")] },
  {
    what: "a label reserved for Kubernetes",
    patch: [add("/metadata/labels/node-role.kubernetes.io~1control-plane")],
  },
  { what: "the removal of a label", patch: [remove("/metadata/labels/kubernetes.io~1os")] },
  { what: "a label value that is not a string", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`, 1)] },
  { what: "a path below a label", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}/a`)] },
  { what: "a label with an empty name", patch: [add("/metadata/labels/")] },
  {
    what: "all labels, without a test that the node has none",
    patch: [add("/metadata/labels", { [LABELS[0] ?? ""]: "x" })],
  },
  {
    what: "all labels, with one that the cloud does not set",
    patch: [add("/metadata/labels", { [LABELS[0] ?? ""]: "x", a: "b" })],
    tests: [guard("/metadata/labels", null)],
  },
  {
    what: "labels that are not an object",
    patch: [add("/metadata/labels")],
    tests: [guard("/metadata/labels", null)],
  },
  { what: "an annotation that the cloud does not set", patch: [add("/metadata/annotations/a")] },
  {
    what: "a cloud annotation in place of another client's value",
    patch: [add("/metadata/annotations/example.com~1compartment")],
    object: buildNode({ metadata: { annotations: { "example.com/compartment": "theirs" } } }),
  },
  {
    what: "annotations that the cloud does not set, on a node without annotations",
    patch: [add("/metadata/annotations", { a: "b" })],
    tests: [guard("/metadata/annotations", null)],
    object: buildNode({ metadata: { annotations: undefined } }),
  },
  {
    what: "any field of an object that is not a node",
    patch: [add("/spec/providerID")],
    object: { metadata: { name: "a" } },
  },
];

const OF_LIFECYCLE: readonly Refused[] = [
  {
    what: "the shutdown taint through the status subresource",
    patch: [add("/spec/taints/-", SHUTDOWN_TAINT)],
    subresource: "status",
  },
  { what: "a foreign taint", patch: [add("/spec/taints/-", OTHER)] },
  {
    what: "the shutdown taint with the effect NoExecute",
    patch: [add("/spec/taints/-", { ...SHUTDOWN_TAINT, effect: "NoExecute" })],
  },
  {
    what: "all taints of a node that has taints",
    patch: [add("/spec/taints", [SHUTDOWN_TAINT])],
    object: TWO,
  },
  {
    what: "all taints, without a test that the node has none",
    patch: [add("/spec/taints", [SHUTDOWN_TAINT])],
    object: buildNode({ spec: {} }),
  },
  {
    what: "foreign taints on a node without taints",
    patch: [add("/spec/taints", [OTHER])],
    object: buildNode({ spec: {} }),
  },
  {
    what: "the removal of the uninitialized taint",
    patch: [remove("/spec/taints/1")],
    tests: [UNINITIALIZED],
    object: TWO,
  },
  {
    what: "the removal of the shutdown taint without a test of its effect",
    patch: [remove("/spec/taints/2")],
    tests: SHUTDOWN.slice(0, 1),
    object: TWO,
  },
  { what: "the removal of all taints", patch: [remove("/spec/taints")], object: TWO },
  { what: "spec.unschedulable", patch: [add("/spec/unschedulable", true)] },
  { what: "a label", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`)] },
  {
    what: "the annotation of the observed instance",
    patch: [add(`/metadata/annotations/${at(INSTANCE_ANNOTATION)}`)],
  },
  { what: "a finalizer", patch: [add("/metadata/finalizers", [])] },
  {
    what: "any field of an object that is not a node",
    patch: [add("/spec/taints/-", SHUTDOWN_TAINT)],
    object: {},
  },
];

const DECIDED = {
  ...{ type: "Approved", status: "True", reason: "InstanceVerified", message: "" },
  lastUpdateTime: "2030-01-01T00:00:00Z",
};
const CONDITIONS = "/status/conditions";
const UNDECIDED = [guard(CONDITIONS, null)];

const OF_CSR: readonly Refused[] = [
  ...[
    { what: "of another signer", spec: { signerName: "kubernetes.io/kube-apiserver-client" } },
    { what: "requested by a user", spec: { username: "admin" } },
    {
      what: "requested under a node's name by a user outside system:nodes",
      spec: { groups: ["system:authenticated"] },
    },
    {
      what: "requested by another user in system:nodes",
      spec: { username: "admin", groups: ["system:nodes"] },
    },
  ].map(({ what, spec }) => ({
    what: `the approval of a CSR ${what}`,
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: buildCsr({ spec }),
  })),
  {
    what: "the approval of a CSR that is already denied",
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: buildCsr({ status: { conditions: [{ type: "Denied" }] } }),
  },
  { what: "an approval without a test that there are no conditions", patch: [add(CONDITIONS, [DECIDED])] },
  {
    what: "a second condition",
    patch: [add(CONDITIONS, [DECIDED, { ...DECIDED, type: "Failed" }])],
    tests: UNDECIDED,
  },
  {
    what: "a condition of an unknown type",
    patch: [add(CONDITIONS, [{ ...DECIDED, type: "Mine" }])],
    tests: UNDECIDED,
  },
  {
    what: "a condition with an unknown field",
    patch: [add(CONDITIONS, [{ ...DECIDED, a: 1 }])],
    tests: UNDECIDED,
  },
  {
    what: "a condition message above the maximum length",
    patch: [add(CONDITIONS, [{ ...DECIDED, message: "x".repeat(8_193) }])],
    tests: UNDECIDED,
  },
  { what: "the removal of conditions", patch: [remove(CONDITIONS)], tests: UNDECIDED },
  { what: "a certificate", patch: [add("/status/certificate")], tests: UNDECIDED },
  {
    what: "a certificate, in a patch that begins with an approval",
    patch: [add(CONDITIONS, [DECIDED]), add("/status/certificate")],
    tests: UNDECIDED,
  },
  { what: "a label", patch: [add("/metadata/labels", {})], tests: UNDECIDED },
  {
    what: "any field of an object that is not a CSR",
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: {},
  },
];

describe.each<[FunctionIdentity, readonly Refused[], () => unknown]>([
  ["node", OF_NODE, buildNode],
  ["node-lifecycle", OF_LIFECYCLE, () => TWO],
  ["csr", OF_CSR, buildCsr],
])("the %s function must not write", (identity, rows, usual) => {
  test.each(rows)("$what", ({ patch, tests = [], subresource, object = usual(), field }) => {
    const [target, schema] =
      identity === "csr"
        ? [
            { apiVersion: "certificates.k8s.io/v1", resource: "certificatesigningrequests", verb: "approve" },
            ApproveWrite,
          ]
        : [{ apiVersion: "v1", resource: "nodes", verb: "patch" }, PatchWrite];
    const write = schema.parse({
      ...{
        on: "cluster",
        name: "a",
        ...target,
        patch,
        precondition: [guard("/metadata/uid", "u"), ...tests],
      },
      ...(subresource === undefined ? {} : { subresource }),
    });
    const [{ path }] = write.patch;
    expect(findForeignField(identity, { write, object, keys: KEYS })).toBe(field ?? path);
  });
});

test.each(["route", "service", "tagging"] as const)(
  "the %s function must not write anything through a relay",
  (identity) => {
    const write = PatchWrite.parse({
      ...{
        on: "cluster",
        apiVersion: "v1",
        resource: "nodes",
        name: "a",
        verb: "patch",
        subresource: "status",
      },
      ...{ precondition: [guard("/metadata/uid", "u")], patch: [add("/status/conditions", [])] },
    });
    expect(findForeignField(identity, { write, object: buildNode(), keys: KEYS })).toBe("/status/conditions");
  },
);

test("rejects a patch of a CSR and an approval of a node", () => {
  const write = { on: "cluster", name: "a", precondition: [guard("/metadata/uid", "u"), ...UNDECIDED] };
  const patch = [add(CONDITIONS, [DECIDED])];
  const target = { apiVersion: "certificates.k8s.io/v1", resource: "certificatesigningrequests" };
  const ofRequest = PatchWrite.parse({ ...write, ...target, patch, verb: "patch" });
  const ofNode = ApproveWrite.parse({
    ...write,
    apiVersion: "v1",
    resource: "nodes",
    patch,
    verb: "approve",
  });
  expect(findForeignField("csr", { write: ofRequest, object: buildCsr(), keys: KEYS })).toBe(CONDITIONS);
  for (const identity of ["node", "node-lifecycle"] as const)
    expect(
      findForeignField(identity, { write: ofNode, object: buildNode(), keys: { labelPrefixes: [] } }),
    ).toBe(CONDITIONS);
});

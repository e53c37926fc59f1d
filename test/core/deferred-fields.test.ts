import { describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION, LABEL_PAIRS, SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import { buildApproval } from "#core/csr/approval.ts";
import { ApproveWrite, PatchWrite } from "#core/decision.ts";
import { type CloudKeys, findForeignField } from "#core/deferred-fields.ts";
import type { FunctionIdentity } from "#core/identities.ts";
import { patchNode } from "#core/node/decisions.ts";
import { initialize } from "#core/node/initialize.ts";
import type { Node } from "#core/node/node.ts";
import { reconcile, refresh } from "#core/node/refresh.ts";
import { addShutdownTaint, removeShutdownTaint } from "#core/node-lifecycle/shutdown-taint.ts";
import { LabelSettings } from "#core/settings.ts";
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
  { what: "one address", patch: [add("/status/addresses/0", {})], subresource: "status" },
  { what: "no addresses any more", patch: [remove("/status/addresses")], subresource: "status" },
  {
    what: "addresses without end",
    patch: [
      add(
        "/status/addresses",
        Array.from({ length: 257 }, () => ({})),
      ),
    ],
    subresource: "status",
  },
  {
    what: "a condition behind its addresses",
    patch: [add("/status/addresses", []), add("/status/conditions", [])],
    subresource: "status",
    field: "/status/conditions",
  },
  {
    what: "a label by the status",
    patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`)],
    subresource: "status",
  },
  { what: "the addresses, not by the status", patch: [add("/status/addresses", [])] },
  { what: "a cordon", patch: [add("/spec/unschedulable", true)] },
  { what: "a pod CIDR", patch: [add("/spec/podCIDR", "10.0.0.0/24")] },
  { what: "a finalizer", patch: [add("/metadata/finalizers", ["example.com/hold"])] },
  { what: "an owner", patch: [add("/metadata/ownerReferences", [])] },
  { what: "a taint", patch: [add("/spec/taints/-", OTHER)] },
  { what: "all taints", patch: [add("/spec/taints", [])] },
  { what: "no taints any more", patch: [remove("/spec/taints")] },
  { what: "another's taint away", patch: [remove("/spec/taints/0")], tests: [UNINITIALIZED], object: TWO },
  { what: "a taint away that is not tested", patch: [remove("/spec/taints/1")], object: TWO },
  {
    what: "another's taint away, which the first leaves in the place that was tested",
    patch: [remove("/spec/taints/0"), remove("/spec/taints/1")],
    tests: [guard("/spec/taints/0/key", UNINITIALIZED_TAINT), UNINITIALIZED],
    object: TWO,
    field: "/spec/taints/1",
  },
  {
    what: "a taint away twice",
    patch: [remove("/spec/taints/1"), remove("/spec/taints/1")],
    field: "/spec/taints/1",
    tests: [UNINITIALIZED],
    object: TWO,
  },
  { what: "the key of a taint", patch: [add("/spec/taints/1/key")], tests: [UNINITIALIZED], object: TWO },
  { what: "a provider ID anew", patch: [add("/spec/providerID")], object: buildInitializedNode() },
  { what: "an invalid provider ID", patch: [add("/spec/providerID", {})] },
  { what: "another label", patch: [add("/metadata/labels/a")] },
  {
    what: "a label of Kubernetes' own",
    patch: [add("/metadata/labels/node-role.kubernetes.io~1control-plane")],
  },
  { what: "a label away", patch: [remove("/metadata/labels/kubernetes.io~1os")] },
  { what: "a label that is no text", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`, 1)] },
  { what: "a label in a label", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}/a`)] },
  { what: "a label without a name", patch: [add("/metadata/labels/")] },
  { what: "all labels, where some are", patch: [add("/metadata/labels", { [LABELS[0] ?? ""]: "x" })] },
  {
    what: "all labels, another among them",
    patch: [add("/metadata/labels", { [LABELS[0] ?? ""]: "x", a: "b" })],
    tests: [guard("/metadata/labels", null)],
  },
  {
    what: "invalid labels",
    patch: [add("/metadata/labels")],
    tests: [guard("/metadata/labels", null)],
  },
  { what: "another annotation", patch: [add("/metadata/annotations/a")] },
  {
    what: "an annotation of the cloud's over another",
    patch: [add("/metadata/annotations/example.com~1compartment")],
    object: buildNode({ metadata: { annotations: { "example.com/compartment": "theirs" } } }),
  },
  {
    what: "an annotation of the cloud's on a node that has none",
    patch: [add("/metadata/annotations", { a: "b" })],
    tests: [guard("/metadata/annotations", null)],
    object: buildNode({ metadata: { annotations: undefined } }),
  },
  {
    what: "anything of what is no node",
    patch: [add("/spec/providerID")],
    object: { metadata: { name: "a" } },
  },
];

const OF_LIFECYCLE: readonly Refused[] = [
  { what: "its taint by the status", patch: [add("/spec/taints/-", SHUTDOWN_TAINT)], subresource: "status" },
  { what: "another taint", patch: [add("/spec/taints/-", OTHER)] },
  { what: "its taint, to evict", patch: [add("/spec/taints/-", { ...SHUTDOWN_TAINT, effect: "NoExecute" })] },
  { what: "all taints, where some are", patch: [add("/spec/taints", [SHUTDOWN_TAINT])], object: TWO },
  {
    what: "all taints of a node that may have some by now",
    patch: [add("/spec/taints", [SHUTDOWN_TAINT])],
    object: buildNode({ spec: {} }),
  },
  {
    what: "other taints, where none are",
    patch: [add("/spec/taints", [OTHER])],
    object: buildNode({ spec: {} }),
  },
  {
    what: "the uninitialized taint away",
    patch: [remove("/spec/taints/1")],
    tests: [UNINITIALIZED],
    object: TWO,
  },
  {
    what: "a taint of its key away, whatever its effect",
    patch: [remove("/spec/taints/2")],
    tests: SHUTDOWN.slice(0, 1),
    object: TWO,
  },
  { what: "no taints any more", patch: [remove("/spec/taints")], object: TWO },
  { what: "a cordon", patch: [add("/spec/unschedulable", true)] },
  { what: "a label", patch: [add(`/metadata/labels/${at(LABELS[0] ?? "")}`)] },
  { what: "which instance it is", patch: [add(`/metadata/annotations/${at(INSTANCE_ANNOTATION)}`)] },
  { what: "a finalizer", patch: [add("/metadata/finalizers", [])] },
  { what: "anything of what is no node", patch: [add("/spec/taints/-", SHUTDOWN_TAINT)], object: {} },
];

const DECIDED = {
  ...{ type: "Approved", status: "True", reason: "InstanceVerified", message: "" },
  lastUpdateTime: "2030-01-01T00:00:00Z",
};
const CONDITIONS = "/status/conditions";
const UNDECIDED = [guard(CONDITIONS, null)];

const OF_CSR: readonly Refused[] = [
  ...[
    { what: "for another signer", spec: { signerName: "kubernetes.io/kube-apiserver-client" } },
    { what: "for a user", spec: { username: "admin" } },
    { what: "for a user of a node's name", spec: { groups: ["system:authenticated"] } },
    { what: "for a user of the nodes' group", spec: { username: "admin", groups: ["system:nodes"] } },
  ].map(({ what, spec }) => ({
    what: `an approval ${what}`,
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: buildCsr({ spec }),
  })),
  {
    what: "an approval of what is decided on",
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: buildCsr({ status: { conditions: [{ type: "Denied" }] } }),
  },
  { what: "an approval over an existing decision", patch: [add(CONDITIONS, [DECIDED])] },
  {
    what: "two conditions",
    patch: [add(CONDITIONS, [DECIDED, { ...DECIDED, type: "Failed" }])],
    tests: UNDECIDED,
  },
  {
    what: "a condition of its own",
    patch: [add(CONDITIONS, [{ ...DECIDED, type: "Mine" }])],
    tests: UNDECIDED,
  },
  {
    what: "a condition of an unknown field",
    patch: [add(CONDITIONS, [{ ...DECIDED, a: 1 }])],
    tests: UNDECIDED,
  },
  {
    what: "a message without end",
    patch: [add(CONDITIONS, [{ ...DECIDED, message: "x".repeat(8_193) }])],
    tests: UNDECIDED,
  },
  { what: "no conditions any more", patch: [remove(CONDITIONS)], tests: UNDECIDED },
  { what: "the certificate", patch: [add("/status/certificate")], tests: UNDECIDED },
  {
    what: "the certificate behind an approval",
    patch: [add(CONDITIONS, [DECIDED]), add("/status/certificate")],
    tests: UNDECIDED,
  },
  { what: "a label", patch: [add("/metadata/labels", {})], tests: UNDECIDED },
  {
    what: "anything of what is no request",
    patch: [add(CONDITIONS, [DECIDED])],
    tests: UNDECIDED,
    object: {},
  },
];

describe.each<[FunctionIdentity, readonly Refused[], () => unknown]>([
  ["node", OF_NODE, buildNode],
  ["node-lifecycle", OF_LIFECYCLE, () => TWO],
  ["csr", OF_CSR, buildCsr],
])("%s never writes", (identity, rows, usual) => {
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

test.each(["route", "service", "tagging"] as const)("%s writes nothing through a relay", (identity) => {
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
});

test("rejects a patch of a request and an approval of a node", () => {
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

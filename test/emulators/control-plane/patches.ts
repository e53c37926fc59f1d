import { describe, expect, test } from "vitest";
import {
  type Answered,
  ask,
  createNode,
  getNode,
  JSON_PATCH,
  MERGE_PATCH,
  METADATA_ONLY,
  NODES,
  patchNode,
  type Running,
  STRATEGIC_PATCH,
} from "#test/emulators/control-plane/client.ts";

/** Describes the effects of patches, and the messages for rejected ones. */
export function describePatches(running: Running): void {
  describe("patches", () => {
    test.each(APPLIED)("applies $given", async ({ node, subresource = "", type, patch, becomes }) => {
      const { metadata } = await createNode(running(), node ?? TAINTED);
      const patched = await patchNode(running(), `${metadata.name}${subresource}`, patch, type);
      expect(patched).toMatchObject({ code: 200, kind: "Node" });
      expect(picked(await getNode(running(), metadata.name), becomes)).toEqual(becomes);
    });

    test.each(REFUSED)("rejects $given", async ({ node, subresource = "", type, patch, answer }) => {
      const created = await createNode(running(), node ?? TAINTED);
      const { name, resourceVersion } = created.metadata;
      const refused = await patchNode(running(), `${name}${subresource}`, patch, type);
      expect(refused).toMatchObject({ kind: "Status", status: "Failure", ...answer });
      expect((await getNode(running(), name)).metadata.resourceVersion).toBe(resourceVersion);
    });

    test("a patch without a change creates no new version", async () => {
      const { metadata } = await createNode(running(), TAINTED);
      const patched = await patchNode(running(), metadata.name, [test_("/spec/taints/0/key", "first")]);
      expect(patched.metadata.resourceVersion).toBe(metadata.resourceVersion);
    });

    test("answers 404 for a missing node", async () => {
      const refused = await patchNode(running(), "absent", []);
      expect(refused).toMatchObject({ code: 404, reason: "NotFound", message: 'nodes "absent" not found' });
    });

    test("rejects a patch of an unknown type", async () => {
      const { metadata } = await createNode(running());
      const refused = await patchNode(running(), metadata.name, [], "application/json");
      expect(refused).toMatchObject({ code: 415, reason: "UnsupportedMediaType" });
    });

    test("returns only metadata on request", async () => {
      const { metadata } = await createNode(running(), TAINTED);
      const patch = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];
      const request = { method: "PATCH", path: `${NODES}/${metadata.name}`, body: patch } as const;
      const answer = await ask(running(), { ...request, contentType: JSON_PATCH, accept: METADATA_ONLY });
      expect(answer).toMatchObject({
        code: 200,
        kind: "PartialObjectMetadata",
        metadata: { labels: { a: "b" } },
      });
      expect(answer.spec).toBeUndefined();
    });

    test("records the fields of a manager, with the status separately", async () => {
      const { metadata } = await createNode(running(), TAINTED);
      const { name } = metadata;
      await patchNode(running(), `${name}?fieldManager=other-manager`, [
        { op: "remove", path: "/spec/taints/0" },
      ]);
      await patchNode(running(), `${name}/status?fieldManager=other-manager`, [
        { op: "add", path: "/status/addresses", value: [{ type: "InternalIP", address: "10.0.0.1" }] },
      ]);
      const managed = (await getNode(running(), name)).metadata.managedFields ?? [];
      const writers = managed.map(({ manager, subresource, fieldsV1 }) => ({
        manager,
        subresource,
        taints: fieldsV1["f:spec"]?.["f:taints"] !== undefined,
        addresses: fieldsV1["f:status"]?.["f:addresses"] !== undefined,
      }));
      expect(writers).toContainEqual({
        manager: "other-manager",
        subresource: undefined,
        taints: true,
        addresses: false,
      });
      expect(writers).toContainEqual({
        manager: "other-manager",
        subresource: "status",
        taints: false,
        addresses: true,
      });
    });
  });
}

interface PatchRow {
  readonly given: string;
  /** The node before the patch; by default with the taints `first` and `second`. */
  readonly node?: Parameters<typeof createNode>[1];
  readonly subresource?: "/status";
  /** The type of the patch; by default a JSON patch. */
  readonly type?: string;
  readonly patch: unknown;
}

const TAINTED = {
  spec: {
    taints: [
      { key: "first", effect: "NoSchedule" },
      { key: "second", effect: "NoSchedule" },
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ],
  },
};
const LABELLED = { metadata: { labels: { a: "b" } } };

const taint = (key: string) => ({ key, effect: "NoSchedule" });
const condition = (type: string) => ({
  type,
  status: "True",
  lastHeartbeatTime: "2026-01-02T03:04:05Z",
  lastTransitionTime: "2026-01-02T03:04:05Z",
});
const NOT_READY = taint("node.kubernetes.io/not-ready");
const test_ = (path: string, value: unknown) => ({ op: "test", path, value });

const APPLIED: readonly (PatchRow & { readonly becomes: Record<string, unknown> })[] = [
  {
    given: "a test of null where there is nothing",
    patch: [
      test_("/metadata/labels", null),
      test_("/spec/providerID", null),
      { op: "add", path: "/metadata/labels", value: { a: "b" } },
    ],
    becomes: { "metadata.labels": { a: "b" } },
  },
  {
    given: "a test of null on a label that the map has not",
    node: LABELLED,
    patch: [test_("/metadata/labels/x", null), { op: "add", path: "/metadata/labels/x", value: "y" }],
    becomes: { "metadata.labels": { a: "b", x: "y" } },
  },
  {
    given: "a replace of what is not there",
    patch: [{ op: "replace", path: "/spec/providerID", value: "example:///1" }],
    becomes: { "spec.providerID": "example:///1" },
  },
  {
    given: "one taint removed by its index, tested by its key, the others as they were",
    patch: [test_("/spec/taints/0/key", "first"), { op: "remove", path: "/spec/taints/0" }],
    becomes: { "spec.taints": [taint("second"), NOT_READY] },
  },
  {
    given: "taints added at the end and at the start",
    patch: [
      { op: "add", path: "/spec/taints/-", value: taint("last") },
      { op: "add", path: "/spec/taints/0", value: taint("zeroth") },
    ],
    becomes: { "spec.taints": [taint("zeroth"), taint("first"), taint("second"), NOT_READY, taint("last")] },
  },
  {
    given: "a taint behind the last one, which an index from the end names",
    patch: [
      test_("/spec/taints/-1/key", NOT_READY.key),
      { op: "add", path: "/spec/taints/-", value: taint("last") },
    ],
    becomes: { "spec.taints": [taint("first"), taint("second"), NOT_READY, taint("last")] },
  },
  {
    given: "a condition behind the last one, which an index from the end names",
    node: { status: { conditions: [condition("Ready"), condition("Mine")] } },
    subresource: "/status",
    patch: [
      test_("/status/conditions/-1/type", "Mine"),
      { op: "add", path: "/status/conditions/-", value: condition("NetworkUnavailable") },
    ],
    becomes: {
      "status.conditions": ["Ready", "Mine", "NetworkUnavailable"].map((type) => condition(type)),
    },
  },
  {
    given: "all taints removed, and the list with them",
    patch: [
      { op: "remove", path: "/spec/taints/2" },
      { op: "remove", path: "/spec/taints/1" },
      { op: "remove", path: "/spec/taints/0" },
    ],
    becomes: { "spec.taints": undefined },
  },
  {
    given: "a label whose key has a slash",
    node: LABELLED,
    patch: [{ op: "add", path: "/metadata/labels/topology.kubernetes.io~1zone", value: "eu-1a" }],
    becomes: { "metadata.labels": { a: "b", "topology.kubernetes.io/zone": "eu-1a" } },
  },
  {
    given: "a write to the node that would change its status: the status stays",
    patch: [
      { op: "add", path: "/status/addresses", value: [{ type: "Hostname", address: "forged" }] },
      { op: "add", path: "/spec/providerID", value: "example:///1" },
    ],
    becomes: { "spec.providerID": "example:///1", "status.addresses": undefined },
  },
  {
    given: "a write to the status that would change the spec: the spec stays",
    subresource: "/status",
    patch: [
      { op: "add", path: "/status/addresses", value: [{ type: "Hostname", address: "host" }] },
      { op: "add", path: "/spec/providerID", value: "forged" },
    ],
    becomes: { "spec.providerID": undefined, "status.addresses": [{ type: "Hostname", address: "host" }] },
  },
  {
    given: "a write to the status with labels: metadata is written by either",
    subresource: "/status",
    type: MERGE_PATCH,
    patch: { metadata: { labels: { a: "b" } } },
    becomes: { "metadata.labels": { a: "b" } },
  },
  {
    given: "two addresses of one type",
    subresource: "/status",
    patch: [
      test_("/status/addresses", null),
      {
        op: "add",
        path: "/status/addresses",
        value: [
          { type: "InternalIP", address: "10.0.0.1" },
          { type: "InternalIP", address: "fd00::1" },
        ],
      },
    ],
    becomes: {
      "status.addresses": [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "InternalIP", address: "fd00::1" },
      ],
    },
  },
  {
    given: "a merge patch: null deletes, a list is replaced",
    node: LABELLED,
    type: MERGE_PATCH,
    patch: { metadata: { labels: { a: null, c: "d" } }, spec: { taints: [taint("only")] } },
    becomes: { "metadata.labels": { c: "d" }, "spec.taints": [taint("only")] },
  },
  {
    given: "a strategic merge patch: taints are replaced",
    type: STRATEGIC_PATCH,
    patch: { spec: { taints: [taint("only")] } },
    becomes: { "spec.taints": [taint("only")] },
  },
  {
    given: "a strategic merge patch: addresses are merged by type",
    node: { status: { addresses: [{ type: "Hostname", address: "host" }] } },
    subresource: "/status",
    type: STRATEGIC_PATCH,
    patch: { status: { addresses: [{ type: "InternalIP", address: "10.0.0.1" }] } },
    becomes: {
      "status.addresses": [
        { type: "InternalIP", address: "10.0.0.1" },
        { type: "Hostname", address: "host" },
      ],
    },
  },
];

/** The answer to a JSON patch that does not apply, for any of its operations. */
const DOES_NOT_APPLY = {
  code: 422,
  reason: "Invalid",
  message: "the server rejected our request due to an error in our request",
  details: {},
};
const CONFLICT = { code: 409, reason: "Conflict" };
/** A pattern if the wording differs between versions. */
const invalid = (field: string, message: string | RegExp) => ({
  code: 422,
  reason: "Invalid",
  message:
    typeof message === "string"
      ? expect.stringContaining(`${field}: ${message}`)
      : expect.stringMatching(new RegExp(`${field}: (${message.source})`)),
  details: { causes: expect.arrayContaining([expect.objectContaining({ field })]) },
});

const REFUSED: readonly (PatchRow & { readonly answer: object })[] = [
  { given: "a failed test", patch: [test_("/spec/taints/0/key", "other")], answer: DOES_NOT_APPLY },
  { given: "a test of another uid", patch: [test_("/metadata/uid", "other")], answer: DOES_NOT_APPLY },
  {
    given: "a test of null on what is there",
    node: LABELLED,
    patch: [test_("/metadata/labels/a", null)],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a test of null below what is not there",
    patch: [test_("/metadata/labels/a", null)],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a test of null behind the end of a list",
    patch: [test_("/spec/taints/9", null)],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "something added behind the last of a list that is the last no more",
    patch: [
      test_("/spec/taints/-1/key", "second"),
      { op: "add", path: "/spec/taints/-", value: taint("last") },
    ],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a test that counts from the end beyond the start of a list",
    patch: [test_("/spec/taints/-4/key", "first")],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a test of the last of a list that is not there",
    patch: [test_("/status/conditions/-1/type", "Ready")],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a label added without a map of labels",
    patch: [{ op: "add", path: "/metadata/labels/x", value: "y" }],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a removal of what is not there",
    node: LABELLED,
    patch: [{ op: "remove", path: "/metadata/labels/x" }],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a removal behind the end of a list",
    patch: [{ op: "remove", path: "/spec/taints/9" }],
    answer: DOES_NOT_APPLY,
  },
  {
    given: "a failed test after an operation that would work: nothing is done",
    patch: [{ op: "remove", path: "/spec/taints/0" }, test_("/metadata/uid", "other")],
    answer: DOES_NOT_APPLY,
  },
  { given: "an unknown operation", patch: [{ op: "set", path: "/spec" }], answer: DOES_NOT_APPLY },
  { given: "an object as a JSON patch", patch: { spec: {} }, answer: { code: 400, reason: "BadRequest" } },
  {
    given: "a list as a merge patch",
    type: MERGE_PATCH,
    patch: [],
    answer: { code: 400, reason: "BadRequest" },
  },
  {
    given: "another uid",
    type: MERGE_PATCH,
    patch: { metadata: { uid: "other" } },
    answer: invalid("metadata.uid", 'Invalid value: "other": field is immutable'),
  },
  {
    given: "another name",
    type: MERGE_PATCH,
    patch: { metadata: { name: "other" } },
    answer: { code: 400, reason: "BadRequest" },
  },
  {
    given: "an older resourceVersion, merged",
    type: MERGE_PATCH,
    patch: { metadata: { resourceVersion: "1", labels: { a: "b" } } },
    answer: CONFLICT,
  },
  {
    given: "an older resourceVersion, in a JSON patch",
    patch: [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }],
    answer: CONFLICT,
  },
  {
    given: "an older resourceVersion, of the status",
    subresource: "/status",
    type: MERGE_PATCH,
    patch: { metadata: { resourceVersion: "1" }, status: { addresses: [] } },
    answer: CONFLICT,
  },
  {
    given: "another provider ID",
    node: { spec: { providerID: "example:///1" } },
    patch: [{ op: "replace", path: "/spec/providerID", value: "example:///2" }],
    answer: invalid(
      "spec.providerID",
      /Forbidden: node updates may not change providerID except from "" to valid|Invalid value: .*: field cannot be modified once set/,
    ),
  },
  {
    given: "no provider ID any more",
    node: { spec: { providerID: "example:///1" } },
    patch: [{ op: "remove", path: "/spec/providerID" }],
    answer: invalid("spec.providerID", /Forbidden|Invalid value: .*: field cannot be cleared once set/),
  },
  {
    given: "a label key with a space",
    type: MERGE_PATCH,
    patch: { metadata: { labels: { "a b": "c" } } },
    answer: invalid("metadata.labels", 'Invalid value: "a b": name part must consist of'),
  },
  {
    given: "a label value that is too long",
    type: MERGE_PATCH,
    patch: { metadata: { labels: { a: "b".repeat(64) } } },
    answer: invalid("metadata.labels", `Invalid value: "${"b".repeat(64)}": must be no more than 63`),
  },
  {
    given: "a label value that is no string",
    type: MERGE_PATCH,
    patch: { metadata: { labels: { a: 1 } } },
    answer: {
      code: 422,
      reason: "Invalid",
      details: { causes: [expect.objectContaining({ field: "patch" })] },
    },
  },
  {
    given: "an unknown effect of a taint",
    patch: [{ op: "replace", path: "/spec/taints/0/effect", value: "Never" }],
    answer: invalid("metadata.taints[0].effect", 'Unsupported value: "Never"'),
  },
  {
    given: "one taint twice",
    patch: [{ op: "add", path: "/spec/taints/-", value: taint("first") }],
    answer: invalid("metadata.taints[3]", "Duplicate value"),
  },
];

// Returns the fields of the node at a row's paths.
function picked(node: Answered, becomes: Record<string, unknown>): Record<string, unknown> {
  const read = (path: string): unknown =>
    path
      .split(".")
      .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], node);
  return Object.fromEntries(Object.keys(becomes).map((path) => [path, read(path)]));
}

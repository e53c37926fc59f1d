import { describe, expect, test } from "vitest";
import { type Decision, Write } from "#core/decision.ts";
import { decideNode } from "#core/node/decide.ts";
import { applyPolicies, selectLabelWrites } from "#core/policies.ts";
import { buildFoundAnswer, buildInitializedNode, buildNode, NOW, TAINT } from "#test/core/node/builders.ts";
import { listPatches } from "#test/core/node/carry-out.ts";

const WATCH = { reason: "watch", now: NOW } as const;
const INITIALIZE = decideNode(buildNode(), buildFoundAnswer({ labels: { rack: "a b" } }), WATCH);
const APART: Decision = INITIALIZE.kind === "change" ? { ...INITIALIZE, independent: true } : INITIALIZE;
const RETRY = decideNode(
  buildNode(),
  { kind: "error", code: "Foreign", message: "of another cluster" },
  WATCH,
);
const UNCHANGED = decideNode(buildInitializedNode(), undefined, WATCH);
const SKIP = decideNode(
  buildNode({ metadata: { deletionTimestamp: "2026-03-01T11:59:59Z" } }),
  undefined,
  WATCH,
);
const UNTAINT = decideNode(buildInitializedNode({ spec: { taints: [TAINT] } }), buildFoundAnswer(), WATCH);

describe.each([
  ["no policy", false, false],
  ["dry run", true, false],
  ["labels only", false, true],
  ["both", true, true],
] as const)("%s", (_, dryRun, labelsOnly) => {
  test("keeps a decision that writes nothing", () => {
    expect(applyPolicies(SKIP, { dryRun, labelsOnly })).toBe(SKIP);
    expect(applyPolicies(UNCHANGED, { dryRun, labelsOnly })).toBe(UNCHANGED);
  });
});

describe("without a policy", () => {
  test.each([INITIALIZE, RETRY])("$kind stays unchanged", (decision) => {
    expect(applyPolicies(decision, { dryRun: false, labelsOnly: false })).toBe(decision);
  });
});

describe("a dry run", () => {
  test("reports what would be written", () => {
    expect(applyPolicies(UNTAINT, { dryRun: true, labelsOnly: false })).toEqual({
      kind: "skip",
      object: UNTAINT.object,
      because: {
        code: "DryRun",
        message:
          'would patch nodes node-a: add /spec/providerID "aws:///eu-central-1a/i-0a1b2c3d4e5f60718", remove /spec/taints/0',
      },
    });
  });

  test("names each write", () => {
    const { because } = applyPolicies(INITIALIZE, { dryRun: true, labelsOnly: false });
    expect(because.message).toMatch(
      /^would patch nodes\/status node-a: add \/status\/addresses .*; then patch nodes node-a: add /,
    );
  });

  test("names each independent write, in no order", () => {
    const { because } = applyPolicies(APART, { dryRun: true, labelsOnly: false });
    expect(because.message).toMatch(/^would patch nodes\/status node-a: .*; and patch nodes node-a: add /);
  });

  test("keeps the retry delay, without an Event", () => {
    expect(applyPolicies(RETRY, { dryRun: true, labelsOnly: false })).toEqual({ ...RETRY, events: [] });
  });
});

describe("labels only", () => {
  test("keeps the labels of a change and their tests", () => {
    const decision = applyPolicies(INITIALIZE, { dryRun: false, labelsOnly: true });
    expect(decision).toMatchObject({
      kind: "change",
      because: { code: "LabelsOnly" },
      events: [],
      warnings: [{ code: "InvalidLabel" }],
    });
    const writes = listPatches(decision);
    expect(writes.map(({ precondition }) => precondition.map(({ path }) => path))).toEqual([
      ["/metadata/uid"],
    ]);
    expect(writes.flatMap(({ patch }) => patch.map(({ path }) => path.split("/")[2]))).toEqual(
      Array(6).fill("labels"),
    );
  });

  test("keeps independent writes separate", () => {
    expect(applyPolicies(APART, { dryRun: false, labelsOnly: true })).toMatchObject({ independent: true });
    expect(applyPolicies(INITIALIZE, { dryRun: false, labelsOnly: true })).not.toHaveProperty("independent");
  });

  test("keeps a whole map of labels, and the tests of single ones", () => {
    const { labels: _, ...metadata } = buildNode().metadata;
    const whole = decideNode({ ...buildNode(), metadata }, buildFoundAnswer(), WATCH);
    const single = decideNode(
      buildNode(),
      buildFoundAnswer({ type: "", zone: "", region: "", labels: { rack: "a" } }),
      WATCH,
    );
    expect(
      [whole, single].map((decision) =>
        precondition(applyPolicies(decision, { dryRun: false, labelsOnly: true })),
      ),
    ).toEqual([
      ["/metadata/uid", "/metadata/labels"],
      ["/metadata/uid", "/metadata/labels/rack"],
    ]);
  });

  test("writes no label of a Service, which needs an annotation with it", () => {
    const write: Write = {
      ...{
        on: "cluster",
        apiVersion: "v1",
        resource: "services",
        namespace: "a",
        name: "web",
        verb: "patch",
      },
      precondition: [{ op: "test", path: "/metadata/uid", value: "uid-1" }],
      patch: [{ op: "remove", path: "/metadata/labels/implementation" }],
    };
    expect(selectLabelWrites([write])).toEqual([]);
  });

  test("skips if no label is left to write", () => {
    expect(applyPolicies(UNTAINT, { dryRun: false, labelsOnly: true })).toMatchObject({
      kind: "skip",
      because: { code: "LabelsOnly" },
    });
  });

  test("keeps the retry delay and the Warning", () => {
    expect(applyPolicies(RETRY, { dryRun: false, labelsOnly: true })).toBe(RETRY);
  });

  test("with a dry run reports which labels would be written", () => {
    const { because } = applyPolicies(INITIALIZE, { dryRun: true, labelsOnly: true });
    expect(because.message).not.toContain("/spec/");
  });
});

describe("writes other than patches", () => {
  const target = {
    on: "cluster",
    apiVersion: "v1",
    resource: "services",
    namespace: "a",
    name: "web",
  } as const;
  const identity = { uid: "uid-1", resourceVersion: "7" };
  const writes: readonly (readonly [Write, string])[] = [
    [
      {
        ...target,
        verb: "approve",
        precondition: [{ op: "test", path: "/metadata/uid", value: "uid-1" }],
        patch: [{ op: "add", path: "/status/conditions", value: [] }],
      },
      "approve services a/web: add /status/conditions []",
    ],
    [
      { ...target, verb: "create", precondition: { absent: true }, body: { a: 1 } },
      'create services a/web: {"a":1}',
    ],
    [
      { ...target, verb: "update", subresource: "status", precondition: identity, body: { a: 1 } },
      'update services/status a/web: {"a":1}',
    ],
    [{ ...target, verb: "delete", precondition: identity }, "delete services a/web"],
    [
      {
        on: "cloud",
        capability: "loadBalancers",
        action: "createListener",
        target: "a-web",
        parameters: { port: 80 },
        precondition: { uid: "uid-1", deleting: false },
      },
      'createListener of loadBalancers a-web {"port":80}',
    ],
  ];

  test.each(writes)(
    "$0.verb $0.action is parsed, reported by a dry run, and dropped by labels-only",
    (write, sentence) => {
      expect(Write.parse(write)).toEqual(write);
      const because = { code: "Test", message: "test" };
      const { object } = UNCHANGED;
      const decision = {
        kind: "change",
        object,
        because,
        writes: [write],
        events: [],
        warnings: [],
      } satisfies Decision;
      expect(applyPolicies(decision, { dryRun: true, labelsOnly: false }).because.message).toBe(
        `would ${sentence}`,
      );
      expect(selectLabelWrites([write])).toEqual([]);
    },
  );
});

function precondition(decision: typeof INITIALIZE): string[] {
  return listPatches(decision).flatMap((write) => write.precondition.map(({ path }) => path));
}

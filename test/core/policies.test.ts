import { describe, expect, test } from "vitest";
import { type Decision, Write } from "#core/decision.ts";
import { decideNode } from "#core/node/decide.ts";
import { applyPolicies, labelsOnlyOfWrites } from "#core/policies.ts";
import { found, initialized, NOW, node, TAINT } from "#test/core/node/builders.ts";
import { patchesOf } from "#test/core/node/carry-out.ts";

const WATCH = { reason: "watch", now: NOW } as const;
const INITIALIZE = decideNode(node(), found({ labels: { rack: "a b" } }), WATCH);
const APART: Decision = INITIALIZE.kind === "change" ? { ...INITIALIZE, independent: true } : INITIALIZE;
const RETRY = decideNode(node(), { kind: "error", code: "Foreign", message: "of another cluster" }, WATCH);
const UNCHANGED = decideNode(initialized(), undefined, WATCH);
const SKIP = decideNode(node({ metadata: { deletionTimestamp: "2026-03-01T11:59:59Z" } }), undefined, WATCH);
const UNTAINT = decideNode(initialized({ spec: { taints: [TAINT] } }), found(), WATCH);

describe.each([
  ["no policy", false, false],
  ["dry run", true, false],
  ["labels only", false, true],
  ["both", true, true],
] as const)("%s", (_, dryRun, labelsOnly) => {
  test("lets what writes nothing be", () => {
    expect(applyPolicies(SKIP, { dryRun, labelsOnly })).toBe(SKIP);
    expect(applyPolicies(UNCHANGED, { dryRun, labelsOnly })).toBe(UNCHANGED);
  });
});

describe("without a policy", () => {
  test.each([INITIALIZE, RETRY])("$kind stays as it is", (decision) => {
    expect(applyPolicies(decision, { dryRun: false, labelsOnly: false })).toBe(decision);
  });
});

describe("a dry run", () => {
  test("says what would be written", () => {
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

  test("names each write of those that stand for themselves, in no order", () => {
    const { because } = applyPolicies(APART, { dryRun: true, labelsOnly: false });
    expect(because.message).toMatch(/^would patch nodes\/status node-a: .*; and patch nodes node-a: add /);
  });

  test("waits as long, without an Event", () => {
    expect(applyPolicies(RETRY, { dryRun: true, labelsOnly: false })).toEqual({ ...RETRY, events: [] });
  });
});

describe("labels only", () => {
  test("keeps of a change the labels and their tests", () => {
    const decision = applyPolicies(INITIALIZE, { dryRun: false, labelsOnly: true });
    expect(decision).toMatchObject({
      kind: "change",
      because: { code: "LabelsOnly" },
      events: [],
      warnings: [{ code: "InvalidLabel" }],
    });
    const writes = patchesOf(decision);
    expect(writes.map(({ precondition }) => precondition.map(({ path }) => path))).toEqual([
      ["/metadata/uid"],
    ]);
    expect(writes.flatMap(({ patch }) => patch.map(({ path }) => path.split("/")[2]))).toEqual(
      Array(6).fill("labels"),
    );
  });

  test("keeps writes apart that stand each for itself", () => {
    expect(applyPolicies(APART, { dryRun: false, labelsOnly: true })).toMatchObject({ independent: true });
    expect(applyPolicies(INITIALIZE, { dryRun: false, labelsOnly: true })).not.toHaveProperty("independent");
  });

  test("keeps a map of labels that is added whole, and the tests of single ones", () => {
    const { labels: _, ...metadata } = node().metadata;
    const whole = decideNode({ ...node(), metadata }, found(), WATCH);
    const single = decideNode(
      node(),
      found({ type: "", zone: "", region: "", labels: { rack: "a" } }),
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

  test("writes no label of a Service, which says where an annotation beside it is", () => {
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
    expect(labelsOnlyOfWrites([write])).toEqual([]);
  });

  test("skips where no label is left to write", () => {
    expect(applyPolicies(UNTAINT, { dryRun: false, labelsOnly: true })).toMatchObject({
      kind: "skip",
      because: { code: "LabelsOnly" },
    });
  });

  test("waits as long as without it, and warns", () => {
    expect(applyPolicies(RETRY, { dryRun: false, labelsOnly: true })).toBe(RETRY);
  });

  test("in a dry run says what labels would be written", () => {
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
    "$0.verb $0.action is parsed, told by a dry run, and none of labels only",
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
      expect(labelsOnlyOfWrites([write])).toEqual([]);
    },
  );
});

function precondition(decision: typeof INITIALIZE): string[] {
  return patchesOf(decision).flatMap((write) => write.precondition.map(({ path }) => path));
}

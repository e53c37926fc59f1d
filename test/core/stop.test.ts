import { describe, expect, test } from "vitest";
import type { CloudAction, Decision, Write } from "#core/decision.ts";
import { leaveUnchanged, retry, skip } from "#core/decisions.ts";
import { Event } from "#core/event.ts";
import { decideLifecycle } from "#core/node-lifecycle/controller.ts";
import {
  applyStop,
  describeStop,
  isDeleting,
  isHeldBy,
  isHeldSince,
  type Stop,
  selectTightestStop,
} from "#core/stop.ts";
import {
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  buildSettings,
  getTime,
} from "#test/core/node-lifecycle/builders.ts";

const OBJECT = { apiVersion: "v1", kind: "Service", namespace: "a", name: "web", uid: "uid-1" };
const TARGET = {
  on: "cluster",
  apiVersion: "v1",
  resource: "services",
  namespace: "a",
  name: "web",
} as const;
const PATCH: Write = {
  ...TARGET,
  verb: "patch",
  precondition: [{ op: "test", path: "/metadata/uid", value: "uid-1" }],
  patch: [{ op: "remove", path: "/metadata/finalizers/0" }],
};
const DELETE: Write = { ...TARGET, verb: "delete", precondition: { uid: "uid-1" } };

function action(name: string, absent?: CloudAction["precondition"]["absent"]): Write {
  return {
    on: "cloud",
    capability: "loadBalancers",
    action: name,
    target: "a-web",
    parameters: {},
    precondition: { uid: "uid-1", deleting: true, ...(absent === undefined ? {} : { absent }) },
  };
}

const ORPHANED = action("elbv2:DeleteLoadBalancer", { apiVersion: "v1", resource: "services", name: "web" });
const ABOUT = { code: "Reconciled", message: "as it is wanted" };

function changeOf(writes: readonly [Write, ...Write[]], more: Partial<Decision> = {}): Decision {
  const change = {
    kind: "change",
    object: OBJECT,
    because: ABOUT,
    writes: [...writes],
    warnings: [],
    events: [],
  };
  return { ...change, ...more } as Decision;
}

describe("a write", () => {
  test.each([
    "elbv2:DeleteLoadBalancer",
    "elbv2:DeleteTargetGroup",
    "elbv2:DeleteListener",
    "elbv2:DeregisterTargets",
    "elb:DeleteLoadBalancer",
    "elb:DeleteLoadBalancerListeners",
    "elb:DeregisterInstancesFromLoadBalancer",
    "elb:DetachLoadBalancerFromSubnets",
    "ec2:DeleteSecurityGroup",
    "ec2:RevokeSecurityGroupIngress",
    "ec2:DeleteRoute",
    "vcn:RemoveSecurityRules",
    "delete",
    "DeleteLoadBalancer",
    "ReleaseAddress",
  ])("of the action %s counts as deleting", (name) => expect(isDeleting(action(name))).toBe(true));

  test.each([
    "ec2:DeleteTags",
    "elbv2:RemoveTags",
    "elbv2:CreateLoadBalancer",
    "elbv2:RegisterTargets",
    "elbv2:ModifyListener",
    "ec2:ReplaceRoute",
    "create",
    "MarkLoadBalancer",
  ])("of the action %s does not count as deleting", (name) => expect(isDeleting(action(name))).toBe(false));

  test("to the cluster counts as deleting only if it is a DELETE", () => {
    expect([DELETE, PATCH].map(isDeleting)).toEqual([true, false]);
  });
});

test.each<[Stop, boolean[]]>([
  ["writes", [true, true, true, true, true]],
  ["deletes", [false, false, true, true, true]],
  ["unproven", [false, false, false, false, true]],
])("a stop of %s holds back", (stop, held) => {
  const writes = [PATCH, action("elbv2:CreateListener"), DELETE, action("elbv2:DeleteListener"), ORPHANED];
  expect(writes.map((write) => isHeldBy(stop, write))).toEqual(held);
});

test.each<[Stop | undefined, Stop | undefined, boolean[]]>([
  [undefined, undefined, [false, false, false]],
  ["unproven", "unproven", [false, false, true]],
  // It was decided as if the stop switch had been readable.
  [undefined, "unproven", [false, true, true]],
  ["unproven", "deletes", [false, true, true]],
  ["deletes", "writes", [true, true, true]],
])("a write decided under %s and sent under %s is held back", (before, now, held) => {
  expect([PATCH, DELETE, ORPHANED].map((write) => isHeldSince(before, now, write))).toEqual(held);
});

test.each<[readonly (Stop | undefined)[], Stop | undefined]>([
  [[], undefined],
  [[undefined, undefined], undefined],
  [[undefined, "unproven"], "unproven"],
  [["unproven", "deletes"], "deletes"],
  [["deletes", "writes", "unproven"], "writes"],
])("of the stops %j the strictest is %s", (stops, expected) =>
  expect(selectTightestStop(...stops)).toBe(expected),
);

describe("a decision", () => {
  const create = action("elbv2:CreateListener");
  const remove = action("elbv2:DeleteListener");

  test.each<[string, Decision, Stop | undefined, unknown]>([
    ["that deletes is unchanged without a stop", changeOf([remove]), undefined, changeOf([remove])],
    ["that deletes nothing is unchanged", changeOf([create, PATCH]), "deletes", changeOf([create, PATCH])],
    [
      "with ordered writes ends before the first deletion",
      changeOf([create, remove, PATCH]),
      "deletes",
      { kind: "change", writes: [create], events: [] },
    ],
    [
      "with independent writes loses the deletions",
      changeOf([remove, create, PATCH], { independent: true }),
      "deletes",
      { kind: "change", writes: [create, PATCH], independent: true },
    ],
    [
      "that begins with a deletion becomes a skip",
      changeOf([remove, PATCH]),
      "deletes",
      { kind: "skip", because: { code: "Stopped" } },
    ],
    [
      "to delete an orphan becomes a skip under a stop of unproven deletions",
      changeOf([ORPHANED]),
      "unproven",
      { kind: "skip", because: { code: "Stopped" } },
    ],
    [
      "to delete a node is unchanged if its controller decided under the stop",
      changeOf([DELETE]),
      "unproven",
      changeOf([DELETE]),
    ],
    [
      "that writes becomes a skip under a stop of all writes",
      changeOf([PATCH]),
      "writes",
      {
        kind: "skip",
        because: { code: "Stopped", message: /^an operator has stopped writes: would patch services a\/web/ },
      },
    ],
    ["to skip is unchanged", skip(OBJECT, ABOUT), "writes", skip(OBJECT, ABOUT)],
    ["to leave the object unchanged is unchanged", leaveUnchanged(OBJECT), "deletes", leaveUnchanged(OBJECT)],
    ["to retry is unchanged", retry(OBJECT, ABOUT, 5), "writes", retry(OBJECT, ABOUT, 5)],
  ])("%s", (_, decision, stop, expected) => {
    expect(applyStop(decision, stop)).toMatchObject(
      expected === undefined ? decision : matching(expected as Record<string, unknown>),
    );
  });
});

test("the reason names the prevented work, if there is one", () => {
  expect(describeStop("deletes").message).toBe("an operator has stopped deletes");
  expect(describeStop("deletes", "a node goes").message).toBe("an operator has stopped deletes: a node goes");
});

/** Patterns stand for matching texts. */
function matching(expected: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => {
      if (value instanceof RegExp) return [key, expect.stringMatching(value)];
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return [key, isObject ? matching(value as Record<string, unknown>) : value];
    }),
  );
}

describe("nodes with a missing instance", () => {
  const missed = { object: buildLifecycleNode(0), answer: buildNotFoundAnswer("i-control"), hint: undefined };
  const terminated = {
    object: buildLifecycleNode(1),
    answer: buildFoundAnswer(1, "terminated"),
    hint: undefined,
  };

  test.each<[Stop, string | undefined, string]>([
    // Nothing is announced, because an announcement counts as a deletion.
    ["writes", "each", "Stopped"],
    ["deletes", "each", "Stopped"],
    // The terminated one is announced and deleted.
    ["unproven", "shared", "DeletionState"],
  ])("with a stop of %s", (stop, kind, code) => {
    const context = { now: getTime(0), settings: buildSettings({}), clock: "here", stop };
    const count = { kind: "count", count: 10 } as const;
    const state = {
      kind: "object",
      object: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "serverless-ccm", uid: "u", resourceVersion: "1" },
      },
    } as const;
    const plan = decideLifecycle([missed, terminated], { ...context, count, state });
    expect(plan.kind).toBe(kind);
    if (plan.kind === "shared") {
      expect(plan.because.code).toBe(code);
      expect(JSON.stringify(plan.write)).not.toContain(missed.object.metadata.uid);
    } else expect(plan.decisions.map(({ because }) => because.code)).toEqual([code, code]);
  });

  test("only unproven deletions are reported", () => {
    const context = {
      now: getTime(0),
      settings: buildSettings({}),
      clock: "here",
      stop: "unproven",
    } as const;
    const plan = decideLifecycle([missed], context);
    expect(plan).toMatchObject({ decisions: [{ kind: "skip", because: { code: "Stopped" } }] });
  });
});

describe("an event", () => {
  const event = {
    id: "e-1",
    cluster: "a",
    clusterHash: "0123456789abcdef",
    controller: "cloud-node-controller",
    reason: "watch",
    objects: [{}],
  };

  test.each([
    [1, undefined, true],
    [1, "writes", true],
    [2, "deletes", true],
    [2, undefined, true],
    [3, "deletes", false],
    [1, "everything", false],
  ])("of version %s with a stop of %s is accepted: %s", (version, stop, isTaken) => {
    expect(Event.safeParse({ ...event, version, stop }).success).toBe(isTaken);
  });
});

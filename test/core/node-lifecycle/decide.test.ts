import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import { REGION_LABELS } from "#core/contracts.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { createEmptyState, MAX_ABSENCES, MAX_DELETIONS } from "#core/node-lifecycle/state.ts";
import type { Settings } from "#core/settings.ts";
import {
  ACCOUNT,
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  buildSettings,
  FAILED,
  getTime,
  type LifecycleNode,
  START,
} from "#test/core/node-lifecycle/builders.ts";
import { buildConfigMapData, createWorld } from "#test/core/node-lifecycle/world.ts";

const SHUTDOWN = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
const OTHER = { key: "example.com/gpu", effect: "NoSchedule", value: "a100" };
const SCALE_IN = { key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule", value: "1772366400" };
const UNINITIALIZED = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  effect: "NoSchedule",
  value: "true",
};

const CONTROL = buildNotFoundAnswer("i-control");
const TERMINATED = (number: number) => buildFoundAnswer(number, "terminated");

type Answer = (number: number, seconds: number) => InstanceAnswer;

/** A cluster over time: a pass over all nodes that are not Ready, at a fixed interval in seconds. */
interface Life {
  readonly given: string;
  readonly nodes: number;
  readonly node?: (number: number) => LifecycleNode;
  /** The cloud's answer about the `number`-th node at that time. */
  readonly answer: Answer;
  readonly settings?: Settings;
  readonly everySeconds?: number;
  readonly forSeconds: number;
  readonly before?: (world: ReturnType<typeof createWorld>, seconds: number) => void;
  /** The number of deleted nodes, and the final outcome of the others. */
  readonly deleted: number;
  readonly codes?: readonly string[];
  readonly brake?: string;
}

const lives: readonly Life[] = [
  {
    given: "wrong role: the account shows none of the cluster's instances",
    nodes: 3,
    answer: () => buildNotFoundAnswer(),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "wrong role: the account shows other instances in a network of the same name",
    nodes: 3,
    // Nodes of another account in the same batch: they prove nothing about the missing nodes' account.
    answer: (number) => (number === 0 ? otherAccount(number) : buildNotFoundAnswer()),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["NotReady", "DeletionUnproven"],
  },
  ...(
    [
      ["another account", { account: "999999999999", network: "vpc-1" }],
      ["an unknown account, as recorded by earlier versions", {}],
      ["another network", { account: ACCOUNT, network: "vpc-2" }],
      ["another region", { account: ACCOUNT, region: "eu-west-1" }],
      ["another region and an unknown network", { account: ACCOUNT, network: "-", region: "eu-west-1" }],
    ] as const
  ).map(
    ([elsewhere, place]): Life => ({
      given: `existing nodes are not found, visibility probe in ${elsewhere}`,
      nodes: 20,
      node: () => ({ labels: { [REGION_LABELS.stable]: "eu-central-1" } }),
      answer: () => buildNotFoundAnswer("i-control", place),
      forSeconds: 3_600,
      deleted: 0,
      codes: ["DeletionUnproven"],
    }),
  ),
  {
    given: "unseen nodes, visibility probe in another region than their label",
    nodes: 20,
    node: (number) => ({
      annotations: {},
      labels: { [number % 2 === 0 ? REGION_LABELS.stable : REGION_LABELS.beta]: "eu-central-1" },
    }),
    settings: buildSettings({ deletion: { unseen: true } }),
    answer: () =>
      buildNotFoundAnswer("i-control", { account: ACCOUNT, network: "vpc-1", region: "eu-west-1" }),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "instance not found, other instances of the batch in another network than the node's",
    nodes: 10,
    answer: (number) => (number === 0 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    node: (number) =>
      number === 0 ? { annotations: { "serverless-ccm.io/instance": `${ACCOUNT}/vpc-2/i-0` } } : {},
    forSeconds: 600,
    deleted: 0,
    codes: ["DeletionUnproven", "NotReady"],
  },
  {
    given: "instance not found, visibility probe of the same account without network and region",
    nodes: 10,
    node: (number) =>
      number === 0 ? { labels: { [REGION_LABELS.stable]: "eu-central-1" } } : { ready: "True" },
    answer: () => buildNotFoundAnswer("i-control", { account: ACCOUNT }),
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "instances not found, and each visibility probe is the missing instance itself",
    nodes: 10,
    answer: (number) => buildNotFoundAnswer(`i-${number}`),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "wrong region, and one node becomes Ready every ten minutes",
    nodes: 4,
    everySeconds: 5,
    answer: () => buildNotFoundAnswer(),
    before(world, seconds) {
      if (seconds % 600 === 0)
        world.put(buildLifecycleNode(0, { ready: "True", since: getTime(seconds).toISOString() }));
      if (seconds % 600 === 60) world.put(buildLifecycleNode(0, { since: getTime(seconds).toISOString() }));
    },
    forSeconds: 3_595,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "one node becomes Ready every ten minutes, and its instance is sometimes not found",
    nodes: 10,
    everySeconds: 5,
    answer: (number, seconds) => (number === 0 && seconds % 600 < 20 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 3_595,
    deleted: 0,
    codes: ["NotReady"],
  },
  {
    given: "scale-in from 500 to 50 nodes with terminated instances",
    nodes: 500,
    node: (number) => (number < 450 ? {} : { ready: "True" }),
    answer: TERMINATED,
    forSeconds: 0,
    deleted: 450,
  },
  {
    given: "all instances terminated",
    nodes: 3,
    answer: TERMINATED,
    forSeconds: 0,
    deleted: 3,
  },
  {
    given: "all instances terminated, all nodes Ready",
    nodes: 3,
    node: () => ({ ready: "True" }),
    answer: TERMINATED,
    forSeconds: 600,
    deleted: 0,
    codes: ["UpToDate"],
  },
  {
    given: "EC2 fails for an hour",
    nodes: 10,
    answer: () => FAILED,
    forSeconds: 3_600,
    deleted: 0,
    codes: ["Unavailable"],
  },
  {
    given: "EC2 returns no instances for an hour, and no visibility probe",
    nodes: 10,
    answer: () => buildNotFoundAnswer(),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "EC2 does not show a new instance for two minutes",
    nodes: 3,
    node: (number) => (number === 0 ? { annotations: {} } : { ready: "True" }),
    answer: (number, seconds) => (seconds < 120 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 180,
    deleted: 0,
    codes: ["NotReady", "UpToDate"],
  },
  {
    given: "instance not found for 20 seconds",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: (number, seconds) => (seconds < 20 ? CONTROL : buildFoundAnswer(number)),
    everySeconds: 5,
    forSeconds: 300,
    deleted: 0,
    codes: ["NotReady", "UpToDate"],
  },
  {
    given: "one of ten instances not found",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 40,
    deleted: 1,
    codes: ["UpToDate"],
  },
  {
    given: "one of ten instances not found, another of the batch as visibility probe",
    nodes: 10,
    answer: (number) => (number === 0 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    forSeconds: 40,
    deleted: 1,
    codes: ["NotReady"],
  },
  {
    given: "instance not found, within the grace period",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    everySeconds: 5,
    forSeconds: 25,
    deleted: 0,
    codes: ["InstanceMissed", "UpToDate"],
  },
  {
    given: "instance not found twice, with errors in between",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: (_, seconds) => (seconds % 40 === 0 ? CONTROL : FAILED),
    everySeconds: 10,
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "half of ten instances not found: the brake engages after a fifth in ten minutes",
    nodes: 10,
    answer: (number) => (number < 5 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    forSeconds: 7_200,
    deleted: 2,
    brake: "TenMinutes",
    codes: ["BrakePulled", "NotReady"],
  },
  {
    given: "one more of nine instances not found every 15 minutes: the brake engages after a third in a day",
    nodes: 9,
    answer: (number, seconds) => (seconds >= number * 900 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 9_000,
    deleted: 3,
    brake: "Day",
    codes: ["BrakePulled"],
  },
  {
    given: "the cluster's only instance not found",
    nodes: 1,
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "AllNodes",
    codes: ["BrakePulled"],
  },
  {
    given: "one of two instances not found, more than a third of the nodes",
    nodes: 2,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "Day",
  },
  {
    given: "one of two instances not found, with maxPercentIn24Hours 50",
    nodes: 2,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    settings: buildSettings({ deletion: { maxPercentIn24Hours: 50 } }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 1,
  },
  {
    given: "one of three instances not found",
    nodes: 3,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 1,
  },
  {
    given: "all of three instances not found, with maxPercent 100: the last node stays",
    nodes: 3,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 100, maxPercentIn24Hours: 100 } }),
    answer: () => CONTROL,
    forSeconds: 7_200,
    deleted: 2,
    brake: "AllNodes",
  },
  {
    given: "two of three instances terminated, the third not found",
    nodes: 3,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 100, maxPercentIn24Hours: 100 } }),
    answer: (number, seconds) =>
      number > 0 && seconds >= 60 ? TERMINATED(number) : number > 0 ? buildFoundAnswer(number) : CONTROL,
    everySeconds: 60,
    forSeconds: 60,
    deleted: 2,
    brake: "AllNodes",
  },
  {
    given: "maxPercentIn10Minutes 0",
    nodes: 10,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 0 } }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "TenMinutes",
  },
  {
    given: "scale-in announced by the autoscaler's taint, instances not found",
    nodes: 10,
    node: (number) => (number < 8 ? { taints: [SCALE_IN] } : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 60,
    deleted: 8,
  },
  {
    given: "scale-in shown by the cloud's record of actions, instances not found",
    nodes: 20,
    node: (number) => (number < 8 ? {} : { ready: "True" }),
    answer: () => ({ ...CONTROL, deleted: true }),
    forSeconds: 60,
    deleted: 8,
  },
  {
    given: "node deletion disabled",
    nodes: 4,
    settings: buildSettings({ deletion: { enabled: false } }),
    answer: (number) => (number < 2 ? TERMINATED(number) : CONTROL),
    forSeconds: 600,
    deleted: 0,
    codes: ["DeletionDisabled"],
  },
  {
    given: "nodes without an observed instance",
    nodes: 10,
    node: () => ({ annotations: {} }),
    answer: (number) => (number < 5 ? TERMINATED(number) : CONTROL),
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given: "nodes without an observed instance, with deletion.unseen",
    nodes: 10,
    node: (number) => (number < 2 ? { annotations: {}, taints: [UNINITIALIZED] } : { ready: "True" }),
    settings: buildSettings({ deletion: { unseen: true } }),
    answer: (number) => (number === 0 ? TERMINATED(number) : CONTROL),
    forSeconds: 40,
    deleted: 2,
  },
  {
    given: "nodes without an observed instance, with deletion.unseen, but without sufficient proof",
    nodes: 9,
    node: () => ({ annotations: {}, providerID: undefined }),
    settings: buildSettings({ deletion: { unseen: true } }),
    answer: (number, seconds) =>
      number < 3 ? buildNotFoundAnswer() : number < 6 ? FAILED : seconds === 0 ? CONTROL : FAILED,
    forSeconds: 600,
    deleted: 0,
  },
  {
    given: "provider IDs that are missing or name another instance than the observed one",
    nodes: 8,
    node: (number) => ({
      providerID: [`aws:///eu-central-1a/i-9${number}`, "gce://other", "", undefined][number % 4],
    }),
    answer: (number) => (number < 4 ? CONTROL : TERMINATED(number)),
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given: "invalid annotations of the observed instance",
    nodes: 4,
    node: (number) => ({
      annotations: {
        "serverless-ccm.io/instance": ["", ACCOUNT, `${ACCOUNT}/i-2`, `${ACCOUNT}/vpc-1/`][number] ?? "",
      },
    }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given: "terminated instance of another account than the observed one",
    nodes: 1,
    answer: (number) => otherAccount(number, "terminated"),
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given: "instances whose names other instances have now, and some kubelets still report",
    nodes: 4,
    node: (number) => ({ ready: number % 2 === 0 ? "False" : "Unknown" }),
    answer: (number) =>
      ({
        ...(number < 2 ? TERMINATED(number) : buildFoundAnswer(number)),
        takenOverBy: "i-new",
      }) as InstanceAnswer,
    forSeconds: 0,
    deleted: 1,
    codes: ["InstanceReplaced", "NotReady"],
  },
  {
    given: "instances not found whose names other instances have now, and one kubelet still reports",
    nodes: 10,
    node: (number) => (number === 0 ? { ready: "False" } : number === 1 ? {} : { ready: "True" }),
    answer: () => ({ ...CONTROL, takenOverBy: "i-new" }) as InstanceAnswer,
    forSeconds: 60,
    deleted: 1,
    codes: ["InstanceReplaced", "UpToDate"],
  },
  {
    given: "instances shutting down",
    nodes: 3,
    answer: (number) => buildFoundAnswer(number, "shutting-down"),
    forSeconds: 600,
    deleted: 0,
    codes: ["NotReady"],
  },
  {
    given: "nodes in deletion for an hour",
    nodes: 3,
    node: () => ({ deletionTimestamp: getTime(-3_600).toISOString() }),
    answer: TERMINATED,
    forSeconds: 600,
    deleted: 0,
    codes: ["BeingDeleted"],
  },
  {
    given: "unknown number of nodes",
    nodes: 10,
    answer: (number) => (number < 5 ? TERMINATED(number) : CONTROL),
    before(world) {
      world.count = { kind: "unknown", message: "403" };
    },
    forSeconds: 600,
    deleted: 0,
    codes: ["NodeCountUnknown"],
  },
  {
    given: "reported number of nodes is 0",
    nodes: 10,
    answer: TERMINATED,
    before(world) {
      world.count = { kind: "count", count: 0 };
    },
    forSeconds: 60,
    deleted: 0,
    codes: ["NodeCountUnknown"],
  },
  ...(
    [
      ["missing", undefined, "StateMissing"],
      ["malformed", buildConfigMapData("rubbish"), "StateMalformed"],
      ["of another version", buildConfigMapData({ version: 2 }), "StateOfOtherVersion"],
      ["too large", buildConfigMapData("x".repeat(1_000_000)), "StateMalformed"],
    ] as const
  ).map(
    ([what, data, code]): Life => ({
      given: `deletion state ${what}`,
      nodes: 10,
      answer: (number) => (number < 3 ? TERMINATED(number) : number < 6 ? CONTROL : buildFoundAnswer(number)),
      before: (world) => world.edit(data),
      forSeconds: 600,
      deleted: 0,
      codes: [code, "NotReady"],
    }),
  ),
  {
    given: "deletion state with the maximum number of deletions",
    nodes: 10,
    answer: TERMINATED,
    before(world) {
      const deletion = { at: getTime(-1_000).toISOString(), clock: "other", nodes: 9_000, counted: true };
      const deletions = Object.fromEntries(
        Array.from({ length: MAX_DELETIONS }, (_, index) => [`gone-${index}`, deletion]),
      );
      world.edit(buildConfigMapData({ ...createEmptyState(), deletions }));
    },
    forSeconds: 0,
    deleted: 0,
    codes: ["DeletionStateFull"],
  },
  {
    given: "deletions of other actors in progress that may leave no other node",
    nodes: 3,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 100, maxPercentIn24Hours: 100 } }),
    answer: (number) => (number === 0 ? CONTROL : buildFoundAnswer(number)),
    before(world, seconds) {
      const deletion = { at: getTime(seconds).toISOString(), clock: "other", nodes: 3, counted: false };
      const absences = {
        "uid-0": { first: getTime(-40).toISOString(), last: getTime(seconds).toISOString(), clock: "one" },
      };
      world.edit(
        buildConfigMapData({
          ...createEmptyState(),
          absences,
          deletions: { "uid-1": deletion, "uid-2": deletion },
        }),
      );
    },
    forSeconds: 0,
    deleted: 0,
    codes: ["DeletionsUnderWay", "NotReady"],
  },
  {
    given: "instance not found, node without the time of its Ready condition",
    nodes: 10,
    node: (number) => ({ ready: number === 0 ? undefined : "True" }),
    answer: () => CONTROL,
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "node Ready between two times that its instance is not found",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    everySeconds: 10,
    answer: () => CONTROL,
    before(world, seconds) {
      if (seconds === 30) world.put(buildLifecycleNode(0, { since: getTime(25).toISOString() }));
    },
    forSeconds: 50,
    deleted: 0,
    codes: ["InstanceMissed", "UpToDate"],
  },
  {
    given: "two instances not found, deletion state with room for one absence",
    nodes: 20,
    answer: (number) => (number < 2 ? CONTROL : buildFoundAnswer(number)),
    before(world, seconds) {
      if (seconds > 0) return;
      const absence = { first: START.toISOString(), last: getTime(59).toISOString(), clock: "other" };
      const absences = Object.fromEntries(
        Array.from({ length: MAX_ABSENCES - 1 }, (_, index) => [`other-${index}`, absence]),
      );
      world.edit(buildConfigMapData({ ...createEmptyState(), absences }));
    },
    forSeconds: 60,
    deleted: 1,
    codes: ["InstanceMissed", "NotReady"],
  },
  {
    given: "instance not found, deletion state without room for absences",
    nodes: 10,
    answer: (number) => (number === 0 ? CONTROL : buildFoundAnswer(number)),
    before(world, seconds) {
      const absence = {
        first: getTime(seconds - 60).toISOString(),
        last: getTime(seconds).toISOString(),
        clock: "other",
      };
      const absences = Object.fromEntries(
        Array.from({ length: MAX_ABSENCES }, (_, index) => [`other-${index}`, absence]),
      );
      world.edit(buildConfigMapData({ ...createEmptyState(), absences }));
    },
    forSeconds: 120,
    deleted: 0,
    codes: ["InstanceMissed", "NotReady"],
  },
];

describe("the deletion of nodes", () => {
  test.each(lives)("$given: $deleted of $nodes nodes deleted", (life) => {
    const { world, codes } = lived(life);
    expect(world.deleted).toHaveLength(life.deleted);
    if (life.codes !== undefined) expect(codes).toEqual(new Set(life.codes));
    if (life.brake !== undefined) expect(world.state().brake?.limit).toBe(life.brake);
    else if (world.writes() > 0) expect(world.state().brake).toBeUndefined();
  });
});

/** Runs one pass after the other over the existing nodes. */
function lived(life: Life) {
  const world = createWorld(
    Array.from({ length: life.nodes }, (_, number) => buildLifecycleNode(number, life.node?.(number))),
    life.settings,
  );
  let codes = new Set<string>();
  for (let seconds = 0; seconds <= life.forSeconds; seconds += life.everySeconds ?? 30) {
    life.before?.(world, seconds);
    const answers = new Map(
      [...world.listed.values()].map((node) => [node.metadata.uid, life.answer(numberOf(node), seconds)]),
    );
    const outcomes = world.run({ now: getTime(seconds), clock: "one" }, answers);
    codes = new Set([...outcomes].filter(([uid]) => world.listed.has(uid)).map(([, { code }]) => code));
  }
  return { world, codes };
}

function numberOf({ metadata }: Node): number {
  return Number(metadata.name.replace("node-", ""));
}

function otherAccount(number: number, state: "running" | "terminated" = "running"): InstanceAnswer {
  const answer = buildFoundAnswer(number, state);
  return answer.kind === "found"
    ? { ...answer, instance: { ...answer.instance, account: "999999999999" } }
    : answer;
}

/** One pass over nodes; returns the cluster and the outcomes by node number. */
function passed(nodes: readonly Node[], answer: (number: number) => InstanceAnswer, settings?: Settings) {
  const world = createWorld(nodes, settings);
  const answers = new Map(nodes.map((node) => [node.metadata.uid, answer(numberOf(node))]));
  const outcomes = world.run({ now: START, clock: "one" }, answers);
  return { world, outcomes: nodes.map(({ metadata }) => outcomes.get(metadata.uid)) };
}

describe("the shutdown taint", () => {
  test.each([
    ["a node without taints", undefined, [SHUTDOWN]],
    ["a node with others", [OTHER], [OTHER, SHUTDOWN]],
    [
      "a node with one of its key and another effect",
      [{ ...SHUTDOWN, effect: "NoExecute" }],
      [{ ...SHUTDOWN, effect: "NoExecute" }, SHUTDOWN],
    ],
  ])("is added to %s whose instance is stopped", (_, taints, expected) => {
    const { world, outcomes } = passed([buildLifecycleNode(1, taints === undefined ? {} : { taints })], () =>
      buildFoundAnswer(1, "stopped"),
    );
    expect(outcomes[0]).toMatchObject({ kind: "change", code: "InstanceStopped" });
    expect(world.listed.get("uid-1")?.spec.taints).toEqual(expected);
    // The state has no record of it, and is not written.
    expect(world.writes()).toBe(0);
  });

  test.each(["stopped", "running", "stopping", "pending"] as const)(
    "stays on a node that is not Ready: %s",
    (state) => {
      const taints = [{ ...SHUTDOWN, value: "since-noon" }, OTHER];
      const { world, outcomes } = passed([buildLifecycleNode(1, { taints })], () =>
        buildFoundAnswer(1, state),
      );
      expect(outcomes[0]).toMatchObject({ kind: "retry", code: "NotReady" });
      expect(world.listed.get("uid-1")?.spec.taints).toEqual(taints);
    },
  );

  test("is removed from a Ready node by key and effect, without asking the cloud", () => {
    const other = { ...SHUTDOWN, effect: "NoExecute" };
    const taints = [SHUTDOWN, OTHER, other];
    const { world } = passed([buildLifecycleNode(1, { ready: "True", taints })], () => FAILED);
    expect(world.listed.get("uid-1")?.spec.taints).toEqual([OTHER, other]);
    expect(world.reads()).toBe(0);
  });

  test("is not added twice by concurrent actors, because the node must be unchanged", () => {
    const world = createWorld([buildLifecycleNode(1, { taints: [OTHER] })]);
    const answers = new Map([["uid-1", buildFoundAnswer(1, "stopped")]]);
    const late = world.pass({ now: START, clock: "other" }, answers);
    for (const _ of ["asked", "state read", "decided", "applies"]) late.next();
    world.run({ now: START, clock: "one" }, answers);
    expect(() => late.next()).toThrow(/resourceVersion/);
    expect(world.listed.get("uid-1")?.spec.taints).toEqual([OTHER, SHUTDOWN]);
  });
});

describe("a node that is not Ready", () => {
  test.each([
    ["has just become so", 0, 5],
    ["has been so for half a minute", 30, 8],
    ["has been so for two minutes", 120, 30],
    ["has been so for a day", 86_400, 60],
  ])("that %s is checked again after a growing interval", (_, seconds, afterSeconds) => {
    const nodes = [buildLifecycleNode(1, { since: getTime(-seconds).toISOString() })];
    for (const answer of [buildFoundAnswer(1), FAILED, buildNotFoundAnswer()]) {
      expect(passed(nodes, () => answer).outcomes[0]).toMatchObject({ kind: "retry", afterSeconds });
    }
  });

  test.each([
    ["without a time in its condition is checked by its age", { ready: undefined }, 60],
    ["with a time in the future is checked by its age", { since: getTime(60).toISOString() }, 60],
    ["with an invalid time is checked by its age", { since: "noon" }, 60],
  ])("%s", (_, difference, afterSeconds) => {
    expect(passed([buildLifecycleNode(1, difference)], () => FAILED).outcomes[0]).toMatchObject({
      afterSeconds,
    });
  });

  test("with an invalid creation time is checked often", () => {
    const node = buildLifecycleNode(1, { ready: undefined });
    const odd = { ...node, metadata: { ...node.metadata, creationTimestamp: "noon" } };
    expect(passed([odd], () => FAILED).outcomes[0]).toMatchObject({ afterSeconds: 5 });
  });

  test("about which the cloud was not asked is checked again at once", () => {
    const world = createWorld([buildLifecycleNode(1)]);
    const answers = new Map<string, InstanceAnswer>([["uid-1", undefined as unknown as InstanceAnswer]]);
    expect(world.run({ now: START, clock: "one" }, answers).get("uid-1")).toMatchObject({ code: "NoAnswer" });
  });

  test("that has just registered is left to the node controller", () => {
    const node = buildLifecycleNode(1, { taints: [UNINITIALIZED], annotations: {} });
    expect(passed([node], () => FAILED).outcomes[0]).toMatchObject({ kind: "unchanged" });
  });
});

describe("the Events for users of the cluster", () => {
  const told = (life: Life) => {
    const world = createWorld(Array.from({ length: life.nodes }, (_, number) => buildLifecycleNode(number)));
    const said = new Set<string>();
    for (let seconds = 0; seconds <= life.forSeconds; seconds += 30) {
      life.before?.(world, seconds);
      const answers = new Map(
        [...world.listed.values()].map((node) => [node.metadata.uid, life.answer(numberOf(node), seconds)]),
      );
      for (const { events } of world.run({ now: getTime(seconds), clock: "one" }, answers).values())
        for (const event of events) said.add(Object.values(renderEvent(event)).join(" "));
    }
    return [...said];
  };
  const base = { given: "", nodes: 10, forSeconds: 60, deleted: 0 };

  test("report a deletion in the stock controller's words", () => {
    expect(
      told({ ...base, answer: (number) => (number === 3 ? TERMINATED(number) : buildFoundAnswer(number)) }),
    ).toEqual(["Normal DeletingNode Deleting node node-3 because it does not exist in the cloud provider"]);
  });

  test("report an instance that is not found without proof", () => {
    expect(told({ ...base, answer: () => buildNotFoundAnswer() })).toEqual([
      expect.stringMatching(/^Warning DeletionUnproven The cloud does not find the node's instance/),
    ]);
  });

  test("do not reveal the location of a visibility probe, which only the operator sees", () => {
    const answer = () => buildNotFoundAnswer("i-control", { account: "999999999999" });
    const { outcomes } = passed([buildLifecycleNode(0)], answer);
    expect(outcomes[0]?.message).toBe(
      `its instance is not found, and the node is not deleted: i-control, which was found, is in account 999999999999, and the node was seen in account ${ACCOUNT}: check credentials, region and network of the cluster's configuration; where the cluster has moved, remove the annotation serverless-ccm.io/instance from its nodes`,
    );
    expect(
      passed([buildLifecycleNode(0)], () => buildNotFoundAnswer("i-control", {})).outcomes[0]?.message,
    ).toContain("i-control, which was found, is of an unknown account");
    const labelled = buildLifecycleNode(0, { labels: { [REGION_LABELS.stable]: "rack-7" } });
    const elsewhere = () => buildNotFoundAnswer("i-control", { account: ACCOUNT, region: "eu-central-1" });
    expect(passed([labelled], elsewhere).outcomes[0]?.message).toContain(
      "where the label topology.kubernetes.io/region of the node says something else than its cloud, correct it",
    );
    expect(told({ ...base, answer })).toEqual([
      expect.stringMatching(/^Warning DeletionUnproven The cloud does not find the node's instance[^9]*$/),
    ]);
  });

  test("report an engaged brake", () => {
    const said = told({
      ...base,
      answer: (number) => (number < 5 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    });
    expect(said).toContainEqual(expect.stringMatching(/^Warning DeletionBrakePulled .*within ten minutes/));
  });

  test("report a missing state", () => {
    const answer = (number: number) => (number === 0 ? TERMINATED(number) : buildFoundAnswer(number));
    expect(told({ ...base, answer, before: (world) => world.edit(undefined) })).toEqual([
      expect.stringMatching(/^Warning DeletionStateUnusable .*is missing\. Apply infra/),
    ]);
  });
});

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
    given: "three nodes and a wrong role: the account is not the cluster's, and shows none of its instances",
    nodes: 3,
    answer: () => buildNotFoundAnswer(),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "three nodes and a wrong role, of an account that shows instances in a network of the same name",
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
      ["an unknown account, as earlier versions recorded it", {}],
      ["another network", { account: ACCOUNT, network: "vpc-2" }],
      ["another region", { account: ACCOUNT, region: "eu-west-1" }],
      [
        "another region, of a network that is unknown",
        { account: ACCOUNT, network: "-", region: "eu-west-1" },
      ],
    ] as const
  ).map(
    ([elsewhere, place]): Life => ({
      given: `living nodes, and a control in ${elsewhere}`,
      nodes: 20,
      node: () => ({ labels: { [REGION_LABELS.stable]: "eu-central-1" } }),
      answer: () => buildNotFoundAnswer("i-control", place),
      forSeconds: 3_600,
      deleted: 0,
      codes: ["DeletionUnproven"],
    }),
  ),
  {
    given: "nodes that were never seen, and a control in another region than their label says",
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
    given: "batch mates in another network than the missed node was seen in",
    nodes: 10,
    answer: (number) => (number === 0 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    node: (number) =>
      number === 0 ? { annotations: { "serverless-ccm.io/instance": `${ACCOUNT}/vpc-2/i-0` } } : {},
    forSeconds: 600,
    deleted: 0,
    codes: ["DeletionUnproven", "NotReady"],
  },
  {
    given:
      "an instance that is gone, and a control of the same account, whose network and region are unknown",
    nodes: 10,
    node: (number) =>
      number === 0 ? { labels: { [REGION_LABELS.stable]: "eu-central-1" } } : { ready: "True" },
    answer: () => buildNotFoundAnswer("i-control", { account: ACCOUNT }),
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "nodes that are missed, and whose own instances are all that is shown",
    nodes: 10,
    answer: (number) => buildNotFoundAnswer(`i-${number}`),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "a wrong region, and one node that flaps every ten minutes",
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
    given: "a node that flaps every ten minutes, and is missed with a control only between",
    nodes: 10,
    everySeconds: 5,
    answer: (number, seconds) => (number === 0 && seconds % 600 < 20 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 3_595,
    deleted: 0,
    codes: ["NotReady"],
  },
  {
    given: "a scale-in from 500 to 50 whose instances are terminated",
    nodes: 500,
    node: (number) => (number < 450 ? {} : { ready: "True" }),
    answer: TERMINATED,
    forSeconds: 0,
    deleted: 450,
  },
  {
    given: "all nodes of a cluster, terminated",
    nodes: 3,
    answer: TERMINATED,
    forSeconds: 0,
    deleted: 3,
  },
  {
    given: "Ready nodes whose instances are terminated",
    nodes: 3,
    node: () => ({ ready: "True" }),
    answer: TERMINATED,
    forSeconds: 600,
    deleted: 0,
    codes: ["UpToDate"],
  },
  {
    given: "EC2 failing for an hour",
    nodes: 10,
    answer: () => FAILED,
    forSeconds: 3_600,
    deleted: 0,
    codes: ["Unavailable"],
  },
  {
    given: "EC2 answering empty for an hour, of the control, too",
    nodes: 10,
    answer: () => buildNotFoundAnswer(),
    forSeconds: 3_600,
    deleted: 0,
    codes: ["DeletionUnproven"],
  },
  {
    given: "a newborn that EC2 does not show for two minutes",
    nodes: 3,
    node: (number) => (number === 0 ? { annotations: {} } : { ready: "True" }),
    answer: (number, seconds) => (seconds < 120 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 180,
    deleted: 0,
    codes: ["NotReady", "UpToDate"],
  },
  {
    given: "an instance that is missed for 20 seconds",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: (number, seconds) => (seconds < 20 ? CONTROL : buildFoundAnswer(number)),
    everySeconds: 5,
    forSeconds: 300,
    deleted: 0,
    codes: ["NotReady", "UpToDate"],
  },
  {
    given: "one instance of ten that is gone",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 40,
    deleted: 1,
    codes: ["UpToDate"],
  },
  {
    given: "one instance of ten that is gone, one of the others being the proof",
    nodes: 10,
    answer: (number) => (number === 0 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    forSeconds: 40,
    deleted: 1,
    codes: ["NotReady"],
  },
  {
    given: "an instance that is gone, within the grace",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    everySeconds: 5,
    forSeconds: 25,
    deleted: 0,
    codes: ["InstanceMissed", "UpToDate"],
  },
  {
    given: "errors between the two times that it is missed",
    nodes: 10,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: (_, seconds) => (seconds % 40 === 0 ? CONTROL : FAILED),
    everySeconds: 10,
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "half of ten instances gone: a fifth goes, and then the brake is pulled",
    nodes: 10,
    answer: (number) => (number < 5 ? buildNotFoundAnswer() : buildFoundAnswer(number)),
    forSeconds: 7_200,
    deleted: 2,
    brake: "TenMinutes",
    codes: ["BrakePulled", "NotReady"],
  },
  {
    given: "one of nine after another, a quarter of an hour apart: a third goes within a day",
    nodes: 9,
    answer: (number, seconds) => (seconds >= number * 900 ? CONTROL : buildFoundAnswer(number)),
    forSeconds: 9_000,
    deleted: 3,
    brake: "Day",
    codes: ["BrakePulled"],
  },
  {
    given: "the only node of a cluster, gone",
    nodes: 1,
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "AllNodes",
    codes: ["BrakePulled"],
  },
  {
    given: "one of two nodes gone, which is more than a third",
    nodes: 2,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "Day",
  },
  {
    given: "one of two nodes gone, where half of them may go in a day",
    nodes: 2,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    settings: buildSettings({ deletion: { maxPercentIn24Hours: 50 } }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 1,
  },
  {
    given: "one of three nodes gone",
    nodes: 3,
    node: (number) => (number === 0 ? {} : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 1,
  },
  {
    given: "all of three nodes gone, all of which may go but for the last",
    nodes: 3,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 100, maxPercentIn24Hours: 100 } }),
    answer: () => CONTROL,
    forSeconds: 7_200,
    deleted: 2,
    brake: "AllNodes",
  },
  {
    given: "two of three terminated, and the last one missed",
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
    given: "limits of nothing",
    nodes: 10,
    settings: buildSettings({ deletion: { maxPercentIn10Minutes: 0 } }),
    answer: () => CONTROL,
    forSeconds: 600,
    deleted: 0,
    brake: "TenMinutes",
  },
  {
    given: "a scale-in that the autoscaler has announced, of a cloud that does not show what is terminated",
    nodes: 10,
    node: (number) => (number < 8 ? { taints: [SCALE_IN] } : { ready: "True" }),
    answer: () => CONTROL,
    forSeconds: 60,
    deleted: 8,
  },
  {
    given: "a scale-in that the cloud's record of actions shows",
    nodes: 20,
    node: (number) => (number < 8 ? {} : { ready: "True" }),
    answer: () => ({ ...CONTROL, deleted: true }),
    forSeconds: 60,
    deleted: 8,
  },
  {
    given: "deletion switched off",
    nodes: 4,
    settings: buildSettings({ deletion: { enabled: false } }),
    answer: (number) => (number < 2 ? TERMINATED(number) : CONTROL),
    forSeconds: 600,
    deleted: 0,
    codes: ["DeletionDisabled"],
  },
  {
    given: "nodes of which no instance was ever seen",
    nodes: 10,
    node: () => ({ annotations: {} }),
    answer: (number) => (number < 5 ? TERMINATED(number) : CONTROL),
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given: "such nodes, where the stock controller's rule is asked for",
    nodes: 10,
    node: (number) => (number < 2 ? { annotations: {}, taints: [UNINITIALIZED] } : { ready: "True" }),
    settings: buildSettings({ deletion: { unseen: true } }),
    answer: (number) => (number === 0 ? TERMINATED(number) : CONTROL),
    forSeconds: 40,
    deleted: 2,
  },
  {
    given: "such nodes under that rule, within the grace, without a control or with an error",
    nodes: 9,
    node: () => ({ annotations: {}, providerID: undefined }),
    settings: buildSettings({ deletion: { unseen: true } }),
    answer: (number, seconds) =>
      number < 3 ? buildNotFoundAnswer() : number < 6 ? FAILED : seconds === 0 ? CONTROL : FAILED,
    forSeconds: 600,
    deleted: 0,
  },
  {
    given: "provider IDs that name another instance than the one seen, or none",
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
    given: "an annotation that names nothing",
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
    given: "a terminated instance of another account than the one seen",
    nodes: 1,
    answer: (number) => otherAccount(number, "terminated"),
    forSeconds: 600,
    deleted: 0,
    codes: ["InstanceUnseen"],
  },
  {
    given:
      "instances that are gone, whose names other machines have by now: a kubelet that reports is one of theirs",
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
    given: "such instances that are not found",
    nodes: 10,
    node: (number) => (number === 0 ? { ready: "False" } : number === 1 ? {} : { ready: "True" }),
    answer: () => ({ ...CONTROL, takenOverBy: "i-new" }) as InstanceAnswer,
    forSeconds: 60,
    deleted: 1,
    codes: ["InstanceReplaced", "UpToDate"],
  },
  {
    given: "instances that are shutting down",
    nodes: 3,
    answer: (number) => buildFoundAnswer(number, "shutting-down"),
    forSeconds: 600,
    deleted: 0,
    codes: ["NotReady"],
  },
  {
    given: "nodes that are being deleted, and have been for an hour",
    nodes: 3,
    node: () => ({ deletionTimestamp: getTime(-3_600).toISOString() }),
    answer: TERMINATED,
    forSeconds: 600,
    deleted: 0,
    codes: ["BeingDeleted"],
  },
  {
    given: "a cluster whose nodes cannot be counted",
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
    given: "a cluster that is said to have no nodes",
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
      ["rubbish", buildConfigMapData("rubbish"), "StateMalformed"],
      ["of another version", buildConfigMapData({ version: 2 }), "StateOfOtherVersion"],
      ["huge", buildConfigMapData("x".repeat(1_000_000)), "StateMalformed"],
    ] as const
  ).map(
    ([what, data, code]): Life => ({
      given: `a state that is ${what}`,
      nodes: 10,
      answer: (number) => (number < 3 ? TERMINATED(number) : number < 6 ? CONTROL : buildFoundAnswer(number)),
      before: (world) => world.edit(data),
      forSeconds: 600,
      deleted: 0,
      codes: [code, "NotReady"],
    }),
  ),
  {
    given: "a state that remembers as many deletions as it can",
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
    given: "deletions of others under way, which may leave no other node",
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
    given: "an instance that is gone, of a node that does not say since when it is not Ready",
    nodes: 10,
    node: (number) => ({ ready: number === 0 ? undefined : "True" }),
    answer: () => CONTROL,
    forSeconds: 40,
    deleted: 1,
  },
  {
    given: "a node that was Ready between the two times that its instance is missed",
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
    given: "two absences, of which the state has room for one",
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
    given: "absences that the state has no more room for",
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

describe("the lifecycle of a cluster's nodes", () => {
  test.each(lives)("$given", (life) => {
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
    "stays while the node is not Ready: %s",
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
    ["has just ceased to be", 0, 5],
    ["has been so for half a minute", 30, 8],
    ["has been so for two minutes", 120, 30],
    ["has been so for a day", 86_400, 60],
  ])("and %s is checked again after a growing interval", (_, seconds, afterSeconds) => {
    const nodes = [buildLifecycleNode(1, { since: getTime(-seconds).toISOString() })];
    for (const answer of [buildFoundAnswer(1), FAILED, buildNotFoundAnswer()]) {
      expect(passed(nodes, () => answer).outcomes[0]).toMatchObject({ kind: "retry", afterSeconds });
    }
  });

  test.each([
    ["says nothing of it: by its age", { ready: undefined }, 60],
    ["says a time that is yet to come: by its age", { since: getTime(60).toISOString() }, 60],
    ["has an invalid time: by its age", { since: "noon" }, 60],
  ])("and %s", (_, difference, afterSeconds) => {
    expect(passed([buildLifecycleNode(1, difference)], () => FAILED).outcomes[0]).toMatchObject({
      afterSeconds,
    });
  });

  test("and whose age is unreadable is checked often", () => {
    const node = buildLifecycleNode(1, { ready: undefined });
    const odd = { ...node, metadata: { ...node.metadata, creationTimestamp: "noon" } };
    expect(passed([odd], () => FAILED).outcomes[0]).toMatchObject({ afterSeconds: 5 });
  });

  test("and about which the cloud was not asked is due again at once", () => {
    const world = createWorld([buildLifecycleNode(1)]);
    const answers = new Map<string, InstanceAnswer>([["uid-1", undefined as unknown as InstanceAnswer]]);
    expect(world.run({ now: START, clock: "one" }, answers).get("uid-1")).toMatchObject({ code: "NoAnswer" });
  });

  test("and has just registered is left to the node controller", () => {
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

  test("do not reveal the place of a visibility probe, which only the operator sees", () => {
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

  test("report the brake", () => {
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

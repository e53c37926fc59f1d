import { describe, expect, test } from "vitest";
import {
  createHandoverWitness,
  formatRemainingFlag,
  listHandedOver,
  type NodeState,
} from "#core/handover.ts";

const OURS = "serverless-ccm";
const THEIRS = "aws-cloud-controller-manager";

const state = (difference: Partial<NodeState> = {}): NodeState => ({
  name: "a",
  uid: "uid-a",
  ageMs: 1_000,
  isTainted: true,
  hasNodeIp: false,
  writers: [],
  ...difference,
});
const UP = { isTainted: false, hasNodeIp: true };
const by = (manager: string, at = "2026-03-01T12:00:00Z") => ({ writers: [{ manager, at }] });
const isController = (manager: string): boolean => manager !== "kubelet";

/** The states of one node by the second of their observation, judged at the end. */
function judged(seen: readonly (readonly [second: number, state: NodeState])[], atSecond: number) {
  const witness = createHandoverWitness(isController);
  for (const [second, each] of seen) {
    if (second > 0) witness.begun();
    witness.observe(each, second * 1_000);
  }
  witness.begun();
  return witness.judge(atSecond * 1_000);
}

describe("gaps", () => {
  test.each<[string, [number, NodeState][], number, string[]]>([
    [
      "a node that starts in time: none",
      [
        [1, state()],
        [3, state({ ...UP, ...by(OURS) })],
      ],
      60,
      [],
    ],
    ["a node that has just joined: none", [[40, state()]], 60, []],
    ["a node that waits for half a minute: TaintedTooLong", [[1, state()]], 31, ["TaintedTooLong a 30"]],
    [
      "a node that waited for 40 s and then started: TaintedTooLong",
      [
        [1, state()],
        [41, state(UP)],
      ],
      60,
      ["TaintedTooLong a 40"],
    ],
    [
      "a young node that existed at the beginning: TaintedTooLong",
      [[0, state({ ageMs: 5_000 })]],
      40,
      ["TaintedTooLong a 40"],
    ],
    ["a node that had waited for a minute at the beginning: none", [[0, state({ ageMs: 60_000 })]], 60, []],
    [
      "a node that registers with an older creation time: TaintedTooLong",
      [[1, state({ ageMs: 90_000 })]],
      60,
      ["TaintedTooLong a 59"],
    ],
    [
      "a node without an address: WithoutAddress",
      [[0, state({ isTainted: false })]],
      10,
      ["WithoutAddress a 10"],
    ],
    [
      "a node without an address for two seconds: none",
      [
        [0, state({ isTainted: false })],
        [2, state(UP)],
      ],
      60,
      [],
    ],
    [
      "a node that lost its addresses for 12 s: WithoutAddress",
      [
        [0, state(UP)],
        [5, state({ isTainted: false })],
        [17, state(UP)],
      ],
      60,
      ["WithoutAddress a 12"],
    ],
    [
      "heartbeats of a running node: none",
      [
        [0, state(UP)],
        [30, state(UP)],
      ],
      60,
      [],
    ],
  ])("%s", (_, seen, at, expected) => {
    const { gaps } = judged(seen, at);
    expect(gaps.map(({ code, node, seconds }) => `${code} ${node} ${seconds}`)).toEqual(expected);
  });

  test("of a deleted node are dropped", () => {
    const witness = createHandoverWitness(isController);
    witness.observe(state(), 0);
    witness.remove("uid-a");
    expect(witness.judge(60_000)).toMatchObject({ gaps: [], waiting: 0 });
  });

  test("are at most a hundred", () => {
    const all = Array.from({ length: 300 }, (_, index) => index);
    const waiting = all.map((index): [number, NodeState] => [1, state({ uid: `uid-${index}` })]);
    const up = all.map((index): [number, NodeState] => [60, state({ uid: `uid-${index}`, ...UP })]);
    expect(judged([...waiting, ...up], 60).gaps).toHaveLength(100);
    expect(judged(waiting, 60).gaps).toHaveLength(100);
  });
});

describe("waiting nodes", () => {
  test("that had waited long before the beginning are named, and counted separately", () => {
    const seen = [
      [0, state({ name: "old", uid: "uid-old", ageMs: 100_000 })],
      [50, state()],
    ] as const;
    expect(judged(seen, 60)).toMatchObject({ gaps: [], stuckBefore: ["old"], waiting: 1 });
  });

  test("that finally start no longer wait", () => {
    const old = state({ ageMs: 100_000 });
    expect(
      judged(
        [
          [0, old],
          [5, { ...old, ...UP, ...by(OURS) }],
        ],
        60,
      ),
    ).toMatchObject({ stuckBefore: [], waiting: 0 });
  });
});

describe("the initializing manager", () => {
  test.each([
    ["ours", by(OURS), OURS],
    ["theirs", by(THEIRS), THEIRS],
    [
      "the last of the two",
      {
        writers: [
          { manager: OURS, at: "2026-03-01T12:00:01Z" },
          { manager: THEIRS, at: "2026-03-01T12:00:02Z" },
        ],
      },
      THEIRS,
    ],
    ["unknown, if the node does not name it", by("kubelet"), "unknown"],
  ])("%s", (_, writers, expected) => {
    const { initialized } = judged(
      [
        [1, state()],
        [3, state({ ...UP, ...writers })],
      ],
      60,
    );
    expect([...initialized]).toEqual([[expected, { nodes: 1, lastMs: 3_000 }]]);
  });

  test("counts only nodes that were observed waiting", () => {
    expect(judged([[0, state({ ...UP, ...by(OURS) })]], 60).initialized.size).toBe(0);
  });

  test("is counted separately for each of several managers", () => {
    const seen = ["a", "b"].flatMap((uid): [number, NodeState][] => [
      [1, state({ uid })],
      [2, state({ uid, ...UP, ...by(OURS) })],
    ]);
    expect(judged(seen, 60).initialized.get(OURS)?.nodes).toBe(2);
  });
});

test.each([
  [["cloud-node-controller"], "--controllers=*,-cloud-node-controller"],
  [
    ["csr-approver", "cloud-node-lifecycle-controller", "cloud-node-controller"],
    "--controllers=*,-cloud-node-controller,-cloud-node-lifecycle-controller",
  ],
  [["csr-approver"], "--controllers=*"],
  [
    ["tagging", "service-lb-controller", "node-route-controller"],
    "--controllers=*,-service-lb-controller,-node-route-controller,-tagging",
  ],
])("if our controllers are %s, the other gets %s", (controllers, flag) => {
  expect(formatRemainingFlag(listHandedOver(controllers))).toBe(flag);
});

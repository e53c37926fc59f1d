import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ActionAnswer } from "#core/capability.ts";
import { buildClusterEvent } from "#core/cluster-events.ts";
import type { RejectedAction } from "#core/controller.ts";
import type { CloudAction, Decision, Write } from "#core/decision.ts";
import { change, leaveUnchanged, retry, toReference } from "#core/decisions.ts";
import { nodeController } from "#core/node/controller.ts";
import type { Node } from "#core/node/node.ts";
import { NODES } from "#core/resources/resource.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { type ApplyResult, applyDecisions } from "#kube/apply/apply.ts";
import type { Decider } from "#kube/apply/context.ts";
import { type ClusterUnderTest, startCluster } from "#test/kube/apply/cluster-under-test.ts";

let cluster: ClusterUnderTest;
let count = 0;

beforeAll(async () => {
  cluster = await startCluster((folder) => startEmbeddedControlPlane({ folder }));
});
afterAll(() => cluster?.close());

const join = (): Promise<Node> => cluster.join({ name: `rounds-${++count}` });
const FIRST = buildClusterEvent("InstanceAmbiguous", "Ambiguous", {});
const SECOND = buildClusterEvent("InvalidProviderID", "InvalidProviderID", {});
const LAST = buildClusterEvent("DeletionUnproven", "NoControl", {});

function action(about: Node, target = "a"): CloudAction {
  const { uid } = about.metadata;
  return {
    ...{ on: "cloud", capability: "things", action: "make", target, parameters: {} },
    precondition: { uid, deleting: false },
  };
}

function act(about: Node, writes: readonly Write[], events: readonly (typeof FIRST)[] = []): Decision {
  const reference = toReference(NODES, about);
  return (
    change(reference, writes, { because: { code: "Act", message: "" }, events }) ?? leaveUnchanged(reference)
  );
}

function due(about: Node, code: string, events: readonly (typeof FIRST)[] = []) {
  return retry(toReference(NODES, about), { code, message: "" }, 7, events);
}

describe("an action of the cloud", () => {
  /**
   * Carries out two actions on a node whose content is its label `edit`; the first action and each read take
   * this long.
   */
  async function carryTwo(tookMs: number, edit: boolean, readMs = 0) {
    const node = await join();
    const contentHash = (object: Node) => object.metadata.labels?.["edit"] ?? "none";
    const guarded = (target: string): CloudAction => {
      const { precondition, ...rest } = action(node, target);
      return { ...rest, precondition: { ...precondition, content: "none" } };
    };
    let nowMs = 0;
    const acted: string[] = [];
    const applied = await applyDecisions({
      transport: {
        ...cluster.functions,
        async send(request) {
          const answer = await cluster.functions.send(request);
          if (request.method === "GET") nowMs += readMs;
          return answer;
        },
      },
      controller: { ...nodeController, contentHash } as unknown as typeof nodeController,
      items: [{ index: 0, object: node, decision: act(node, [guarded("a"), guarded("b")]), said: undefined }],
      decide: { decideAgain: (object) => due(object as Node, "Again"), decideNext: () => undefined },
      act: async ({ target }) => {
        acted.push(target);
        nowMs += tookMs;
        if (edit)
          await cluster.patch(node.metadata.name, [{ op: "add", path: "/metadata/labels/edit", value: "b" }]);
        return { kind: "done", result: {} };
      },
      signal: new AbortController().signal,
      reportingInstance: "test",
      now: new Date(),
      monotonicMs: () => nowMs,
    });
    return { acted, applied };
  }

  it("is not carried out on other content than it was decided on, a second after the object was read", async () => {
    const { acted, applied } = await carryTwo(1_000, true);
    expect(acted).toEqual(["a"]);
    expect(applied.objects).toMatchObject([{ outcome: "retry", because: { code: "Again" } }]);
  });

  it("is carried out without another read within a second", async () => {
    const { acted, applied } = await carryTwo(999, false);
    expect(acted).toEqual(["a", "b"]);
    expect(applied.usage).toMatchObject({ reads: 1 });
  });

  it("is not carried out on what the API server took more than five seconds to answer", async () => {
    const { acted, applied } = await carryTwo(0, false, 5_001);
    expect(acted).toEqual([]);
    expect(applied.objects).toMatchObject([
      { outcome: "retry", because: { code: "Unavailable" }, afterSeconds: 2 },
    ]);
  });

  it("is carried out on what the API server took five seconds to answer", async () => {
    const { acted, applied } = await carryTwo(0, false, 5_000);
    expect(acted).toEqual(["a", "b"]);
    expect(applied.usage).toMatchObject({ reads: 2 });
  });

  it("is carried out after a second if the content is unchanged", async () => {
    const { acted, applied } = await carryTwo(1_000, false);
    expect(acted).toEqual(["a", "b"]);
    expect(applied.usage).toMatchObject({ reads: 2 });
  });
});

/** Carries a decision out on a cloud that answers so. */
function carry(
  about: Node,
  decision: Decision,
  decide: Partial<Decider>,
  answer: ActionAnswer = { kind: "done", result: {} },
): Promise<ApplyResult> {
  return applyDecisions({
    transport: cluster.functions,
    controller: nodeController,
    items: [{ index: 0, object: about, decision, said: undefined }],
    decide: { decideAgain: () => due(about, "Again"), decideNext: () => undefined, ...decide },
    act: async () => answer,
    signal: new AbortController().signal,
    reportingInstance: "test",
    now: new Date(),
  });
}

async function reasons(about: Node): Promise<readonly unknown[]> {
  return (await cluster.events(about)).map(({ reason }) => reason).toSorted();
}

describe("Events of several rounds", () => {
  it.each<[string, (about: Node) => Decision, readonly string[]]>([
    ["in the end nothing is left", (about) => leaveUnchanged(toReference(NODES, about)), []],
    ["in the end it is due again", (about) => due(about, "Later", [LAST]), ["DeletionUnproven"]],
  ])("are all recorded where %s", async (_, end, last) => {
    const about = await join();
    const next = vi
      .fn<Decider["decideNext"]>()
      .mockReturnValueOnce(act(about, [action(about)], [SECOND]))
      .mockReturnValue(end(about));
    await carry(about, act(about, [action(about)], [FIRST]), { decideNext: next });
    expect(await reasons(about)).toEqual([...last, "InstanceAmbiguous", "InvalidProviderID"]);
  });

  it("are without those of a change that was not completed", async () => {
    const about = await join();
    const next = vi
      .fn<Decider["decideNext"]>()
      .mockReturnValueOnce(act(about, [action(about, "b")], [SECOND]));
    const answers: ActionAnswer[] = [
      { kind: "done", result: {} },
      { kind: "error", code: "Throttled", message: "slow" },
    ];
    await applyDecisions({
      transport: cluster.functions,
      controller: nodeController,
      items: [{ index: 0, object: about, decision: act(about, [action(about)], [FIRST]), said: undefined }],
      decide: { decideAgain: () => due(about, "Again"), decideNext: next },
      act: async () => answers.shift() ?? { kind: "done", result: {} },
      signal: new AbortController().signal,
      reportingInstance: "test",
      now: new Date(),
    });
    expect(await reasons(about)).toEqual(["InstanceAmbiguous"]);
  });
});

describe("an action that the cloud refuses", () => {
  const CONFLICT: ActionAnswer = { kind: "conflict", message: "NotFound", reason: "CertificateNotFound" };
  const INVALID: ActionAnswer = { kind: "error", code: "Invalid", message: "no", reason: "TooMany" };

  it.each([
    ["as a conflict", CONFLICT],
    ["with an error", INVALID],
  ])("%s is decided on by who knows what it means", async (_, answer) => {
    const about = await join();
    const told: RejectedAction[] = [];
    const refused: Decider["decideRejected"] = (_index, refusal) => {
      told.push(refusal);
      return due(about, "Refused", [LAST]);
    };
    const { objects } = await carry(
      about,
      act(about, [action(about)], [FIRST]),
      { decideRejected: refused },
      answer,
    );
    expect(objects).toMatchObject([{ outcome: "retry", because: { code: "Refused" }, afterSeconds: 7 }]);
    expect(told).toEqual([{ action: action(about), answer }]);
    expect(await reasons(about)).toEqual(["DeletionUnproven"]);
  });

  it.each([
    ["as a conflict is decided on anew", CONFLICT, "Again"],
    ["with an error is tried again", INVALID, "Invalid"],
  ])("%s without such a decider", async (_, answer, code) => {
    const about = await join();
    const decide = { decideRejected: () => undefined };
    const { objects } = await carry(about, act(about, [action(about)]), decide, answer);
    expect(objects).toMatchObject([{ outcome: "retry", because: { code } }]);
  });
});

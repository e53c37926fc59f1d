import { describe, expect, test } from "vitest";
import type { ActionAnswer } from "#core/capability.ts";
import type { DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { isSameJson } from "#core/json-patch.ts";
import type { LoadBalancerAction, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { parseStateAnnotation, UNKNOWN_TARGETS } from "#core/service/state-annotation.ts";
import {
  buildListing,
  buildServedService,
  createController,
  decideOn,
  getShelfAfter,
  NOW,
  type Script,
  type Shelf,
} from "#test/core/service/builders.ts";

// The cloud rejects an action until a person fixes something. Every new invocation tries it again; between two
// observations the load balancer only follows the nodes.

const SHELF: Shelf = {
  wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]),
  targets: ["i-a"],
};
const SERVED = await buildServedService();
const EDITED: Service = {
  ...SERVED,
  spec: { ...SERVED.spec, ports: [{ protocol: "TCP", port: 81, nodePort: 30_081 }] },
};
const INVALID = { kind: "error", code: "Invalid", message: "no" } as const;
const FOLLOWING: Script = { follows: true, lostTargets: "by instance" };

const nodesNamed = (...names: readonly string[]) => names.map((name) => ({ name, providerID: `i-${name}` }));
const at = (seconds: number, ...names: readonly string[]) => buildListing(nodesNamed(...names), seconds);

type Answers = (action: LoadBalancerAction) => Exclude<ActionAnswer, { kind: "done" }> | undefined;

/** The cloud rejects every change of what the shelf is for, and accepts other targets. */
const rejectsChange: Answers = ({ parameters: { wish } }) => (wish === SHELF.wish ? undefined : INVALID);

interface Lived {
  readonly object: Service;
  readonly shelf: Shelf | null;
  readonly decisions: readonly Decision[];
  /** Every action that was sent. */
  readonly sent: readonly LoadBalancerAction["parameters"][];
}

/** One invocation: decides and applies until no change is left, and at most twelve times. */
async function live(
  object: Service,
  shelf: Shelf | null,
  asked: DecisionContext,
  answers: Answers = rejectsChange,
  script: Script = FOLLOWING,
): Promise<Lived> {
  const controller = await createController(script);
  const decisions: Decision[] = [];
  const sent: LoadBalancerAction["parameters"][] = [];
  let state = shelf;
  let subject: Parameters<NonNullable<typeof controller.applyResult>>[0] = {
    object,
    hint: undefined,
    answer: controller.buildQuestion(object, asked) === undefined ? undefined : { kind: "observed", state },
  };
  let decision = decideOn(controller, subject, asked);
  for (let round = 0; round < 12; round += 1) {
    decisions.push(decision);
    if (decision.kind !== "change") return { object: subject.object, shelf: state, decisions, sent };
    let refused: Decision | undefined;
    for (const write of decision.writes) {
      const answer = write.on === "cloud" ? answers(write) : undefined;
      if (write.on === "cloud") sent.push(write.parameters);
      if (write.on === "cloud" && answer !== undefined) {
        refused = controller.decideRejected?.(subject, { action: write, answer }, asked);
        subject = controller.applyRejection?.(subject, { action: write, answer }) ?? subject;
        if (refused === undefined) throw new Error("the object would be read again");
        break;
      }
      if (write.on === "cloud") state = getShelfAfter(write);
      const result = write.on === "cloud" ? state : undefined;
      subject = controller.applyResult?.(subject, { write, result }) ?? subject;
    }
    decision = refused ?? decideOn(controller, subject, asked);
  }
  throw new Error("it does not end");
}

describe("a served Service whose change the cloud rejects", () => {
  test("follows the nodes, sends the rejected action once, and is reported", async () => {
    const { object, shelf, sent, decisions } = await live(EDITED, SHELF, at(0, "a", "b"));
    expect(shelf).toEqual({ ...SHELF, targets: ["i-a", "i-b"] });
    expect(sent.filter(({ wish }) => wish !== SHELF.wish)).toHaveLength(1);
    expect(decisions.at(-1)).toMatchObject({
      kind: "retry",
      because: { code: "LoadBalancerRefused" },
      events: [{ reason: "SyncLoadBalancerFailed" }],
    });
    expect(parseStateAnnotation(object)).toMatchObject({
      state: "applying",
      desired: parseStateAnnotation(SERVED)?.desired,
      nodes: "500",
    });
  });

  test("follows the nodes at each later event, too", async () => {
    const first = await live(EDITED, SHELF, at(0, "a", "b"));
    const second = await live(first.object, first.shelf, at(60, "b"));
    expect(second.shelf).toEqual({ ...SHELF, targets: ["i-b"] });
    expect(second.decisions.at(-1)).toMatchObject({ kind: "retry" });
    const mended = { ...second.object, spec: SERVED.spec };
    const last = await live(mended, second.shelf, at(90, "b"));
    expect(last.shelf).toEqual({ ...SHELF, targets: ["i-b"] });
    expect(parseStateAnnotation(last.object)).toMatchObject({ state: "applied" });
  });

  test("is retried at growing intervals while its nodes stay the same", async () => {
    const first = await live(EDITED, SHELF, at(0, "a", "b"));
    const again = await live(first.object, first.shelf, at(120, "a", "b"));
    expect(again.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 120 });
    expect(again.sent).toHaveLength(1);
  });

  test("follows the nodes if the credentials may not send the action", async () => {
    const denied: Answers = (action) =>
      rejectsChange(action) && { kind: "error", code: "Denied", message: "AccessDenied" };
    const { shelf, decisions } = await live(EDITED, SHELF, at(0, "b"), denied);
    expect(shelf).toEqual({ ...SHELF, targets: ["i-b"] });
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "Denied" } });
  });

  test("keeps a target that the API server lists as a node", async () => {
    const older = { ...at(0, "b"), listed: at(0, "a", "b").listed, count: at(0, "a", "b").count };
    const { shelf } = await live(EDITED, { ...SHELF, targets: ["i-a"] }, older);
    expect(shelf?.targets).toContain("i-a");
  });

  test("keeps its last target", async () => {
    const { shelf } = await live(EDITED, SHELF, at(0));
    expect(shelf).toEqual(SHELF);
  });

  test("ends with the rejection if the cloud rejects other targets, too", async () => {
    const rejectsAll: Answers = () => INVALID;
    const { shelf, sent, object, decisions } = await live(EDITED, SHELF, at(0, "b"), rejectsAll);
    expect(shelf).toEqual(SHELF);
    expect(sent).toHaveLength(2);
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", events: [{ code: "LoadBalancerRefused" }] });
    expect(parseStateAnnotation(object)).toMatchObject({ targets: UNKNOWN_TARGETS });
  });

  test.each(["Throttled", "Aborted", "Unavailable"] as const)(
    "changes nothing after a temporary failure (%s)",
    async (code) => {
      const fails: Answers = (action) => rejectsChange(action) && { kind: "error", code, message: "slow" };
      const { shelf, sent, decisions } = await live(EDITED, SHELF, at(0, "a", "b"), fails);
      expect([shelf, sent.length]).toEqual([SHELF, 1]);
      expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code } });
    },
  );
});

describe("a change of targets that the cloud rejects", () => {
  test("is sent once, and stays due", async () => {
    const rejectsAll: Answers = () => INVALID;
    const { object, sent, decisions } = await live(SERVED, SHELF, at(0, "b"), rejectsAll);
    expect(sent).toHaveLength(1);
    expect(decisions.at(-1)).toMatchObject({ kind: "retry" });
    expect(parseStateAnnotation(object)).toMatchObject({ state: "applied", targets: UNKNOWN_TARGETS });
  });

  test("stays due if the targets themselves are right", async () => {
    // The rules of the nodes, say: they belong to a change of targets, and are no target.
    const parameters = { wish: SHELF.wish, targets: ["i-b"], rule: true };
    const next: LoadBalancerStep = {
      kind: "act",
      because: { code: "Rules", message: "" },
      actions: [{ action: "Fill", target: "uid-web", parameters }],
      onlyTargets: true,
    };
    const rejectsRule: Answers = (action) =>
      isSameJson(action.parameters, parameters) ? INVALID : undefined;
    const shelf = { ...SHELF, targets: ["i-b"] };
    const { object } = await live(SERVED, shelf, at(0, "b"), rejectsRule, { ...FOLLOWING, next });
    expect(parseStateAnnotation(object)).toMatchObject({ state: "applied", targets: UNKNOWN_TARGETS });
  });
});

test.each<[string, Service]>([
  ["deleted", { ...SERVED, metadata: { ...SERVED.metadata, deletionTimestamp: NOW.toISOString() } }],
  ["of another type", { ...SERVED, spec: { ...SERVED.spec, type: "ClusterIP" } }],
])("a Service that is %s sends a rejected action once", async (_, object) => {
  const { shelf, sent, decisions } = await live(object, SHELF, at(0, "b"), () => INVALID);
  expect([shelf, sent.length]).toEqual([SHELF, 1]);
  expect(decisions.at(-1)).toMatchObject({ kind: "retry", events: [{ code: "LoadBalancerRefused" }] });
});

test("a Service that never had a load balancer follows no nodes", async () => {
  const fresh = {
    ...SERVED,
    metadata: { ...SERVED.metadata, annotations: {} },
    status: { loadBalancer: {} },
  };
  const { shelf, sent } = await live(fresh, null, { ...at(0, "a"), now: NOW }, () => INVALID);
  expect([shelf, sent.length]).toEqual([null, 1]);
});

import { describe, expect, test } from "vitest";
import { LOAD_BALANCER_FINALIZER } from "#core/contracts.ts";
import type { AskContext, DoneWrite } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  buildContext,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  decideOn,
  getAnnotation,
  getShelfAfter,
  NOW,
  type Script,
  type Shelf,
} from "#test/core/service/builders.ts";

const FIELD = "service.beta.kubernetes.io/aws-load-balancer-ssl-cert";
const PROBLEM = { code: "CertificateNotUsable", field: FIELD, value: "arn:1" };
const OF = buildService({ metadata: { annotations: { [FIELD]: "arn:1" } } });
const OTHER = await buildServedService({ metadata: { name: "other", uid: "uid-other" } });
const UNDONE: Script = { issue: PROBLEM, isUndone: true };

interface Lived {
  readonly object: Service;
  readonly shelf: Shelf | null;
  readonly decisions: readonly Decision[];
  readonly actions: readonly string[];
}

/** One process: decides and applies until nothing changes; the cloud refuses to fill shelves. */
async function live(
  object: Service,
  shelf: Shelf | null,
  script: Script = UNDONE,
  asked: AskContext = buildContext(),
  killedAfter = Number.POSITIVE_INFINITY,
): Promise<Lived> {
  const controller = await createController(script);
  const decisions: Decision[] = [];
  const actions: string[] = [];
  let state = shelf;
  let subject: Parameters<NonNullable<typeof controller.applyResult>>[0] = {
    object,
    hint: undefined,
    answer: controller.buildQuestion(object, asked) === undefined ? undefined : { kind: "observed", state },
  };
  let steps = 0;
  const end = () => ({ object: subject.object, shelf: state, decisions, actions });
  let decision = decideOn(controller, subject, asked);
  for (let round = 0; round < 10; round += 1) {
    decisions.push(decision);
    if (decision.kind !== "change") return end();
    let refused: Decision | undefined;
    for (const write of decision.writes) {
      if (steps === killedAfter) return end();
      steps += 1;
      if (write.on === "cloud" && write.action === "Fill") {
        const answer = { kind: "error", code: "Invalid", message: "no such certificate" } as const;
        refused = controller.decideRejected?.(subject, { action: write, answer }, asked);
        break;
      }
      if (write.on === "cloud") actions.push(write.action);
      if (write.on === "cloud") state = getShelfAfter(write);
      const of: DoneWrite = { write, result: write.on === "cloud" ? state : undefined };
      subject = controller.applyResult?.(subject, of) ?? subject;
    }
    decision = refused ?? decideOn(controller, subject, asked);
  }
  throw new Error("it does not end");
}

const stateOf = (object: Service): unknown => JSON.parse(getAnnotation(object) ?? "null")?.state;
const later = (seconds: number) => buildContext({ now: new Date(NOW.getTime() + seconds * 1_000) });
const asksOf = async (object: Service, asked = buildContext()) =>
  (await createController(UNDONE)).buildQuestion(object, asked);

describe("a refusal by the cloud for a Service that never had a load balancer", () => {
  test("removes what was created before, is reported, and is not retried without a change", async () => {
    const { object, shelf, decisions, actions } = await live(OF, null);
    expect(shelf).toBeNull();
    expect(actions).toEqual(["PutUp", "TakeDown"]);
    const warning = { reason: "SyncLoadBalancerFailed", code: "CertificateNotUsable" };
    expect(decisions.at(-1)).toMatchObject({
      kind: "retry",
      because: { code: "CertificateNotUsable", message: `${FIELD} is "arn:1"` },
      events: [{ ...warning, facts: { field: FIELD, value: "arn:1" } }],
    });
    expect(
      decisions.filter((each) => "events" in each && each.events.some(({ code }) => code === warning.code)),
    ).toHaveLength(2);
    expect(stateOf(object)).toBe("refused");
    expect(object.metadata.finalizers).toContain(LOAD_BALANCER_FINALIZER);
    expect(needsWork(object, buildContext().settings)).toBe(true);
    expect(await asksOf(object)).toBeUndefined();
    expect(await asksOf(object, { ...later(3_599), reason: "refresh" })).toBeUndefined();
    expect((await live(object, null)).decisions).toMatchObject([
      { kind: "retry", because: { code: "CertificateNotUsable" } },
    ]);
  });

  test.each([
    ["after an hour", (object: Service) => object, later(3_600)],
    [
      "once the Service has changed",
      (object: Service): Service => ({ ...object, spec: { ...object.spec, ports: [] } }),
      buildContext(),
    ],
  ])("is retried %s, and rolled back again after another refusal", async (_, change, asked) => {
    const { object } = await live(OF, null);
    const again = await live(change(object), null, UNDONE, asked);
    expect(again.actions).toEqual(["PutUp", "TakeDown"]);
    expect(stateOf(again.object)).toBe("refused");
    const mended = await converge(change(again.object), null, {
      ...asked,
      now: new Date(asked.now.getTime() + 3_600_000),
    });
    expect([stateOf(mended.object), mended.decisions.at(-1)?.kind]).toEqual(["applied", "unchanged"]);
  });

  test.each([1, 2, 3, 4, 5].map((k) => [k]))(
    "is rolled back by the next process if one is killed after step %i",
    async (k) => {
      const first = await live(OF, null, UNDONE, buildContext(), k);
      // Existing resources may have an owner: the shelf's model allows a rollback only for an empty place.
      const script =
        first.shelf === null || stateOf(first.object) === "undoing" ? UNDONE : { ...UNDONE, isUndone: false };
      const { shelf, object } = await live(first.object, first.shelf, script);
      if (script === UNDONE) expect([shelf, stateOf(object)]).toEqual([null, "refused"]);
      else expect([shelf?.wish === undefined, stateOf(object)]).toEqual([false, "applying"]);
    },
  );

  test("leaves nothing when its Service is deleted", async () => {
    const { object } = await live(OF, null);
    const gone = { ...object, metadata: { ...object.metadata, deletionTimestamp: NOW.toISOString() } };
    const { object: released, decisions } = await converge(gone, null);
    expect(decisions.map(({ kind }) => kind)).toEqual(["change", "unchanged"]);
    expect([released.metadata.finalizers, getAnnotation(released)]).toEqual([[], undefined]);
  });

  test.each<[string, () => Promise<Service> | Service, Shelf | null, Script]>([
    ["the model does not allow a rollback", () => OF, null, { ...UNDONE, isUndone: false }],
    ["the load balancer existed before", () => OF, { wish: "other", targets: [] }, UNDONE],
    [
      "the Service once had a load balancer",
      async () => ({
        ...(await buildServedService()),
        spec: { ...OF.spec, ports: [{ protocol: "TCP" as const, port: 81, nodePort: 30_081 }] },
      }),
      null,
      UNDONE,
    ],
    [
      "its status names a load balancer, as after a restore",
      () => buildService({ status: { loadBalancer: { ingress: [{ hostname: "old.example.com" }] } } }),
      null,
      UNDONE,
    ],
  ])("removes nothing if %s", async (_, object, shelf, script) => {
    const end = await live(await object(), shelf, script);
    expect(end.actions).not.toContain("TakeDown");
    expect(end.decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "CertificateNotUsable" } });
  });
});

describe("a rollback", () => {
  const undoing = async () => (await live(OF, null, UNDONE, buildContext(), 4)).object;

  test("asks the cloud about the resources to remove", async () => {
    const object = await undoing();
    expect(stateOf(object)).toBe("undoing");
    expect(await asksOf(object)).toMatchObject({ ask: { wanted: false, nodes: [] } });
    const changed = { ...object, spec: { ...object.spec, ports: [] } };
    expect(await asksOf(changed)).toMatchObject({ ask: { wanted: true } });
  });

  test.each<[string, unknown, Script, object]>([
    [
      "is retried if the cloud does not answer",
      { kind: "error", code: "Throttled", message: "slow" },
      UNDONE,
      { kind: "retry", afterSeconds: 3 },
    ],
    [
      "is retried while something is left",
      { kind: "observed", state: null },
      { ...UNDONE, next: { kind: "settled", ingress: [{ hostname: "a" }], warnings: [] } },
      { kind: "retry", afterSeconds: 10 },
    ],
    [
      "is reported if the load balancer has deletion protection",
      { kind: "observed", state: null },
      { ...UNDONE, next: { kind: "refused", issue: { code: "DeletionProtected" } } },
      { kind: "retry", events: [{ reason: "SyncLoadBalancerFailed", code: "DeletionProtected" }] },
    ],
    [
      "ends if nothing is left",
      { kind: "observed", state: null },
      UNDONE,
      { kind: "change", because: { code: "LoadBalancerUndone" } },
    ],
    [
      "ends if another controller has taken over the load balancer",
      { kind: "observed", state: null },
      { ...UNDONE, next: { kind: "handed-over", warnings: [] } },
      { kind: "change", because: { code: "LoadBalancerUndone" } },
    ],
  ])("%s", async (_, answer, script, decision) => {
    const controller = await createController(script);
    expect(decideOn(controller, { object: await undoing(), answer })).toMatchObject(decision);
  });

  test.each<[string, { code: string; field?: string } | undefined, string]>([
    ["without a code is reported with the general code", undefined, "LoadBalancerRefused"],
    // A tenant owns the annotations, and codes are counted over all clusters.
    ["with an unknown code is reported with the general code", { code: "MadeUp" }, "LoadBalancerRefused"],
    [
      "with a member of Object.prototype as code is reported with the general code",
      { code: "toString" },
      "LoadBalancerRefused",
    ],
    [
      "with a member of Object.prototype as field is reported without a value",
      { code: "InvalidAnnotation", field: "constructor" },
      "InvalidAnnotation",
    ],
  ])("a recorded refusal %s", async (_, refused, code) => {
    const { object } = await live(OF, null);
    const mark = { ...JSON.parse(getAnnotation(object) ?? ""), refused };
    const [name = ""] = Object.keys(object.metadata.annotations ?? {}).filter((each) =>
      each.startsWith("serverless"),
    );
    const annotations = { ...object.metadata.annotations, [name]: JSON.stringify(mark) };
    const bare = { ...object, metadata: { ...object.metadata, annotations } };
    const controller = await createController(UNDONE);
    expect(decideOn(controller, { object: bare })).toMatchObject({
      because: { code, message: refused?.field ?? code },
    });
  });

  test("an issue without a field is recorded without one", async () => {
    const { decisions } = await live(OF, null, { issue: { code: "QuotaExceeded" }, isUndone: true });
    expect(decisions.at(-1)).toMatchObject({ because: { code: "QuotaExceeded", message: "QuotaExceeded" } });
  });
});

describe("a limit that the Service shares with others", () => {
  const LIMIT: Script = { issue: { code: "QuotaExceeded" }, isUndone: true };
  const withOther = (asked = buildContext()) => ({ ...asked, related: buildRelated(undefined, [OTHER]) });

  test("is retried within five minutes", async () => {
    const { object, actions, decisions } = await live(OF, null, LIMIT);
    expect(actions).toEqual(["PutUp", "TakeDown"]);
    expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "QuotaExceeded" } });
    expect(await asksOf(object, later(230))).toBeUndefined();
    const [decision] = (await live(object, null, LIMIT, later(230))).decisions;
    expect(decision).toMatchObject({ kind: "retry", afterSeconds: 10 });
    expect((await live(object, null, LIMIT, later(240))).actions).toEqual(["PutUp", "TakeDown"]);
  });

  test("is retried when another Service has lost its load balancer", async () => {
    const { object } = await live(OF, null, LIMIT, withOther());
    expect(await asksOf(object, withOther(later(1)))).toBeUndefined();
    expect(await asksOf(object, later(1))).toMatchObject({ ask: { wanted: true } });
    const again = await live(object, null, LIMIT, later(1));
    expect(again.actions).toEqual(["PutUp", "TakeDown"]);
    expect(await asksOf(again.object, later(2))).toBeUndefined();
  });

  test("the end of another Service causes no retry of an issue that only the Service itself can fix", async () => {
    const { object } = await live(OF, null, UNDONE, withOther());
    expect(await asksOf(object, later(1))).toBeUndefined();
  });

  test("is retried in time if the other Services are unknown", async () => {
    const { nodes } = buildContext().related;
    const unknown = (asked = buildContext()) => ({ ...asked, related: nodes === undefined ? {} : { nodes } });
    const { object } = await live(OF, null, LIMIT, withOther());
    expect(await asksOf(object, unknown(later(1)))).toBeUndefined();
    expect(await asksOf(object, unknown(later(240)))).toBeDefined();
    const claimed = await live(OF, null, LIMIT, withOther(), 1);
    const undone = await live(claimed.object, null, LIMIT, unknown());
    expect(stateOf(undone.object)).toBe("refused");
    expect(await asksOf(undone.object, later(1))).toBeUndefined();
  });
});

test.each([
  ["a throttle", "Throttled", { issue: { code: "QuotaExceeded" }, isUndone: true }],
  ["what we gave up", "Aborted", { issue: { code: "QuotaExceeded" }, isUndone: true }],
  ["what passes", "Unavailable", { isUndone: true }],
] as const)("%s rolls nothing back, whatever its code", async (_, code, script) => {
  const controller = await createController(script);
  const subject = { object: OF, hint: undefined, answer: { kind: "observed", state: null } } as const;
  const action = { action: "Fill", target: "uid-web", parameters: {} } as never;
  const answer = { kind: "error", code, message: "slow down", reason: "RequestLimitExceeded" } as const;
  expect(controller.decideRejected?.(subject, { action, answer }, buildContext())).toMatchObject({
    kind: "retry",
    because: { code },
  });
});

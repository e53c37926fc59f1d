import { describe, expect, test } from "vitest";
import type { Issue } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  formatStateAnnotation,
  parseStateAnnotation,
  type StateAnnotation,
  UNKNOWN_TARGETS,
} from "#core/service/state-annotation.ts";
import {
  buildContext,
  buildRelated,
  buildServedService,
  buildService,
  converge,
  createController,
  decideOn,
  FINALIZERS,
  HOSTNAME,
  type Script,
  SETTINGS,
  setAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const SERVED = await buildServedService();
const PROBLEM: Issue = { code: "InvalidAnnotation", field: "example.kubernetes.io/a", value: "b" };
const REFUSED = { kind: "refused", issue: PROBLEM } as const;
const TWO = buildContext({
  related: buildRelated([
    { name: "a", providerID: "i-a" },
    { name: "b", providerID: "i-b" },
  ]),
});
const OTHER = buildContext({ related: buildRelated([{ name: "b", providerID: "i-b" }]) });

/** The Service with another port, which the model rejects before comparing it. */
function edited(object: Service): Service {
  return { ...object, spec: { ...object.spec, ports: [{ protocol: "TCP", port: 81, nodePort: 30_081 }] } };
}

/** The served Service with another state in our annotation. */
function inState(state: StateAnnotation["state"]): Service {
  const mark = parseStateAnnotation(SERVED);
  if (mark === undefined) throw new Error("a served Service has our annotation");
  const { version: _, ...facts } = mark;
  return setAnnotation(SERVED, formatStateAnnotation({ ...facts, state }));
}

async function asked(object: Service, at = TWO, script: Script = { before: REFUSED, follows: true }) {
  return (await createController(script)).buildQuestion(object, at);
}

describe("a refused Service with a load balancer", () => {
  const cases: readonly (readonly [string, Script])[] = [
    ["before the cloud is asked", { before: REFUSED, follows: true }],
    ["because of the observed state", { next: REFUSED, follows: true }],
  ];
  test.each(cases)("follows the nodes: refused %s", async (_, script) => {
    for (const [at, targets] of [
      [TWO, ["i-a", "i-b"]],
      [OTHER, ["i-b"]],
    ] as const) {
      const { object, shelf, decisions } = await converge(edited(SERVED), SHELF, at, script);
      expect(shelf).toEqual({ wish: SHELF.wish, targets });
      expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "InvalidAnnotation" } });
      expect(decisions.at(-1)).toMatchObject({ events: [{ reason: "SyncLoadBalancerFailed" }] });
      expect(needsWork(object, SETTINGS)).toBe(true);
      expect(object.status).toEqual(SERVED.status);
    }
  });

  test("records the targets as unknown before changing them, and keeps the record of what was applied", async () => {
    const controller = await createController({ before: REFUSED, follows: true });
    const answer = { kind: "observed", state: SHELF };
    const decision = decideOn(controller, { object: edited(SERVED), answer }, TWO);
    if (decision.kind !== "change") throw new Error(decision.kind);
    const [write] = decision.writes;
    const { object } = controller.applyResult?.(
      { object: edited(SERVED), hint: undefined, answer: undefined },
      { write, result: undefined },
    ) ?? { object: SERVED };
    const { targets: _, ...before } = parseStateAnnotation(SERVED) ?? {};
    expect(parseStateAnnotation(object)).toMatchObject({ ...before, targets: UNKNOWN_TARGETS });
    expect(decision.writes).toMatchObject([{ on: "cluster" }, { on: "cloud", action: "Fill" }]);
  });

  test("asks the cloud while targets differ from those applied last, and in an audit", async () => {
    const script: Script = { before: REFUSED, follows: true };
    expect(await asked(edited(SERVED))).toMatchObject({ ask: { onlyTargets: true, wanted: true } });
    const { object } = await converge(edited(SERVED), SHELF, TWO, script);
    expect(await asked(object)).toBeUndefined();
    expect(await asked(object, { ...TWO, reason: "refresh" })).toMatchObject({ ask: { onlyTargets: true } });
    const { decisions } = await converge(object, { ...SHELF, targets: [] }, TWO, script);
    expect(decisions).toMatchObject([{ kind: "retry" }]);
  });

  test("counts as applied once it is fixed, and only its targets are checked", async () => {
    const { object } = await converge(edited(SERVED), SHELF, TWO, { before: REFUSED, follows: true });
    const mended = { ...object, spec: SERVED.spec };
    expect(await asked(mended, TWO, {})).toBeUndefined();
    expect(needsWork(mended, SETTINGS)).toBe(false);
  });

  test("keeps a change in progress recorded", async () => {
    const applying = inState("applying");
    const script: Script = { before: REFUSED, follows: true };
    const { object, shelf } = await converge(edited(applying), SHELF, TWO, script);
    expect(shelf?.targets).toEqual(["i-a", "i-b"]);
    expect(parseStateAnnotation(object)).toMatchObject({
      state: "applying",
      desired: parseStateAnnotation(SERVED)?.desired,
    });
  });

  test("follows the nodes after a take-over from the stock controller", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } };
    const stock = buildService({ metadata: { finalizers: FINALIZERS }, status });
    const { object, shelf } = await converge(stock, SHELF, TWO, { before: REFUSED, follows: true });
    expect(shelf?.targets).toEqual(["i-a", "i-b"]);
    expect(parseStateAnnotation(object)).toMatchObject({ state: "applied", seen: "", desired: "" });
    const mended = await converge(object, shelf, TWO);
    expect(mended.decisions).toMatchObject([{ kind: "change" }, { kind: "retry", afterSeconds: 45 }]);
  });

  test("waits for a change in the cloud, and reports the refusal", async () => {
    const wait = {
      kind: "wait",
      because: { code: "WorkRequest", message: "busy" },
      afterSeconds: 10,
    } as const;
    const script: Script = { before: REFUSED, follows: wait };
    const { decisions, shelf } = await converge(edited(SERVED), SHELF, TWO, script);
    expect(decisions).toMatchObject([
      { kind: "retry", because: { code: "InvalidAnnotation" }, afterSeconds: 10 },
    ]);
    expect(shelf).toEqual(SHELF);
  });

  test("retries soon without the cloud's answer, and reports the refusal", async () => {
    const controller = await createController({ before: REFUSED, follows: true });
    const answer = { kind: "error", code: "Throttled", message: "slow down" };
    expect(decideOn(controller, { object: edited(SERVED), answer }, TWO)).toMatchObject({
      kind: "retry",
      because: { code: "InvalidAnnotation" },
      afterSeconds: 3,
      events: [{ reason: "SyncLoadBalancerFailed" }],
    });
  });

  test("keeps its targets if the cloud shows no load balancer for it", async () => {
    const { object, decisions } = await converge(edited(SERVED), null, TWO, {
      before: REFUSED,
      follows: true,
    });
    expect(decisions).toMatchObject([{ kind: "retry", because: { code: "InvalidAnnotation" } }]);
    expect(object).toEqual(edited(SERVED));
  });

  test("keeps its targets if no node can be a target", async () => {
    const none = buildContext({ related: buildRelated([{ name: "new" }]) });
    expect(await asked(edited(SERVED), none)).toBeUndefined();
    const script: Script = { next: REFUSED, follows: true };
    const { shelf } = await converge(edited(SERVED), SHELF, none, script);
    expect(shelf).toEqual(SHELF);
  });
});

describe("a refused Service without a load balancer", () => {
  test("causes no question to the cloud", async () => {
    expect(await asked(buildService())).toBeUndefined();
    expect(await asked(edited(inState("refused")))).toBeUndefined();
  });
});

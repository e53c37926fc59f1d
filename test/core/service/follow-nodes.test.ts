import { describe, expect, test } from "vitest";
import { type Mark, markOf, UNKNOWN_TARGETS, writtenMark } from "#core/service/mark.ts";
import type { Problem } from "#core/service/model.ts";
import { needsWork } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  context,
  controllerWith,
  converged,
  decideOn,
  FINALIZERS,
  HOSTNAME,
  related,
  type Script,
  SETTINGS,
  served,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const SHELF = { wish: JSON.stringify([{ protocol: "TCP", port: 80, nodePort: 30_080 }]), targets: ["i-a"] };
const SERVED = await served();
const PROBLEM: Problem = { code: "InvalidAnnotation", field: "example.kubernetes.io/a", value: "b" };
const REFUSED = { kind: "refused", problem: PROBLEM } as const;
const TWO = context({
  related: related([
    { name: "a", providerID: "i-a" },
    { name: "b", providerID: "i-b" },
  ]),
});
const OTHER = context({ related: related([{ name: "b", providerID: "i-b" }]) });

/** The Service with another port, which the model does not come to look at. */
function edited(object: Service): Service {
  return { ...object, spec: { ...object.spec, ports: [{ protocol: "TCP", port: 81, nodePort: 30_081 }] } };
}

/** The served Service with another state in our annotation. */
function inState(state: Mark["state"]): Service {
  const mark = markOf(SERVED);
  if (mark === undefined) throw new Error("a served Service has our annotation");
  const { version: _, ...facts } = mark;
  return withAnnotation(SERVED, writtenMark({ ...facts, state }));
}

async function asked(object: Service, at = TWO, script: Script = { before: REFUSED, follows: true }) {
  return (await controllerWith(script)).asks(object, at);
}

describe("a Service with a load balancer that asks for something that is refused", () => {
  const cases: readonly (readonly [string, Script])[] = [
    ["before the cloud is asked", { before: REFUSED, follows: true }],
    ["by what the cloud shows", { next: REFUSED, follows: true }],
  ];
  test.each(cases)("follows the nodes that come and go: refused %s", async (_, script) => {
    for (const [at, targets] of [
      [TWO, ["i-a", "i-b"]],
      [OTHER, ["i-b"]],
    ] as const) {
      const { object, shelf, decisions } = await converged(edited(SERVED), SHELF, at, script);
      expect(shelf).toEqual({ wish: SHELF.wish, targets });
      expect(decisions.at(-1)).toMatchObject({ kind: "retry", because: { code: "InvalidAnnotation" } });
      expect(decisions.at(-1)).toMatchObject({ events: [{ reason: "SyncLoadBalancerFailed" }] });
      expect(needsWork(object, SETTINGS)).toBe(true);
      expect(object.status).toEqual(SERVED.status);
    }
  });

  test("records the targets as unknown before it changes them, and what was applied stays recorded", async () => {
    const controller = await controllerWith({ before: REFUSED, follows: true });
    const answer = { kind: "observed", state: SHELF };
    const decision = decideOn(controller, { object: edited(SERVED), answer }, TWO);
    if (decision.kind !== "change") throw new Error(decision.kind);
    const [write] = decision.writes;
    const { object } = controller.fold?.(
      { object: edited(SERVED), hint: undefined, answer: undefined },
      { write, result: undefined },
    ) ?? { object: SERVED };
    const { targets: _, ...before } = markOf(SERVED) ?? {};
    expect(markOf(object)).toMatchObject({ ...before, targets: UNKNOWN_TARGETS });
    expect(decision.writes).toMatchObject([{ on: "cluster" }, { on: "cloud", action: "Fill" }]);
  });

  test("asks the cloud while targets differ from those last applied, and in an audit", async () => {
    const script: Script = { before: REFUSED, follows: true };
    expect(await asked(edited(SERVED))).toMatchObject({ ask: { onlyTargets: true, wanted: true } });
    const { object } = await converged(edited(SERVED), SHELF, TWO, script);
    expect(await asked(object)).toBeUndefined();
    expect(await asked(object, { ...TWO, reason: "refresh" })).toMatchObject({ ask: { onlyTargets: true } });
    const { decisions } = await converged(object, { ...SHELF, targets: [] }, TWO, script);
    expect(decisions).toMatchObject([{ kind: "retry" }]);
  });

  test("is as it was applied once it is mended, and nothing but targets is looked at", async () => {
    const { object } = await converged(edited(SERVED), SHELF, TWO, { before: REFUSED, follows: true });
    const mended = { ...object, spec: SERVED.spec };
    expect(await asked(mended, TWO, {})).toBeUndefined();
    expect(needsWork(mended, SETTINGS)).toBe(false);
  });

  test("keeps a change recorded that was under way", async () => {
    const applying = inState("applying");
    const script: Script = { before: REFUSED, follows: true };
    const { object, shelf } = await converged(edited(applying), SHELF, TWO, script);
    expect(shelf?.targets).toEqual(["i-a", "i-b"]);
    expect(markOf(object)).toMatchObject({ state: "applying", desired: markOf(SERVED)?.desired });
  });

  test("follows the nodes after it was taken over from the stock controller", async () => {
    const status = { loadBalancer: { ingress: [{ hostname: HOSTNAME }] } };
    const stock = service({ metadata: { finalizers: FINALIZERS }, status });
    const { object, shelf } = await converged(stock, SHELF, TWO, { before: REFUSED, follows: true });
    expect(shelf?.targets).toEqual(["i-a", "i-b"]);
    expect(markOf(object)).toMatchObject({ state: "applied", seen: "", desired: "" });
    const mended = await converged(object, shelf, TWO);
    expect(mended.decisions).toMatchObject([{ kind: "change" }, { kind: "retry", afterSeconds: 45 }]);
  });

  test("waits for a change that the cloud is still at, and tells what is refused", async () => {
    const wait = {
      kind: "wait",
      because: { code: "WorkRequest", message: "busy" },
      afterSeconds: 10,
    } as const;
    const script: Script = { before: REFUSED, follows: wait };
    const { decisions, shelf } = await converged(edited(SERVED), SHELF, TWO, script);
    expect(decisions).toMatchObject([
      { kind: "retry", because: { code: "InvalidAnnotation" }, afterSeconds: 10 },
    ]);
    expect(shelf).toEqual(SHELF);
  });

  test("retries soon where the cloud did not answer, and tells what is refused", async () => {
    const controller = await controllerWith({ before: REFUSED, follows: true });
    const answer = { kind: "error", code: "Throttled", message: "slow down" };
    expect(decideOn(controller, { object: edited(SERVED), answer }, TWO)).toMatchObject({
      kind: "retry",
      because: { code: "InvalidAnnotation" },
      afterSeconds: 3,
      events: [{ reason: "SyncLoadBalancerFailed" }],
    });
  });

  test("keeps its targets where the cloud shows no load balancer of it", async () => {
    const { object, decisions } = await converged(edited(SERVED), null, TWO, {
      before: REFUSED,
      follows: true,
    });
    expect(decisions).toMatchObject([{ kind: "retry", because: { code: "InvalidAnnotation" } }]);
    expect(object).toEqual(edited(SERVED));
  });

  test("keeps its targets where no node can be one", async () => {
    const none = context({ related: related([{ name: "new" }]) });
    expect(await asked(edited(SERVED), none)).toBeUndefined();
    const script: Script = { next: REFUSED, follows: true };
    const { shelf } = await converged(edited(SERVED), SHELF, none, script);
    expect(shelf).toEqual(SHELF);
  });
});

describe("a Service without a load balancer that asks for something that is refused", () => {
  test("asks the cloud nothing", async () => {
    expect(await asked(service())).toBeUndefined();
    expect(await asked(edited(inState("refused")))).toBeUndefined();
  });
});

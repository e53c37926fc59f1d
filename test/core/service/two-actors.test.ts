import { describe, expect, test } from "vitest";
import { checkDeletionVisibility } from "#core/service/deletion-visibility.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { hashContent } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  buildContext,
  buildService,
  converge,
  createController,
  decideOn,
  FINALIZERS,
  getAnnotation,
  getPastTime,
  NOW,
  type Shelf,
  setAnnotation,
} from "#test/core/service/builders.ts";

const A = "111111111";
const B = "222222222";
const SHELF: Shelf = { wish: '[{"protocol":"TCP","port":80,"nodePort":30080}]', targets: ["i-a"] };
const markOf = (object: Service) => JSON.parse(getAnnotation(object) ?? "null");
const atSeconds = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);

/** The Service with this actor's claim in its annotation. */
function claimedBy(actor: string, object: Service, difference: object = {}): Service {
  const making = `${NOW.toISOString().slice(0, -1)}${actor}0Z`;
  return setAnnotation(object, JSON.stringify({ ...markOf(object), making, ...difference }));
}

/** A served Service, and the content of its shelf. */
async function atRest() {
  const { object, shelf } = await converge(buildService(), null);
  return { object, shelf };
}

describe("a Service with another actor's claim", () => {
  test("is taken over after observing the cloud, and observed once more 45 seconds later", async () => {
    const { object, shelf } = await atRest();
    const held = claimedBy(B, object, { state: "applying" });
    const taken = await converge(held, shelf, buildContext({ actor: A }));
    expect(taken.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    expect(markOf(taken.object)).toMatchObject({ state: "applied" });
    const controller = await createController();
    expect(controller.buildQuestion(taken.object, buildContext({ now: atSeconds(44) }))).toBeUndefined();
    expect(controller.buildQuestion(taken.object, buildContext({ now: atSeconds(45) }))).toMatchObject({
      ask: { wanted: true },
    });
    const late = { ...(shelf as Shelf), wish: "of the other actor" };
    const rechecked = await converge(taken.object, late, buildContext({ now: atSeconds(45) }));
    expect(rechecked.shelf).toEqual(shelf);
    expect(rechecked.decisions.at(-1)?.kind).toBe("unchanged");
    expect(markOf(rechecked.object)).not.toHaveProperty("making");
  });

  test("is observed once more, too, if our annotation was removed", async () => {
    const { object, shelf } = await atRest();
    const lost = { ...object, metadata: { ...object.metadata, annotations: {} } };
    for (const wish of [(shelf as Shelf).wish, "of another actor"]) {
      const { decisions } = await converge(lost, { ...(shelf as Shelf), wish }, buildContext({ actor: A }));
      expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    }
  });

  test("does not count as applied while its targets are changed, whatever the annotation says", async () => {
    const { object } = await atRest();
    const controller = await createController();
    expect(controller.buildQuestion(object, buildContext({ actor: A }))).toBeUndefined();
    expect(controller.buildQuestion(claimedBy(B, object), buildContext({ actor: A }))).not.toHaveProperty(
      "ask.onlyTargets",
    );
  });

  test("is observed at once if its nodes change before the recheck", async () => {
    const { object, shelf } = await atRest();
    const taken = await converge(claimedBy(B, object), shelf, buildContext({ actor: A }));
    const nodes = { nodes: { resourceVersion: "600", items: [{ name: "b", providerID: "i-b" }] } };
    const more = buildContext({
      actor: A,
      now: atSeconds(10),
      related: { ...buildContext().related, ...nodes },
    });
    const after = await converge(taken.object, shelf, more);
    expect(after.shelf?.targets).toEqual(["i-b"]);
    expect(after.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 35 });
  });

  test("is released only after the other actor's requests would be visible", async () => {
    const { object, shelf } = await atRest();
    const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: getPastTime(1) } };
    const left = await converge(claimedBy(B, deleted), shelf, buildContext({ actor: A }));
    expect(left.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 10 });
    expect(left.object.metadata.finalizers).toEqual(FINALIZERS);
    const released = await converge(left.object, left.shelf, buildContext({ actor: A, now: atSeconds(31) }));
    expect(released.object.metadata.finalizers).toEqual([]);
  });
});

describe("a load balancer that is no longer visible", () => {
  test.each([
    [
      "is looked for if another actor may have created it",
      { isVisible: true, isImmediatelyVisible: false },
      B,
    ],
    [
      "is looked for if another actor may be creating it, even on a strongly consistent cloud",
      { isVisible: true, isImmediatelyVisible: true },
      B,
    ],
  ])("%s", async (_, seen, actor) => {
    const { object } = await atRest();
    expect(checkDeletionVisibility(claimedBy(actor, object), seen, { actor: A, now: NOW })).toMatchObject({
      kind: "unknown-since",
    });
    const taken = (await converge(claimedBy(actor, object), SHELF, buildContext({ actor: A }))).object;
    expect(checkDeletionVisibility(taken, seen, { actor: A, now: NOW })).toMatchObject({
      kind: "unknown-since",
    });
    const leaving = setAnnotation(taken, JSON.stringify({ ...markOf(taken), state: "leaving" }));
    expect(checkDeletionVisibility(leaving, seen, { actor: A, now: NOW })).toMatchObject({
      kind: "look-again",
    });
  });

  test("is awaited if this actor was working on it when the Service stopped needing one", async () => {
    const { object } = await atRest();
    const own = claimedBy(A, object, { state: "applying" });
    const seen = { isVisible: true, isImmediatelyVisible: false };
    expect(checkDeletionVisibility(own, seen, { actor: A, now: NOW })).toMatchObject({
      kind: "unknown-since",
    });
  });

  test("is gone if only this actor worked on it", async () => {
    const { object } = await atRest();
    for (const showsAtOnce of [true, false])
      expect(
        checkDeletionVisibility(
          object,
          { isVisible: true, isImmediatelyVisible: showsAtOnce },
          { actor: A, now: NOW },
        ),
      ).toEqual({
        kind: "none",
      });
  });
});

describe("an actor that finds the Service changed during its work", () => {
  const conflict = { hasWritten: true };

  test.each([
    ["needs a load balancer", {}],
    ["is of another type", { type: "ClusterIP" }],
  ])("leaves it to the other actor that has claimed it if the Service %s", async (_, spec) => {
    const { object } = await atRest();
    const held = claimedBy(B, { ...object, spec: { ...object.spec, ...spec } });
    const decision = decideOn(
      await createController(),
      { object: held },
      buildContext({ actor: A, conflict }),
    );
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "LoadBalancerInProgress" },
      afterSeconds: 45,
    });
  });

  test("continues if the other actor knows older nodes", async () => {
    const { object } = await atRest();
    const held = claimedBy(B, object, { nodes: "400" });
    const controller = await createController();
    expect(controller.buildQuestion(held, buildContext({ actor: A, conflict }))).toBeDefined();
  });

  test("continues a deletion, whichever actor has claimed it", async () => {
    const { object } = await atRest();
    const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: getPastTime(1) } };
    const controller = await createController();
    expect(
      controller.buildQuestion(claimedBy(B, deleted), buildContext({ actor: A, conflict })),
    ).toBeDefined();
  });

  test("observes the cloud if the other actor has finished, because its own changes may be later", async () => {
    const { object } = await atRest();
    const controller = await createController();
    expect(controller.buildQuestion(object, buildContext({ actor: A, conflict }))).toBeDefined();
    expect(
      controller.buildQuestion(object, buildContext({ actor: A, conflict: { hasWritten: false } })),
    ).toBeUndefined();
  });
});

describe("the guard of a cloud action", () => {
  test("is the Service with the claim that precedes the action", async () => {
    const controller = await createController();
    const decision = decideOn(
      controller,
      { object: buildService(), answer: { kind: "observed", state: null } },
      buildContext({ actor: A }),
    );
    const [claim, action] = decision.kind === "change" ? decision.writes : [];
    if (claim?.on !== "cluster" || action?.on !== "cloud") throw new Error("no claim before an action");
    const claimed = controller.applyResult?.(
      { object: buildService(), answer: undefined, hint: undefined },
      { write: claim, result: null },
    ).object as Service;
    expect(action.precondition.content).toBe(controller.contentHash?.(claimed));
    expect(action.precondition.content).not.toBe(hashContent(buildService()));
  });

  test.each<[string, Service, boolean]>([
    ["ports", buildService({ spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_081 }] } }), false],
    ["source ranges", buildService({ spec: { loadBalancerSourceRanges: ["192.0.2.0/24"] } }), false],
    ["annotations", buildService({ metadata: { annotations: { a: "b" } } }), false],
    ["finalizers", buildService({ metadata: { finalizers: FINALIZERS } }), true],
    ["a version", buildService({ metadata: { resourceVersion: "101" } }), true],
    ["status", buildService({ status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } }), true],
  ])("is unaffected by other %s: %s", (_, other, isSame) => {
    expect(hashContent(other) === hashContent(buildService())).toBe(isSame);
  });
});

describe("a Service of another type", () => {
  const PLAIN = { type: "ClusterIP" };

  test("is claimed before its load balancer is removed", async () => {
    const { object } = await atRest();
    const plain = { ...object, spec: { ...object.spec, ...PLAIN } };
    const controller = await createController();
    const decision = decideOn(
      controller,
      { object: plain, answer: { kind: "observed", state: SHELF } },
      buildContext({ actor: A }),
    );
    const [claim, action] = decision.kind === "change" ? decision.writes : [];
    expect([claim?.on, action?.on]).toEqual(["cluster", "cloud"]);
    expect(JSON.stringify(claim)).toContain(A);
  });

  test("without our annotation is cleaned up, and released once no request can be in flight", async () => {
    const { object, shelf } = await atRest();
    const { annotations: _, ...metadata } = object.metadata;
    const replaced = { ...object, metadata, spec: { ...object.spec, ...PLAIN } };
    const cleared = await converge(replaced, shelf);
    expect(cleared.shelf).toBeNull();
    expect(cleared.object.metadata.finalizers).toEqual(FINALIZERS);
    const after = await converge(cleared.object, null, buildContext({ now: atSeconds(61) }));
    expect(after.object.metadata.finalizers).toEqual([]);
    expect(getAnnotation(after.object)).toBeUndefined();
  });

  test("without our annotation is checked for half a minute if the cloud shows nothing", async () => {
    const plain = buildService({ metadata: { finalizers: FINALIZERS }, spec: PLAIN });
    const script = { shows: false };
    const left = await converge(plain, null, buildContext(), script);
    expect(left.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 10 });
    const released = await converge(left.object, null, buildContext({ now: atSeconds(31) }), script);
    expect(released.object.metadata.finalizers).toEqual([]);
  });

  test("keeps the finalizer while the cloud does not answer", async () => {
    const plain = buildService({ metadata: { finalizers: FINALIZERS }, spec: PLAIN });
    const answer = { kind: "error", code: "Throttled", message: "" } as const;
    expect(decideOn(await createController(), { object: plain, answer })).toMatchObject({
      kind: "retry",
      because: { code: "Throttled" },
    });
  });
});

test("a living Service of another class stays unchanged, with that controller's finalizer", async () => {
  const other = buildService({ metadata: { finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } });
  const controller = await createController();
  expect(controller.buildQuestion(other, buildContext())).toBeUndefined();
  expect(decideOn(controller, { object: other })).toMatchObject({ kind: "unchanged" });
});

test("an actor that waits for the cloud makes its claim idle, and keeps another's unchanged", async () => {
  const WAIT: LoadBalancerStep = { kind: "wait", because: { code: "Busy", message: "" }, afterSeconds: 10 };
  const { object, shelf } = await atRest();
  const script = { next: WAIT };
  const waiting = await converge(buildService(), null, buildContext({ actor: A }), script);
  expect(markOf(waiting.object).making).toMatch(/0000000000Z$/);
  const own = claimedBy(A, object, { state: "applying" });
  const rested = await converge(own, shelf, buildContext({ actor: A }), script);
  expect(markOf(rested.object).making).toMatch(/0000000000Z$/);
  const held = claimedBy(B, object, { state: "applying" });
  expect((await converge(held, shelf, buildContext({ actor: A }), script)).object).toEqual(held);
  const older = setAnnotation(object, JSON.stringify({ ...markOf(object), state: "applying" }));
  expect((await converge(older, shelf, buildContext({ actor: A }), script)).object).toEqual(older);
});

import { describe, expect, test } from "vitest";
import { doubtOf } from "#core/service/doubt.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { hashContent } from "#core/service/needs-work.ts";
import type { Service } from "#core/service/service.ts";
import {
  annotationOf,
  context,
  controllerWith,
  converged,
  decideOn,
  FINALIZERS,
  NOW,
  type Shelf,
  secondsAgo,
  service,
  withAnnotation,
} from "#test/core/service/builders.ts";

const A = "111111111";
const B = "222222222";
const SHELF: Shelf = { wish: '[{"protocol":"TCP","port":80,"nodePort":30080}]', targets: ["i-a"] };
const markOf = (object: Service) => JSON.parse(annotationOf(object) ?? "null");
const atSeconds = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);

/** The Service with a claim of this actor in its annotation. */
function claimedBy(actor: string, object: Service, difference: object = {}): Service {
  const making = `${NOW.toISOString().slice(0, -1)}${actor}0Z`;
  return withAnnotation(object, JSON.stringify({ ...markOf(object), making, ...difference }));
}

/** A Service that is served, and what its shelf holds. */
async function atRest() {
  const { object, shelf } = await converged(service(), null);
  return { object, shelf };
}

describe("a Service that another actor has claimed", () => {
  test("is taken over with the cloud observed, and observed once more 45 seconds later", async () => {
    const { object, shelf } = await atRest();
    const held = claimedBy(B, object, { state: "applying" });
    const taken = await converged(held, shelf, context({ actor: A }));
    expect(taken.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    expect(markOf(taken.object)).toMatchObject({ state: "applied" });
    const controller = await controllerWith();
    expect(controller.asks(taken.object, context({ now: atSeconds(44) }))).toBeUndefined();
    expect(controller.asks(taken.object, context({ now: atSeconds(45) }))).toMatchObject({
      ask: { wanted: true },
    });
    const late = { ...(shelf as Shelf), wish: "of the other actor" };
    const rechecked = await converged(taken.object, late, context({ now: atSeconds(45) }));
    expect(rechecked.shelf).toEqual(shelf);
    expect(rechecked.decisions.at(-1)?.kind).toBe("unchanged");
    expect(markOf(rechecked.object)).not.toHaveProperty("making");
  });

  test("is observed once more, too, where our annotation was taken away", async () => {
    const { object, shelf } = await atRest();
    const lost = { ...object, metadata: { ...object.metadata, annotations: {} } };
    for (const wish of [(shelf as Shelf).wish, "of another actor"]) {
      const { decisions } = await converged(lost, { ...(shelf as Shelf), wish }, context({ actor: A }));
      expect(decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 45 });
    }
  });

  test("is not applied, whatever the annotation says, while only its targets are changed", async () => {
    const { object } = await atRest();
    const controller = await controllerWith();
    expect(controller.asks(object, context({ actor: A }))).toBeUndefined();
    expect(controller.asks(claimedBy(B, object), context({ actor: A }))).not.toHaveProperty(
      "ask.onlyTargets",
    );
  });

  test("is observed at once where its nodes change before it is observed once more", async () => {
    const { object, shelf } = await atRest();
    const taken = await converged(claimedBy(B, object), shelf, context({ actor: A }));
    const nodes = { nodes: { resourceVersion: "600", items: [{ name: "b", providerID: "i-b" }] } };
    const more = context({ actor: A, now: atSeconds(10), related: { ...context().related, ...nodes } });
    const after = await converged(taken.object, shelf, more);
    expect(after.shelf?.targets).toEqual(["i-b"]);
    expect(after.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 35 });
  });

  test("is released only once what the other actor has sent would be seen", async () => {
    const { object, shelf } = await atRest();
    const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: secondsAgo(1) } };
    const left = await converged(claimedBy(B, deleted), shelf, context({ actor: A }));
    expect(left.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 10 });
    expect(left.object.metadata.finalizers).toEqual(FINALIZERS);
    const released = await converged(left.object, left.shelf, context({ actor: A, now: atSeconds(31) }));
    expect(released.object.metadata.finalizers).toEqual([]);
  });
});

describe("a load balancer that is not seen any more", () => {
  test.each([
    ["is looked for where another actor may have made it", { isShown: true, showsAtOnce: false }, B],
    [
      "is looked for where another actor may make it, seen at once or not",
      { isShown: true, showsAtOnce: true },
      B,
    ],
  ])("%s", async (_, seen, actor) => {
    const { object } = await atRest();
    expect(doubtOf(claimedBy(actor, object), seen, { actor: A, now: NOW })).toMatchObject({
      kind: "unknown-since",
    });
    const taken = (await converged(claimedBy(actor, object), SHELF, context({ actor: A }))).object;
    expect(doubtOf(taken, seen, { actor: A, now: NOW })).toMatchObject({ kind: "unknown-since" });
    const leaving = withAnnotation(taken, JSON.stringify({ ...markOf(taken), state: "leaving" }));
    expect(doubtOf(leaving, seen, { actor: A, now: NOW })).toMatchObject({ kind: "look-again" });
  });

  test("is looked for where this actor was at it itself when the Service came to want none", async () => {
    const { object } = await atRest();
    const own = claimedBy(A, object, { state: "applying" });
    const seen = { isShown: true, showsAtOnce: false };
    expect(doubtOf(own, seen, { actor: A, now: NOW })).toMatchObject({ kind: "unknown-since" });
  });

  test("is gone where this actor alone was at it", async () => {
    const { object } = await atRest();
    for (const showsAtOnce of [true, false])
      expect(doubtOf(object, { isShown: true, showsAtOnce }, { actor: A, now: NOW })).toEqual({
        kind: "none",
      });
  });
});

describe("an actor that finds the Service changed in the middle of its work", () => {
  const conflict = { hasWritten: true };

  test.each([
    ["wants a load balancer", {}],
    ["is of another type", { type: "ClusterIP" }],
  ])("leaves it to the other one that has claimed it: it %s", async (_, spec) => {
    const { object } = await atRest();
    const held = claimedBy(B, { ...object, spec: { ...object.spec, ...spec } });
    const decision = decideOn(await controllerWith(), { object: held }, context({ actor: A, conflict }));
    expect(decision).toMatchObject({
      kind: "retry",
      because: { code: "LoadBalancerInProgress" },
      afterSeconds: 45,
    });
  });

  test("goes on where the other one knows older nodes", async () => {
    const { object } = await atRest();
    const held = claimedBy(B, object, { nodes: "400" });
    const controller = await controllerWith();
    expect(controller.asks(held, context({ actor: A, conflict }))).toBeDefined();
  });

  test("goes on with a deletion, whoever has claimed it", async () => {
    const { object } = await atRest();
    const deleted = { ...object, metadata: { ...object.metadata, deletionTimestamp: secondsAgo(1) } };
    const controller = await controllerWith();
    expect(controller.asks(claimedBy(B, deleted), context({ actor: A, conflict }))).toBeDefined();
  });

  test("observes the cloud where the other one is done, as its own changes may be later", async () => {
    const { object } = await atRest();
    const controller = await controllerWith();
    expect(controller.asks(object, context({ actor: A, conflict }))).toBeDefined();
    expect(controller.asks(object, context({ actor: A, conflict: { hasWritten: false } }))).toBeUndefined();
  });
});

describe("what an action of the cloud is guarded by", () => {
  test("is the Service as it is with the claim that comes before it", async () => {
    const controller = await controllerWith();
    const decision = decideOn(
      controller,
      { object: service(), answer: { kind: "observed", state: null } },
      context({ actor: A }),
    );
    const [claim, action] = decision.kind === "change" ? decision.writes : [];
    if (claim?.on !== "cluster" || action?.on !== "cloud") throw new Error("no claim before an action");
    const claimed = controller.fold?.(
      { object: service(), answer: undefined, hint: undefined },
      { write: claim, result: null },
    ).object as Service;
    expect(action.precondition.content).toBe(controller.contentHash?.(claimed));
    expect(action.precondition.content).not.toBe(hashContent(service()));
  });

  test.each<[string, Service, boolean]>([
    ["ports", service({ spec: { ports: [{ port: 80, protocol: "TCP", nodePort: 30_081 }] } }), false],
    ["source ranges", service({ spec: { loadBalancerSourceRanges: ["192.0.2.0/24"] } }), false],
    ["annotations", service({ metadata: { annotations: { a: "b" } } }), false],
    ["finalizers", service({ metadata: { finalizers: FINALIZERS } }), true],
    ["a version", service({ metadata: { resourceVersion: "101" } }), true],
    ["status", service({ status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } }), true],
  ])("stays the same with other %s: %s", (_, other, isSame) => {
    expect(hashContent(other) === hashContent(service())).toBe(isSame);
  });
});

describe("a Service of another type", () => {
  const PLAIN = { type: "ClusterIP" };

  test("is claimed before its load balancer is removed", async () => {
    const { object } = await atRest();
    const plain = { ...object, spec: { ...object.spec, ...PLAIN } };
    const controller = await controllerWith();
    const decision = decideOn(
      controller,
      { object: plain, answer: { kind: "observed", state: SHELF } },
      context({ actor: A }),
    );
    const [claim, action] = decision.kind === "change" ? decision.writes : [];
    expect([claim?.on, action?.on]).toEqual(["cluster", "cloud"]);
    expect(JSON.stringify(claim)).toContain(A);
  });

  test("that has lost our annotation is cleared away, and released once no request can be on its way", async () => {
    const { object, shelf } = await atRest();
    const { annotations: _, ...metadata } = object.metadata;
    const replaced = { ...object, metadata, spec: { ...object.spec, ...PLAIN } };
    const cleared = await converged(replaced, shelf);
    expect(cleared.shelf).toBeNull();
    expect(cleared.object.metadata.finalizers).toEqual(FINALIZERS);
    const after = await converged(cleared.object, null, context({ now: atSeconds(61) }));
    expect(after.object.metadata.finalizers).toEqual([]);
    expect(annotationOf(after.object)).toBeUndefined();
  });

  test("that has lost our annotation is looked at for half a minute where the cloud shows nothing", async () => {
    const plain = service({ metadata: { finalizers: FINALIZERS }, spec: PLAIN });
    const script = { shows: false };
    const left = await converged(plain, null, context(), script);
    expect(left.decisions.at(-1)).toMatchObject({ kind: "retry", afterSeconds: 10 });
    const released = await converged(left.object, null, context({ now: atSeconds(31) }), script);
    expect(released.object.metadata.finalizers).toEqual([]);
  });

  test("keeps the finalizer while the cloud does not answer", async () => {
    const plain = service({ metadata: { finalizers: FINALIZERS }, spec: PLAIN });
    const answer = { kind: "error", code: "Throttled", message: "" } as const;
    expect(decideOn(await controllerWith(), { object: plain, answer })).toMatchObject({
      kind: "retry",
      because: { code: "Throttled" },
    });
  });
});

test("a living Service of another class is left alone with that controller's finalizer", async () => {
  const other = service({ metadata: { finalizers: FINALIZERS }, spec: { loadBalancerClass: "a/b" } });
  const controller = await controllerWith();
  expect(controller.asks(other, context())).toBeUndefined();
  expect(decideOn(controller, { object: other })).toMatchObject({ kind: "unchanged" });
});

test("an actor that waits for the cloud rests its claim, and leaves that of another as it is", async () => {
  const WAIT: LoadBalancerStep = { kind: "wait", because: { code: "Busy", message: "" }, afterSeconds: 10 };
  const { object, shelf } = await atRest();
  const script = { next: WAIT };
  const waiting = await converged(service(), null, context({ actor: A }), script);
  expect(markOf(waiting.object).making).toMatch(/0000000000Z$/);
  const own = claimedBy(A, object, { state: "applying" });
  const rested = await converged(own, shelf, context({ actor: A }), script);
  expect(markOf(rested.object).making).toMatch(/0000000000Z$/);
  const held = claimedBy(B, object, { state: "applying" });
  expect((await converged(held, shelf, context({ actor: A }), script)).object).toEqual(held);
  const older = withAnnotation(object, JSON.stringify({ ...markOf(object), state: "applying" }));
  expect((await converged(older, shelf, context({ actor: A }), script)).object).toEqual(older);
});

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPending, type Pending } from "#relay/work/pending.ts";
import type { Queue, Settlement } from "#relay/work/types.ts";
import {
  createModel,
  isOut,
  type Model,
  type Modelled,
  showVersion,
  store,
  toObserved,
} from "#test/relay/work/model.ts";
import { buildKey, buildReportSettlement } from "#test/relay/work/pending-builders.ts";
import { SEED } from "#test/seed.ts";

const QUEUES: readonly Queue[] = ["work", "look"];
const UIDS = ["a", "b", "c", "d"];

/** The longest possible wait: what a report may ask for, and a delay to go along with others. */
const LONGEST_WAIT_MS = 12 * 60_000;

type Outcome = "changed" | "changed-quietly" | "retry" | "unchanged" | "failed" | "lost" | "refused";

type Command = fc.Command<Model, Pending>;

function command(
  name: string,
  check: (model: Model) => boolean,
  run: (model: Model, pending: Pending) => void,
): Command {
  return {
    toString: () => name,
    check: (model) => check(model),
    run(model, pending) {
      run(model, pending);
      agrees(model, pending);
    },
  };
}

const written = (uid: string, needsWork: boolean, fingerprint: string): Command =>
  command(
    `write(${uid}, ${needsWork ? "needs work" : "done"}, ${fingerprint})`,
    () => true,
    (model) => {
      store(model, uid, needsWork, fingerprint);
    },
  );

const shown = (uid: string): Command =>
  command(
    `show(${uid})`,
    ({ objects }) => (objects.get(uid)?.unseen.length ?? 0) > 0,
    (model, pending) => {
      const object = model.objects.get(uid);
      const next = object?.unseen.shift();
      if (object === undefined || next === undefined) return;
      showVersion(model, uid, object, next);
      pending.applied(toObserved(uid, next), buildKey(next.version, uid), model.nowMs);
    },
  );

const shownAgain = (uid: string, back: number): Command =>
  command(
    `show(${uid}) of before`,
    ({ objects }) => objects.get(uid)?.shown !== undefined,
    (model, pending) => {
      const object = model.objects.get(uid);
      const version = (object?.shown ?? 0) - back;
      if (object === undefined || version < 1) return;
      pending.applied(
        toObserved(uid, { version, needsWork: true, fingerprint: "old" }),
        buildKey(version, uid),
        model.nowMs,
      );
    },
  );

const deleted = (uid: string): Command =>
  command(
    `delete(${uid})`,
    ({ objects }) => objects.get(uid)?.shown !== undefined,
    (model, pending) => {
      const invocation = model.objects.get(uid)?.flight;
      model.objects.delete(uid);
      if (invocation !== undefined) model.left.set(uid, invocation);
      const isLast = invocation !== undefined && livingOf(model, invocation) === 0;
      expect(pending.deleted(uid)).toBe(isLast ? invocation : undefined);
    },
  );

const sent = (queue: Queue, most: number): Command =>
  command(
    `send(${queue}, ${most})`,
    () => true,
    (model, pending) => {
      const batch = [...pending.ready(queue)].slice(0, most);
      if (batch.length === 0) return;
      model.sent += 1;
      for (const { uid, snapshot } of batch) {
        const object = known(model, uid);
        expect(isOut(object), `${uid} would be in flight twice`).toBe(false);
        expect(object.awaited, `${uid} was sent before the watch had shown our write`).toBeUndefined();
        expect(object.needed, `${uid} is sent as ${queue}`).toBe(queue === "work");
        // After a reset of the store nothing is known before its first version is shown.
        if (object.shown !== undefined) expect(snapshot.metadata.resourceVersion).toBe(String(object.shown));
        object.flight = model.sent;
        object.owed = false;
      }
      const uids = batch.map(({ uid }) => uid);
      const versions = batch.map(({ snapshot }) => Number(snapshot.metadata.resourceVersion));
      model.flights.set(model.sent, { queue, uids, versions, isOfThePast: false });
      pending.start(uids, model.sent, model.nowMs);
    },
  );

const settled = (outcomes: readonly Outcome[], afterSeconds: number): Command =>
  command(
    `settle(${outcomes.join(", ")}, ${afterSeconds} s)`,
    ({ flights }) => flights.size > 0,
    (model, pending) => {
      const [flight] = model.flights.keys();
      if (flight !== undefined) settle(model, pending, flight, outcomes, afterSeconds);
    },
  );

const passed = (ms: number): Command =>
  command(
    `pass(${ms} ms)`,
    () => true,
    (model, pending) => pass(model, pending, ms),
  );

const woken = (uid: string): Command =>
  command(
    `wake(${uid})`,
    () => true,
    (model, pending) => {
      const object = model.objects.get(uid);
      if (object?.isMet === true) object.owed = true;
      pending.requeue(uid, model.nowMs);
    },
  );

const lookedAt = (uid: string): Command =>
  command(
    `look(${uid})`,
    ({ objects }) => objects.has(uid),
    (model, pending) => {
      const { stored } = known(model, uid);
      const isFresh = known(model, uid).shown === stored.version;
      if (isFresh)
        pending.requestResync(
          buildKey(stored.version, uid),
          toObserved(uid, stored).snapshot,
          model.nowMs,
          0,
        );
    },
  );

const givenUp = (queue: Queue): Command =>
  command(
    `give up(${queue})`,
    () => true,
    (model, pending) => {
      const [first] = pending.ready(queue);
      if (first === undefined) return;
      pending.giveUp(first.uid, model.nowMs);
      // A resync that no event can carry counts as not made.
      if (queue === "look") known(model, first.uid).owed = false;
    },
  );

/**
 * The store is reset: its current content is listed, in versions that cannot be compared with earlier ones.
 */
const restarted: Command = command(
  "restart",
  () => true,
  (model, pending) => {
    pending.restarted();
    for (const invocation of model.flights.values()) invocation.isOfThePast = true;
    for (const [uid, object] of model.objects) {
      object.awaited = undefined;
      if (object.shown === undefined) continue;
      object.shown = undefined;
      object.unseen = [];
      showNewest(model, pending, uid);
    }
  },
);

const uid = fc.constantFrom(...UIDS);
const queue = fc.constantFrom(...QUEUES);
const outcome = fc.constantFrom<Outcome>(
  "changed",
  "changed-quietly",
  "retry",
  "unchanged",
  "failed",
  "lost",
  "refused",
);
const commands: readonly fc.Arbitrary<Command>[] = [
  fc.tuple(uid, fc.boolean(), fc.constantFrom("x", "y")).map((values) => written(...values)),
  ...Array(4).fill(uid.map(shown)),
  fc.tuple(uid, fc.integer({ min: 1, max: 3 })).map((values) => shownAgain(...values)),
  uid.map(deleted),
  fc.tuple(queue, fc.integer({ min: 1, max: 4 })).map((values) => sent(...values)),
  ...Array(3).fill(fc.constant(sent("work", 4))),
  ...Array(2).fill(fc.constant(sent("look", 4))),
  fc
    .tuple(fc.array(outcome, { minLength: 1, maxLength: 4 }), fc.constantFrom(0, 1, 30, 600, 9_999))
    .map((values) => settled(...values)),
  fc.constantFrom(1, 300, 1_000, 5_000, 20_000, 60_000, 600_000).map(passed),
  uid.map(woken),
  uid.map(lookedAt),
  queue.map(givenUp),
  fc.constant(restarted),
];

test("whatever happens, no object is in flight twice or forgotten, and deleted ones leave nothing", () => {
  const property = fc.property(
    fc.commands([...commands], { maxCommands: 120, size: "max" }),
    fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
    (steps, draws) => {
      const random = (): number => draws.next().value ?? 0;
      const looks = { fingerprint: () => "", againSeconds: [20, 60], whenRelatedChange: true } as const;
      const pending = createPending({ rechecks: { resync: looks } }, random);
      const model = createModel();
      fc.modelRun(() => ({ model, real: pending }), steps);
      succeeds(model, pending);
      vanishes(model, pending);
    },
  );
  // biome-ignore lint/nursery/noFloatingPromises: a property that is synchronous is asserted synchronously
  fc.assert(property, { seed: SEED, numRuns: 400 });
});

/**
 * Checks that the public state agrees with the model: whatever is needed is ready, in flight, or has a time.
 */
function agrees(model: Model, pending: Pending): void {
  const objects = [...model.objects].filter(([uid]) => pending.has(uid));
  const met = [...model.objects.values()].filter(({ shown }) => shown !== undefined);
  const ready = Object.fromEntries(
    QUEUES.map((each) => [each, [...pending.ready(each)].map((object) => object.uid)]),
  );
  const [work = [], look = []] = QUEUES.map((each) => ready[each]);
  expect(pending.counts()).toEqual({
    objects: met.length,
    needed: met.filter(({ needed }) => needed).length,
    inFlight: met.filter(isOut).length,
    due: { work: work.length, look: look.length },
  });
  expect(objects).toHaveLength(met.length);
  expect(QUEUES.map((each) => pending.queue(each).ready)).toEqual([work.length, look.length]);
  expect(new Set([...work, ...look]).size).toBe(work.length + look.length);
  for (const uid of [...work, ...look]) expect(isOut(known(model, uid)), `${uid} is ready`).toBe(false);
  const nextMs = pending.nextMs();
  for (const [index, { owed, needed, ...object }] of met.entries())
    if (owed && !needed && !isOut({ ...object, owed, needed }) && nextMs === undefined)
      expect(look, "a look is owed, and nothing is scheduled").toContain(objects[index]?.[0]);
  const waits = met.some(
    (object, index) =>
      (object.lostUntilMs !== undefined || object.awaited !== undefined || object.needed) &&
      object.flight === undefined &&
      !work.includes(objects[index]?.[0] ?? ""),
  );
  if (waits) expect(nextMs, "something waits, and nothing is scheduled").toBeDefined();
  if (nextMs !== undefined) expect(nextMs - model.nowMs).toBeLessThanOrEqual(LONGEST_WAIT_MS);
}

/** Checks that nothing is needed once everything that is sent succeeds and is shown. */
function succeeds(model: Model, pending: Pending): void {
  for (let round = 0; round < 60; round += 1) {
    for (const invocation of model.flights.keys()) settle(model, pending, invocation, ["changed"], 0);
    for (const [uid, { unseen }] of model.objects) if (unseen.length > 0) showNewest(model, pending, uid);
    for (const each of QUEUES) sent(each, 4).run(model, pending);
    if (model.flights.size === 0) pass(model, pending, 60_000);
    agrees(model, pending);
  }
  expect([...model.objects].filter(([, { needed }]) => needed)).toEqual([]);
  expect([...model.objects].filter(([, { owed, isMet }]) => owed && isMet)).toEqual([]);
  expect(pending.counts()).toMatchObject({ needed: 0, inFlight: 0 });
  expect([...model.objects.values()].filter(({ stored }) => stored.needsWork)).toEqual([]);
}

function vanishes(model: Model, pending: Pending): void {
  for (const uid of model.objects.keys()) pending.deleted(uid);
  expect(pending.nextMs()).toBeUndefined();
  expect(pending.counts()).toEqual({ objects: 0, needed: 0, inFlight: 0, due: { work: 0, look: 0 } });
  expect([pending.nextMs(), ...QUEUES.map((each) => pending.queue(each).ready)]).toEqual([undefined, 0, 0]);
}

function settle(
  model: Model,
  pending: Pending,
  invocation: number,
  outcomes: readonly Outcome[],
  afterSeconds: number,
): void {
  const modelled = model.flights.get(invocation);
  if (modelled === undefined) return;
  model.flights.delete(invocation);
  for (const [uid, left] of model.left) if (left === invocation) model.left.delete(uid);
  const settlements = modelled.uids.map((uid, index) => {
    const outcome = outcomes[index % outcomes.length] ?? "failed";
    const object = model.objects.get(uid);
    if (object?.flight !== invocation) return FAILED;
    object.flight = undefined;
    if (["retry", "failed", "lost", "refused"].includes(outcome)) object.owed = true;
    return settleOne(model, uid, object, outcome, afterSeconds, modelled.isOfThePast, modelled.queue);
  });
  pending.settle(invocation, settlements, model.nowMs);
}

const FAILED: Settlement = { kind: "failed", settleMs: 0 };

function settleOne(
  model: Model,
  uid: string,
  object: Modelled,
  outcome: Outcome,
  afterSeconds: number,
  isOfThePast: boolean,
  queue: Queue,
): Settlement {
  switch (outcome) {
    case "changed": {
      const { version, fingerprint } = store(model, uid, false, "ours");
      if (!isOfThePast) object.awaited = version;
      // An ended history says nothing about what is shown now.
      if (queue === "work" && !isOfThePast) object.needed = false;
      return buildReportSettlement({
        outcome: "changed",
        resourceVersion: String(version),
        seen: fingerprint,
      });
    }
    case "changed-quietly":
      return buildReportSettlement({ outcome: "changed" });
    case "retry":
      return buildReportSettlement({ outcome: "retry", afterSeconds });
    case "unchanged":
      return buildReportSettlement({});
    case "failed":
      return FAILED;
    case "lost":
      object.lostUntilMs = model.nowMs + 10_000;
      return { kind: "failed", settleMs: 10_000 };
    case "refused":
      return { kind: "refused" };
  }
}

/** Lets time pass from one due event to the next, and makes the requested reads. */
function pass(model: Model, pending: Pending, ms: number): void {
  const untilMs = model.nowMs + ms;
  for (let nextMs = pending.nextMs(); nextMs !== undefined && nextMs <= untilMs; nextMs = pending.nextMs()) {
    model.nowMs = Math.max(model.nowMs, nextMs);
    land(model);
    const reads = pending.advance(model.nowMs);
    for (const { uid } of reads) showNewest(model, pending, uid);
  }
  model.nowMs = untilMs;
  land(model);
  pending.advance(untilMs);
}

function land({ objects, nowMs }: Model): void {
  for (const object of objects.values()) {
    if ((object.lostUntilMs ?? Number.POSITIVE_INFINITY) <= nowMs) object.lostUntilMs = undefined;
  }
}

function showNewest(model: Model, pending: Pending, uid: string): void {
  const object = known(model, uid);
  object.unseen = [];
  showVersion(model, uid, object, object.stored);
  pending.applied(toObserved(uid, object.stored), buildKey(object.stored.version, uid), model.nowMs);
}

function livingOf(model: Model, invocation: number): number {
  return [...model.objects.values()].filter((object) => object.flight === invocation).length;
}

function known(model: Model, uid: string): Modelled {
  const object = model.objects.get(uid);
  if (object === undefined) throw new Error(`${uid} is not there any more`);
  return object;
}

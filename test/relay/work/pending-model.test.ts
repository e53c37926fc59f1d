import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createPending, type Pending, type Queue, type Settlement } from "#relay/work/pending.ts";
import {
  emptyModel,
  isOut,
  type Model,
  type Modelled,
  observed,
  showTo,
  store,
} from "#test/relay/work/model.ts";
import { keyOf, reportOf } from "#test/relay/work/shown.ts";
import { SEED } from "#test/seed.ts";

const QUEUES: readonly Queue[] = ["work", "look"];
const UIDS = ["a", "b", "c", "d"];

/** The longest that anything waits: what a report asks for at most, and a while to go along with others. */
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
      showTo(model, uid, object, next);
      pending.applied(observed(uid, next), keyOf(next.version, uid), model.nowMs);
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
        observed(uid, { version, needsWork: true, fingerprint: "old" }),
        keyOf(version, uid),
        model.nowMs,
      );
    },
  );

const deleted = (uid: string): Command =>
  command(
    `delete(${uid})`,
    ({ objects }) => objects.get(uid)?.shown !== undefined,
    (model, pending) => {
      const flight = model.objects.get(uid)?.flight;
      model.objects.delete(uid);
      if (flight !== undefined) model.left.set(uid, flight);
      const isLast = flight !== undefined && livingOf(model, flight) === 0;
      expect(pending.deleted(uid)).toBe(isLast ? flight : undefined);
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
        // Of a store that was set back nothing is known before its first version is shown.
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
      pending.wake(uid, model.nowMs);
    },
  );

const lookedAt = (uid: string): Command =>
  command(
    `look(${uid})`,
    ({ objects }) => objects.has(uid),
    (model, pending) => {
      const { stored } = known(model, uid);
      const isFresh = known(model, uid).shown === stored.version;
      if (isFresh) pending.look(keyOf(stored.version, uid), observed(uid, stored).snapshot, model.nowMs, 0);
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
      // A look at what no event can carry is a look that never was.
      if (queue === "look") known(model, first.uid).owed = false;
    },
  );

/** The store is set back: what is there by now is listed, in versions that compare with nothing before. */
const restarted: Command = command(
  "restart",
  () => true,
  (model, pending) => {
    pending.restarted();
    for (const flight of model.flights.values()) flight.isOfThePast = true;
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

test("whatever happens, no object is in flight twice, none is forgotten, and what is gone leaves nothing", () => {
  const property = fc.property(
    fc.commands([...commands], { maxCommands: 120, size: "max" }),
    fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
    (steps, draws) => {
      const random = (): number => draws.next().value ?? 0;
      const looks = { fingerprint: () => "", againSeconds: [20, 60], whenRelatedChange: true } as const;
      const pending = createPending({ looks }, random);
      const model = emptyModel();
      fc.modelRun(() => ({ model, real: pending }), steps);
      succeeds(model, pending);
      vanishes(model, pending);
    },
  );
  // biome-ignore lint/nursery/noFloatingPromises: a property that is synchronous is asserted synchronously
  fc.assert(property, { seed: SEED, numRuns: 400 });
}, 60_000);

/** What is said from outside agrees with the model; what is needed is ready, in flight, or has a time. */
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

/** Once everything that is sent succeeds and is shown, nothing is needed any more. */
function succeeds(model: Model, pending: Pending): void {
  for (let round = 0; round < 60; round += 1) {
    for (const flight of model.flights.keys()) settle(model, pending, flight, ["changed"], 0);
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
  flight: number,
  outcomes: readonly Outcome[],
  afterSeconds: number,
): void {
  const modelled = model.flights.get(flight);
  if (modelled === undefined) return;
  model.flights.delete(flight);
  for (const [uid, left] of model.left) if (left === flight) model.left.delete(uid);
  const settlements = modelled.uids.map((uid, index) => {
    const outcome = outcomes[index % outcomes.length] ?? "failed";
    const object = model.objects.get(uid);
    if (object?.flight !== flight) return FAILED;
    object.flight = undefined;
    if (["retry", "failed", "lost", "refused"].includes(outcome)) object.owed = true;
    return settleOne(model, uid, object, outcome, afterSeconds, modelled.isOfThePast, modelled.queue);
  });
  pending.settle(flight, settlements, model.nowMs);
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
      // A history that has ended says nothing of what is shown by now.
      if (queue === "work" && !isOfThePast) object.needed = false;
      return reportOf({ outcome: "changed", resourceVersion: String(version), seen: fingerprint });
    }
    case "changed-quietly":
      return reportOf({ outcome: "changed" });
    case "retry":
      return reportOf({ outcome: "retry", afterSeconds });
    case "unchanged":
      return reportOf({});
    case "failed":
      return FAILED;
    case "lost":
      object.lostUntilMs = model.nowMs + 10_000;
      return { kind: "failed", settleMs: 10_000 };
    case "refused":
      return { kind: "refused" };
  }
}

/** Time goes by, from one thing that is due to the next; what is to be read is read. */
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
  showTo(model, uid, object, object.stored);
  pending.applied(observed(uid, object.stored), keyOf(object.stored.version, uid), model.nowMs);
}

function livingOf(model: Model, flight: number): number {
  return [...model.objects.values()].filter((object) => object.flight === flight).length;
}

function known(model: Model, uid: string): Modelled {
  const object = model.objects.get(uid);
  if (object === undefined) throw new Error(`${uid} is not there any more`);
  return object;
}

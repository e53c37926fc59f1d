import { describe, expect, test } from "vitest";
import type { Write } from "#core/decision.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";
import { MAX_TURNS } from "#core/service/orphans/plan-marks.ts";
import {
  createWorld,
  lose,
  MINUTE_MS,
  namespace,
  type OrphansUnderTest,
  type Pass,
  pass,
  serve,
  uidOf,
} from "#test/core/service/orphans/world.ts";

/** A Service that lives, and one that is gone while its load balancer is there. */
function orphaned(isDeleting = true): OrphansUnderTest {
  const world = createWorld(isDeleting);
  serve(world, "lives");
  serve(world, "gone");
  lose(world, "gone");
  return world;
}

const later = (world: OrphansUnderTest, minutes: number): void => {
  world.nowMs += minutes * MINUTE_MS;
};
const done = ({ done }: OrphansUnderTest) => done.map(({ what }) => what);
const because = (found: Awaited<ReturnType<typeof pass>>) =>
  `${found.decision?.kind} ${found.decision?.because.code}`;

describe("a load balancer whose Service is of another type, with nothing of ours on it", () => {
  test("is told, and deleted when its turn has come", async () => {
    const world = orphaned();
    serve(world, "plain");
    lose(world, "gone");
    world.held.delete("lb-gone");
    world.plain.add("default/plain");
    expect((await pass(world)).told?.named).toMatchObject([{ id: "lb-plain", code: "ServiceGone" }]);
    later(world, 16);
    await pass(world);
    expect(done(world)).toContain("Delete lb-plain");
  });

  test("proves of no other one that cloud and Services belong together", async () => {
    const world = createWorld();
    serve(world, "plain");
    world.plain.add("default/plain");
    serve(world, "gone");
    lose(world, "gone");
    expect(because(await pass(world))).toBe("skip DeletionUnproven");
    expect(done(world)).toEqual([]);
  });

  test("is left alone where the Service is of type LoadBalancer again by then", async () => {
    const world = orphaned();
    serve(world, "plain");
    world.plain.add("default/plain");
    await pass(world);
    later(world, 16);
    const listed = await pass(world, { steps: 0 });
    expect(listed.decision).toBeUndefined();
    world.plain.delete("default/plain");
    await pass(world);
    expect(done(world)).not.toContain("Delete lb-plain");
  });
});

describe("a load balancer whose Service has gone", () => {
  test("is told, and left alone, where nothing else is configured", async () => {
    const world = orphaned(false);
    for (const minutes of [0, 10, 16, 60]) {
      later(world, minutes);
      const found = await pass(world);
      expect(because(found)).toBe("unchanged UpToDate");
      expect(found.told).toEqual({
        count: 1,
        named: [
          {
            kind: "load balancer",
            id: "lb-gone",
            name: "lb-gone",
            service: "default/gone",
            code: "ServiceGone",
          },
        ],
      });
    }
    expect(done(world)).toEqual([]);
  });

  test("is marked by one audit, and deleted by another when its turn has come, with what belongs to it", async () => {
    const world = orphaned();
    expect(because(await pass(world))).toBe("unchanged UpToDate");
    expect(done(world)).toEqual(["Mark lb-gone"]);
    later(world, 10);
    const between = await pass(world);
    expect(between.told?.named[0]).toMatchObject({
      since: "2026-03-01T12:00:00.000Z",
      deletedFrom: "2026-03-01T12:15:00.000Z",
    });
    expect(done(world)).toHaveLength(1);
    later(world, 10);
    expect(because(await pass(world))).toBe("unchanged UpToDate");
    expect(done(world).slice(1)).toEqual(["Delete lb-gone", "DeletePart lb-gone"]);
    expect([...world.held.keys()]).toEqual(["lb-lives"]);
    expect((await pass(world)).told).toEqual({ count: 0, named: [] });
  });

  test("gets another turn at the end where nobody came by in its own", async () => {
    const world = orphaned();
    await pass(world);
    later(world, 31);
    await pass(world);
    expect(done(world)).toEqual(["Mark lb-gone", "Mark lb-gone"]);
    expect((await pass(world)).told?.named[0]).toMatchObject({
      since: "2026-03-01T12:00:00.000Z",
      deletedFrom: "2026-03-01T12:46:00.000Z",
    });
  });

  test("keeps its Service's name from nobody: one that is there again takes the mark off, whatever its uid", async () => {
    for (const uid of [uidOf("gone"), "another"]) {
      const world = orphaned();
      await pass(world);
      world.services.set("default/gone", uid);
      later(world, 20);
      expect(because(await pass(world))).toBe("unchanged UpToDate");
      expect(done(world)).toEqual(["Mark lb-gone", "Unmark lb-gone"]);
    }
  });

  test("is not deleted where its Service is there again in the moment before", async () => {
    const world = orphaned();
    await pass(world);
    later(world, 20);
    world.services.set("default/gone", uidOf("gone"));
    world.unlisted.add("default/gone");
    const found = await pass(world, { count: { kind: "count", count: 1 } });
    expect(found.decision).toMatchObject({
      kind: "retry",
      because: { message: "Delete lb-gone: it is there" },
    });
    expect(world.held.has("lb-gone")).toBe(true);
  });

  const doubts: readonly [given: string, differs: (world: OrphansUnderTest) => Pass, because: string][] = [
    [
      "a Service is left out of the list",
      (world) => {
        serve(world, "unseen");
        world.unlisted.add("default/unseen");
        return {};
      },
      "retry ServicesIncomplete",
    ],
    [
      "the API server counts more",
      () => ({ count: { kind: "count", count: 7 } }),
      "retry ServicesIncomplete",
    ],
    [
      "it cannot be said how many there are",
      () => ({ count: { kind: "unknown", message: "?" } }),
      "retry ServicesIncomplete",
    ],
    [
      "no load balancer of a Service that lives is there",
      (world) => {
        world.held.delete("lb-lives");
        return {};
      },
      "skip DeletionUnproven",
    ],
    [
      "the load balancer of one that lives was made for another uid",
      (world) => {
        world.services.set("default/lives", "another");
        return {};
      },
      "skip DeletionUnproven",
    ],
  ];

  test.each(doubts)("is neither marked nor deleted where %s", async (_given, differs, expected) => {
    const first = orphaned();
    const doubt = differs(first);
    expect(because(await pass(first, doubt))).toBe(expected);
    expect(done(first)).toEqual([]);
    const second = orphaned();
    await pass(second);
    later(second, 20);
    const doubtAgain = differs(second);
    expect(because(await pass(second, doubtAgain))).toBe(expected);
    expect(done(second)).toEqual(["Mark lb-gone"]);
  });

  test.each<[given: string, options: Pass, because: string, afterSeconds: number]>([
    ["the event has no Services", { related: {} }, "ServicesUnknown", 5],
    [
      "the cloud did not answer",
      { answer: { kind: "error", code: "Throttled", message: "x" } },
      "Throttled",
      60,
    ],
    ["the cloud's answer is none", { answer: { kind: "observed", state: { holdings: 7 } } }, "Invalid", 60],
  ])("is not known of where %s", async (_given, options, code, afterSeconds) => {
    const { decision, told } = await pass(orphaned(), options);
    expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
    expect(told).toBeUndefined();
  });

  test("is not looked for on a cloud that has none, or of which nothing is loaded", async () => {
    for (const provider of ["plain", "unknown", "toString"]) {
      const { decision, told } = await pass(orphaned(), { provider });
      expect(decision).toMatchObject({ kind: "unchanged", because: { code: "NotSupported" } });
      expect(told).toBeUndefined();
    }
  });

  test("of several one goes in each turn, those that were found first before others, and what is left of one last", async () => {
    const world = orphaned();
    for (const name of ["b", "c"]) {
      serve(world, name);
      lose(world, name);
    }
    world.held.set("part", { service: "default/old", uid: "", isPart: true, parts: 1 });
    for (let minute = 0; minute < 100; minute += 10) {
      await pass(world);
      // Whoever comes in the same minute once more finds nothing more to delete.
      await pass(world);
      later(world, 10);
    }
    const deleted = world.done.filter(({ what }) => /^Delete(Part)? (?!lb-\w+$)|^Delete /.test(what));
    expect(deleted.map(({ what }) => what)).toEqual([
      "Delete lb-b",
      "Delete lb-c",
      "Delete lb-gone",
      "DeletePart part",
    ]);
    const times = deleted.map(({ atMs }) => atMs);
    expect(new Set(times).size).toBe(times.length);
    expect([...world.held.keys()]).toEqual(["lb-lives"]);
  });

  test("is deleted in the audit that marks another one", async () => {
    const world = orphaned();
    await pass(world);
    serve(world, "new");
    lose(world, "new");
    later(world, 20);
    await pass(world);
    expect(done(world)).toEqual(["Mark lb-gone", "Mark lb-new", "Delete lb-gone", "DeletePart lb-gone"]);
  });

  test("waits without a mark where others have all the turns", async () => {
    const world = orphaned();
    for (let index = 0; index < MAX_TURNS + 5; index += 1) {
      serve(world, `n-${index}`);
      lose(world, `n-${index}`);
    }
    const marks = () => [...world.held.values()].filter(({ mark }) => mark !== undefined).length;
    const first = await pass(world);
    expect(first.told?.count).toBe(MAX_TURNS + 6);
    expect(first.told?.named).toHaveLength(20);
    expect(marks()).toBe(MAX_TURNS);
    await pass(world);
    expect(marks()).toBe(MAX_TURNS);
  });

  test("whose name another Service has by now is told, and left alone", async () => {
    const world = orphaned();
    world.services.set("default/gone", "another");
    // What is left beside may be the new one's.
    world.held.set("part", { service: "default/gone", uid: "", isPart: true, parts: 1 });
    world.held.set("shared", { service: "default/lives", uid: "", isPart: true, parts: 1 });
    for (const minutes of [0, 20, 20]) {
      later(world, minutes);
      const { told } = await pass(world);
      expect(told).toEqual({ count: 1, named: [expect.objectContaining({ code: "ServiceReplaced" })] });
    }
    expect(done(world)).toEqual([]);
  });

  const steps: readonly [step: LoadBalancerStep, expected: object][] = [
    [
      { kind: "wait", because: { code: "Busy", message: "x" }, afterSeconds: 5 },
      { kind: "retry", because: { code: "Busy" }, afterSeconds: 60 },
    ],
    [
      { kind: "refused", problem: { code: "DeletionProtected", detail: "turn it off" } },
      { kind: "skip", because: { code: "DeletionProtected", message: "load balancer lb-gone: turn it off" } },
    ],
    [{ kind: "elsewhere" }, { kind: "unchanged" }],
  ];
  test.each(steps)("that goes not at once: %j", async (step, expected) => {
    const world = orphaned();
    await pass(world);
    later(world, 20);
    world.step = step;
    expect((await pass(world)).decision).toMatchObject(expected);
  });

  test("that cannot be marked is told of, and the others are", async () => {
    const world = orphaned();
    world.failing.set("Mark", { code: "Denied", message: "no" });
    expect((await pass(world)).decision).toMatchObject({ kind: "skip", because: { code: "Denied" } });
  });

  test.each([
    ["Unavailable", "retry"],
    ["Denied", "skip"],
    ["Invalid", "skip"],
  ] as const)("whose deletion the cloud refuses as %s comes to a %s", (code, kind) => {
    const controller = createOrphanController({});
    const action = {
      on: "cloud",
      capability: "loadBalancers",
      action: "Delete",
      target: "lb",
      parameters: {},
      precondition: { uid: "u", deleting: false },
    } as const;
    const subject = { object: namespace, answer: undefined, hint: undefined };
    const refused = (answer: Parameters<NonNullable<typeof controller.refused>>[1]["answer"]) =>
      controller.refused?.(subject, { action, answer }, {} as never);
    expect(refused({ kind: "error", code, message: "no" })).toMatchObject({
      kind,
      because: { code, message: "Delete lb: no" },
    });
    expect(refused({ kind: "conflict", message: "no" })).toMatchObject({
      kind: "retry",
      because: { code: "Conflict" },
    });
  });

  test("what was done for others is no part of what is known of it, and without an answer nothing is", async () => {
    const controller = createOrphanController({});
    const write = { on: "cluster" } as unknown as Write;
    const done = { write, result: undefined };
    const unanswered = { object: namespace, answer: undefined, hint: undefined };
    expect(controller.fold?.(unanswered, done)).toBe(unanswered);
    const world = orphaned();
    const state = { holdings: [] };
    const { decision } = await pass(world, { answer: { kind: "observed", state, done: [done] } });
    expect(decision).toMatchObject({ kind: "unchanged" });
    expect((await pass(world, { isUnanswered: true })).decision).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });
});

import { describe, expect, test } from "vitest";
import type { Write } from "#core/decision.ts";
import type { LoadBalancerStep } from "#core/service/model.ts";
import { createOrphanController } from "#core/service/orphans/controller.ts";
import { MAX_TURNS } from "#core/service/orphans/decide.ts";
import {
  createWorld,
  formatUid,
  MINUTE_MS,
  namespace,
  type OrphansUnderTest,
  type Pass,
  removeService,
  runPass,
  serve,
} from "#test/core/service/orphans/world.ts";

/** An existing Service, and a missing one whose load balancer exists. */
function orphaned(isDeleting = true): OrphansUnderTest {
  const world = createWorld(isDeleting);
  serve(world, "lives");
  serve(world, "gone");
  removeService(world, "gone");
  return world;
}

const later = (world: OrphansUnderTest, minutes: number): void => {
  world.nowMs += minutes * MINUTE_MS;
};
const done = ({ done }: OrphansUnderTest) => done.map(({ what }) => what);
const because = (found: Awaited<ReturnType<typeof runPass>>) =>
  `${found.decision?.kind} ${found.decision?.because.code}`;

describe("a load balancer whose Service has another type, without our marks", () => {
  test("is reported, and deleted in its turn", async () => {
    const world = orphaned();
    serve(world, "plain");
    removeService(world, "gone");
    world.held.delete("lb-gone");
    world.plain.add("default/plain");
    expect((await runPass(world)).told?.named).toMatchObject([{ id: "lb-plain", code: "ServiceGone" }]);
    later(world, 16);
    await runPass(world);
    expect(done(world)).toContain("Delete lb-plain");
  });

  test("is no visibility probe for others", async () => {
    const world = createWorld();
    serve(world, "plain");
    world.plain.add("default/plain");
    serve(world, "gone");
    removeService(world, "gone");
    expect(because(await runPass(world))).toBe("skip DeletionUnproven");
    expect(done(world)).toEqual([]);
  });

  test("stays if the Service is of type LoadBalancer again", async () => {
    const world = orphaned();
    serve(world, "plain");
    world.plain.add("default/plain");
    await runPass(world);
    later(world, 16);
    const listed = await runPass(world, { steps: 0 });
    expect(listed.decision).toBeUndefined();
    world.plain.delete("default/plain");
    await runPass(world);
    expect(done(world)).not.toContain("Delete lb-plain");
  });
});

describe("a load balancer whose Service is gone", () => {
  test.each<[string, readonly unknown[]]>([
    ["an invalid Service", [{ key: "default/other", uid: "other", isPlain: false }]],
    [
      "the same Service twice",
      [
        { key: "default/lives", uid: formatUid("lives") },
        { key: "default/lives", uid: formatUid("lives") },
      ],
    ],
  ])("stays unmarked if %s fills the place of a missing one in the event", async (_, more) => {
    const world = orphaned();
    const items = [{ key: "default/lives", uid: formatUid("lives") }, ...more];
    const related = { services: { resourceVersion: "1", items } };
    const count = { kind: "count", count: items.length } as const;
    expect(because(await runPass(world, { related, count }))).toBe("retry ServicesIncomplete");
    expect(done(world)).toEqual([]);
  });

  test("is only reported by default", async () => {
    const world = orphaned(false);
    for (const minutes of [0, 10, 16, 60]) {
      later(world, minutes);
      const found = await runPass(world);
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

  test("is marked by one audit, and deleted with its parts by another one in its turn", async () => {
    const world = orphaned();
    expect(because(await runPass(world))).toBe("unchanged UpToDate");
    expect(done(world)).toEqual(["Mark lb-gone"]);
    later(world, 10);
    const between = await runPass(world);
    expect(between.told?.named[0]).toMatchObject({
      since: "2026-03-01T12:00:00.000Z",
      deletedFrom: "2026-03-01T12:15:00.000Z",
    });
    expect(done(world)).toHaveLength(1);
    later(world, 10);
    expect(because(await runPass(world))).toBe("unchanged UpToDate");
    expect(done(world).slice(1)).toEqual(["Delete lb-gone", "DeletePart lb-gone"]);
    expect([...world.held.keys()]).toEqual(["lb-lives"]);
    expect((await runPass(world)).told).toEqual({ count: 0, named: [] });
  });

  test("gets another turn at the end if no audit ran in its own", async () => {
    const world = orphaned();
    await runPass(world);
    later(world, 31);
    await runPass(world);
    expect(done(world)).toEqual(["Mark lb-gone", "Mark lb-gone"]);
    expect((await runPass(world)).told?.named[0]).toMatchObject({
      since: "2026-03-01T12:00:00.000Z",
      deletedFrom: "2026-03-01T12:46:00.000Z",
    });
  });

  test("loses its mark when a Service of its name exists again, whatever its uid", async () => {
    for (const uid of [formatUid("gone"), "another"]) {
      const world = orphaned();
      await runPass(world);
      world.services.set("default/gone", uid);
      later(world, 20);
      expect(because(await runPass(world))).toBe("unchanged UpToDate");
      expect(done(world)).toEqual(["Mark lb-gone", "Unmark lb-gone"]);
    }
  });

  test("is not deleted if its Service reappears right before", async () => {
    const world = orphaned();
    await runPass(world);
    later(world, 20);
    world.services.set("default/gone", formatUid("gone"));
    world.unlisted.add("default/gone");
    const found = await runPass(world, { count: { kind: "count", count: 1 } });
    expect(found.decision).toMatchObject({
      kind: "retry",
      because: { message: "Delete lb-gone: it is there" },
    });
    expect(world.held.has("lb-gone")).toBe(true);
  });

  const warnings: readonly [given: string, differs: (world: OrphansUnderTest) => Pass, because: string][] = [
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
      "the API server counts more Services than it lists",
      () => ({ count: { kind: "count", count: 7 } }),
      "retry ServicesIncomplete",
    ],
    [
      "the number of Services is unknown",
      () => ({ count: { kind: "unknown", message: "?" } }),
      "retry ServicesIncomplete",
    ],
    [
      "the cloud shows no load balancer of an existing Service",
      (world) => {
        world.held.delete("lb-lives");
        return {};
      },
      "skip DeletionUnproven",
    ],
    [
      "the load balancer of an existing Service was made for another UID",
      (world) => {
        world.services.set("default/lives", "another");
        return {};
      },
      "skip DeletionUnproven",
    ],
  ];

  test.each(warnings)("is neither marked nor deleted if %s", async (_given, differs, expected) => {
    const first = orphaned();
    const doubt = differs(first);
    expect(because(await runPass(first, doubt))).toBe(expected);
    expect(done(first)).toEqual([]);
    const second = orphaned();
    await runPass(second);
    later(second, 20);
    const doubtAgain = differs(second);
    expect(because(await runPass(second, doubtAgain))).toBe(expected);
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
    [
      "the cloud's answer is invalid",
      { answer: { kind: "observed", state: { holdings: 7 } } },
      "Invalid",
      60,
    ],
  ])("is unknown if %s", async (_given, options, code, afterSeconds) => {
    const { decision, told } = await runPass(orphaned(), options);
    expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
    expect(told).toBeUndefined();
  });

  test("is not searched on a cloud without orphans, or without a loaded model", async () => {
    for (const provider of ["plain", "unknown", "toString"]) {
      const { decision, told } = await runPass(orphaned(), { provider });
      expect(decision).toMatchObject({ kind: "unchanged", because: { code: "NotSupported" } });
      expect(told).toBeUndefined();
    }
  });

  test("is one per turn: the first found first, parts last", async () => {
    const world = orphaned();
    for (const name of ["b", "c"]) {
      serve(world, name);
      removeService(world, name);
    }
    world.held.set("part", { service: "default/old", uid: "", isPart: true, parts: 1 });
    for (let minute = 0; minute < 100; minute += 10) {
      await runPass(world);
      // A second audit in this minute finds nothing more to delete.
      await runPass(world);
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
    await runPass(world);
    serve(world, "new");
    removeService(world, "new");
    later(world, 20);
    await runPass(world);
    expect(done(world)).toEqual(["Mark lb-gone", "Mark lb-new", "Delete lb-gone", "DeletePart lb-gone"]);
  });

  test("waits without a mark if all turns are taken", async () => {
    const world = orphaned();
    for (let index = 0; index < MAX_TURNS + 5; index += 1) {
      serve(world, `n-${index}`);
      removeService(world, `n-${index}`);
    }
    const marks = () => [...world.held.values()].filter(({ mark }) => mark !== undefined).length;
    const first = await runPass(world);
    expect(first.told?.count).toBe(MAX_TURNS + 6);
    expect(first.told?.named).toHaveLength(20);
    expect(marks()).toBe(MAX_TURNS);
    await runPass(world);
    expect(marks()).toBe(MAX_TURNS);
  });

  test("gets a turn before those that missed theirs, however many they are", async () => {
    const world = orphaned();
    for (let index = 1; index < MAX_TURNS; index += 1) {
      serve(world, `n-${index}`);
      removeService(world, `n-${index}`);
    }
    await runPass(world);
    later(world, 15 * (MAX_TURNS + 2));
    serve(world, "new");
    removeService(world, "new");
    await runPass(world);
    expect(done(world).slice(MAX_TURNS)).toEqual([
      "Mark lb-new",
      "Mark lb-gone",
      ...Array.from({ length: MAX_TURNS - 1 }, (_, index) => `Mark lb-n-${index + 1}`)
        .toSorted()
        .slice(0, -1),
    ]);
  });

  test("whose name another Service has now is only reported", async () => {
    const world = orphaned();
    world.services.set("default/gone", "another");
    // Remaining parts may belong to the new Service.
    world.held.set("part", { service: "default/gone", uid: "", isPart: true, parts: 1 });
    world.held.set("shared", { service: "default/lives", uid: "", isPart: true, parts: 1 });
    for (const minutes of [0, 20, 20]) {
      later(world, minutes);
      const { told } = await runPass(world);
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
      { kind: "refused", issue: { code: "DeletionProtected", detail: "turn it off" } },
      { kind: "skip", because: { code: "DeletionProtected", message: "load balancer lb-gone: turn it off" } },
    ],
    [{ kind: "foreign" }, { kind: "unchanged" }],
  ];
  test.each(steps)("that takes time to delete: %j", async (step, expected) => {
    const world = orphaned();
    await runPass(world);
    later(world, 20);
    world.step = step;
    expect((await runPass(world)).decision).toMatchObject(expected);
  });

  test("that cannot be marked is reported, and the others are marked", async () => {
    const world = orphaned();
    world.failing.set("Mark", { code: "Denied", message: "no" });
    expect((await runPass(world)).decision).toMatchObject({ kind: "skip", because: { code: "Denied" } });
  });

  test.each([
    ["Unavailable", "retry"],
    ["Denied", "skip"],
    ["Invalid", "skip"],
  ] as const)("whose deletion the cloud rejects as %s leads to a %s", (code, kind) => {
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
    const refused = (answer: Parameters<NonNullable<typeof controller.decideRejected>>[1]["answer"]) =>
      controller.decideRejected?.(subject, { action, answer }, {} as never);
    expect(refused({ kind: "error", code, message: "no" })).toMatchObject({
      kind,
      because: { code, message: "Delete lb: no" },
    });
    expect(refused({ kind: "conflict", message: "no" })).toMatchObject({
      kind: "retry",
      because: { code: "Conflict" },
    });
  });

  test("is not changed by actions for others, and without an answer nothing is known", async () => {
    const controller = createOrphanController({});
    const write = { on: "cluster" } as unknown as Write;
    const done = { write, result: undefined };
    const unanswered = { object: namespace, answer: undefined, hint: undefined };
    expect(controller.applyResult?.(unanswered, done)).toBe(unanswered);
    const world = orphaned();
    const state = { holdings: [] };
    const { decision } = await runPass(world, { answer: { kind: "observed", state, done: [done] } });
    expect(decision).toMatchObject({ kind: "unchanged" });
    expect((await runPass(world, { isUnanswered: true })).decision).toMatchObject({
      kind: "retry",
      because: { code: "Unavailable" },
    });
  });
});

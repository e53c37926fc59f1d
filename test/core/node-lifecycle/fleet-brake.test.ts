import { describe, expect, test } from "vitest";
import {
  admit,
  describeFleetBrakeHold,
  getMaxClusters,
  resetFleetBrake,
  selectCountedDeletions,
} from "#core/node-lifecycle/fleet-brake.ts";
import {
  createFleetRecord,
  type FleetDeletion,
  type FleetRecord,
  formatFleetRecord,
  MAX_FLEET_CHARACTERS,
  MAX_FLEET_DELETIONS,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";
import {
  buildFoundAnswer,
  buildLifecycleNode,
  buildNotFoundAnswer,
  getTime,
  START,
} from "#test/core/node-lifecycle/builders.ts";
import { createFleetStore } from "#test/core/node-lifecycle/fleet-store.ts";
import { createWorld } from "#test/core/node-lifecycle/world.ts";

/** Deletions in clusters, by number and age in seconds. */
const deletions = (
  ...of: readonly (readonly [cluster: string, count: number, ago: number])[]
): FleetDeletion[] =>
  of.flatMap(([cluster, count, ago]) =>
    Array.from({ length: count }, (_, number) => ({
      cluster,
      uid: `${cluster}-${ago}-${number}`,
      at: getTime(-ago).toISOString(),
    })),
  );

const recordOf = (of: readonly FleetDeletion[], more: Partial<FleetRecord> = {}): FleetRecord => ({
  ...createFleetRecord(),
  deletions: [...of],
  ...more,
});

const claimOf = (count: number, cluster = "tenant-a") => ({
  cluster,
  now: START,
  deletions: Array.from({ length: count }, (_, number) => ({ uid: `uid-${number}`, counted: true })),
});

describe("the fleet brake", () => {
  test.each<[string, FleetDeletion[], number, number | undefined, number, string | undefined]>([
    ["the twentieth deletion in the fleet", deletions(["b", 19, 10]), 1, undefined, 1, undefined],
    ["the twenty-first deletion in the fleet", deletions(["b", 20, 10]), 1, undefined, 0, "Deletions"],
    ["five deletions at a time with room for two", deletions(["b", 18, 10]), 5, undefined, 2, "Deletions"],
    ["deletions of two clusters together", deletions(["b", 11, 10]), 10, undefined, 9, "Deletions"],
    ["deletions up to one cluster's share", deletions(["tenant-a", 10, 10]), 1, undefined, 1, undefined],
    ["a deletion beyond one cluster's share", deletions(["tenant-a", 11, 10]), 1, undefined, 0, undefined],
    [
      "deletions beyond one cluster's share, next to another cluster's",
      deletions(["tenant-a", 11, 1], ["b", 9, 1]),
      9,
      2,
      0,
      undefined,
    ],
    ["a deletion in a third cluster", deletions(["b", 1, 0], ["c", 1, 599]), 1, undefined, 1, undefined],
    [
      "a deletion in a fourth cluster",
      deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]),
      1,
      undefined,
      0,
      "Clusters",
    ],
    [
      "a deletion in a fourth of 199 clusters",
      deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]),
      1,
      199,
      0,
      "Clusters",
    ],
    [
      "a deletion in a fourth of 200 clusters",
      deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]),
      1,
      200,
      1,
      undefined,
    ],
    [
      "a second deletion in one of three clusters",
      deletions(["tenant-a", 1, 0], ["c", 1, 5], ["d", 1, 9]),
      2,
      3,
      2,
      undefined,
    ],
    // A deletion may be carried out a minute later, and its writer's clock may be a minute ahead.
    [
      "a deletion after twenty that are nearly twelve minutes old",
      deletions(["b", 20, 719]),
      1,
      undefined,
      0,
      "Deletions",
    ],
    [
      "a deletion after twenty that are twelve minutes old",
      deletions(["b", 20, 720]),
      1,
      undefined,
      1,
      undefined,
    ],
    [
      "a deletion after twenty of a clock that is ahead",
      deletions(["b", 20, -500]),
      1,
      undefined,
      0,
      "Deletions",
    ],
  ])("$0: allows $4, exceeded limit: $5", (_, before, claimed, clusters, granted, limit) => {
    const record = recordOf(before, clusters === undefined ? {} : { clusters });
    const admission = admit(record, claimOf(claimed));
    expect([admission.granted.length, admission.brake?.limit]).toEqual([granted, limit]);
    expect(admission.next?.brake).toEqual(admission.brake);
    const { next } = admission;
    const read = next && readFleetRecord(formatFleetRecord(next));
    expect(read).toEqual(next && { kind: "record", record: next });
  });

  test("one cluster's forged claims hold that cluster alone, and only until they no longer count", () => {
    const forged = admit(createFleetRecord(), claimOf(50));
    expect([forged.granted.length, forged.hold?.code, forged.brake]).toEqual([
      11,
      "FleetShareUsed",
      undefined,
    ]);
    expect(forged.hold?.message).toContain("39 more wait");
    const record = forged.next as FleetRecord;
    const others = admit(record, claimOf(3, "tenant-b"));
    expect([others.granted.length, others.hold]).toEqual([3, undefined]);
    expect(admit(record, claimOf(60)).brake).toBeUndefined();
    const later = admit(record, {
      cluster: "tenant-a",
      now: getTime(721),
      deletions: [{ uid: "next", counted: true }],
    });
    expect([later.granted, later.hold]).toEqual([["next"], undefined]);
  });

  test("stays engaged and allows no unproven deletion, however much time has passed", () => {
    const pulled = admit(recordOf(deletions(["b", 20, 10])), claimOf(3)).next as FleetRecord;
    expect(pulled.brake).toEqual({
      since: START.toISOString(),
      limit: "Deletions",
      cluster: "tenant-a",
      deletions: 20,
      clusters: 1,
      waiting: 3,
    });
    const expected = { uid: "uid-9", counted: false };
    const later = { cluster: "tenant-z", now: getTime(1e6), deletions: [...claimOf(1).deletions, expected] };
    const { granted, hold, brake, next } = admit(pulled, later);
    expect([granted, hold?.code, brake, next]).toEqual([[], "FleetBrakeEngaged", pulled.brake, undefined]);
  });

  test("does not count deletions that the autoscaler announced, and writes nothing for them", () => {
    const record = recordOf(deletions(["b", 20, 10]));
    const announced = { ...claimOf(0), deletions: [{ uid: "uid-1", counted: false }] };
    const { granted, hold, brake, next } = admit(record, announced);
    expect([granted, hold, brake, next]).toEqual([["uid-1"], undefined, undefined, undefined]);
  });

  test("counts a repeated claim of a deletion once, from the repetition on", () => {
    const first = admit(recordOf([]), { ...claimOf(11), now: getTime(-400) }).next as FleetRecord;
    const again = admit(first, claimOf(11));
    expect([again.granted.length, again.hold, again.next?.deletions.length]).toEqual([11, undefined, 11]);
    expect(selectCountedDeletions(again.next as FleetRecord, getTime(500))).toHaveLength(11);
    // An equal uid in another cluster is another node.
    expect(admit(first, claimOf(10, "tenant-b")).brake?.limit).toBe("Deletions");
  });

  test("forgets deletions that no longer count, so that the record stays small", () => {
    const next = admit(recordOf(deletions(["b", 15, 800], ["c", 3, 100])), claimOf(1)).next as FleetRecord;
    expect(next.deletions.map(({ cluster }) => cluster)).toEqual(["c", "c", "c", "tenant-a"]);
    const longest = Array.from({ length: MAX_FLEET_DELETIONS }, (_, number) => ({
      cluster: "c".repeat(253),
      uid: `${number}`.padEnd(128, "u"),
      at: START.toISOString(),
    }));
    expect(formatFleetRecord(recordOf(longest)).length).toBeLessThan(MAX_FLEET_CHARACTERS / 4);
  });

  test.each([
    [undefined, 3],
    [1, 3],
    [150, 3],
    [199, 3],
    [200, 4],
    [800, 16],
  ])("in a fleet of %s clusters allows unproven deletions in at most %s", (clusters, most) => {
    expect(getMaxClusters(clusters)).toBe(most);
  });

  test("is released by a reset, which still counts deletions in progress", () => {
    const before = recordOf(deletions(["b", 3, 119], ["c", 3, 120]), { clusters: 500 });
    const { next } = admit(before, claimOf(11));
    const more = admit(next as FleetRecord, claimOf(4, "tenant-b")).next as FleetRecord;
    expect(more.brake?.limit).toBe("Deletions");
    const reset = resetFleetBrake(more, START);
    expect([reset.brake, reset.clusters, reset.deletions.length]).toEqual([undefined, 500, 17]);
    expect(resetFleetBrake(before, START, 800).clusters).toBe(800);
    expect(resetFleetBrake(createFleetRecord(), START)).toEqual({
      version: 1,
      written: START.toISOString(),
      deletions: [],
    });
  });

  test.each(["Deletions", "Clusters"] as const)(
    "explains why %s holds a node, without any cluster's name",
    (limit) => {
      const brake = {
        since: START.toISOString(),
        limit,
        cluster: "secret-name",
        deletions: 3,
        clusters: 2,
        waiting: 1,
      };
      const { code, message } = describeFleetBrakeHold(brake);
      expect(code).toBe("FleetBrakeEngaged");
      expect(message).toContain("brake --fleet --reset");
      expect(message).not.toContain("secret-name");
    },
  );
});

describe("the fleet record", () => {
  test("is empty if it was never written", () => {
    expect(readFleetRecord("")).toEqual({ kind: "record", record: createFleetRecord() });
  });

  test.each([
    ["text that is not JSON", "{{", "is not a JSON object", false],
    ["JSON that is not an object", "[1]", "is not a JSON object", false],
    ["a record of another version", '{"version":2}', "does not have version 1", true],
    [
      "a record with too many entries",
      JSON.stringify(recordOf(deletions(["a", 21, 1]))),
      "is not what was written",
      false,
    ],
    ["a record with an unknown key", '{"version":1,"more":1}', "is not what was written", false],
    ["a record with too many characters", " ".repeat(MAX_FLEET_CHARACTERS + 1), "characters", false],
  ])("rejects %s as unusable", (_, text, message, isForeign) => {
    const read = readFleetRecord(text);
    expect(read).toMatchObject({ kind: "unusable", isForeign });
    expect(read).toHaveProperty("message", expect.stringContaining(message));
  });
});

/** Ten nodes, of which two have been missing for a while: the cluster's own brake allows both deletions. */
function twoMissed(store: ReturnType<typeof createFleetStore>, answer = buildNotFoundAnswer("i-control")) {
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  const since = getTime(-900).toISOString();
  const nodes = numbers.map((number) => buildLifecycleNode(number, { since }));
  const world = createWorld(nodes, undefined, { cluster: "tenant-a", store });
  const answers = new Map(
    numbers.map((number) => [`uid-${number}`, number < 2 ? answer : buildFoundAnswer(number)]),
  );
  world.run({ now: getTime(-200), clock: "earlier" }, answers);
  return { world, run: (seconds: number) => world.run({ now: getTime(seconds), clock: "later" }, answers) };
}

describe("a node whose instance is not found", () => {
  test("is deleted and counted if the fleet brake allows it", () => {
    const store = createFleetStore();
    const { world, run } = twoMissed(store);
    run(0);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
    expect(store.record().deletions.map(({ cluster, uid }) => [cluster, uid])).toEqual([
      ["tenant-a", "uid-0"],
      ["tenant-a", "uid-1"],
    ]);
  });

  test("is held by the fleet brake, which does not engage its cluster's own brake", () => {
    const store = createFleetStore(recordOf(deletions(["b", 19, 10])));
    const { world, run } = twoMissed(store);
    const outcomes = run(0);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0"]);
    expect(outcomes.get("uid-1")).toMatchObject({
      kind: "retry",
      code: "FleetBrakeEngaged",
      afterSeconds: 60,
      events: [{ reason: "DeletionBrakePulled", code: "Fleet" }],
    });
    expect([world.state().brake, Object.keys(world.state().deletions)]).toEqual([undefined, ["uid-0"]]);
    expect(run(100).get("uid-1")?.code).toBe("FleetBrakeEngaged");
    store.write(formatFleetRecord(resetFleetBrake(store.record(), getTime(700))));
    run(700);
    run(800);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
  });

  test("is held if the record is unusable, and stays recorded as missing", () => {
    const store = createFleetStore();
    const { world, run } = twoMissed(store);
    store.write("rubbish");
    expect(run(0).get("uid-0")).toMatchObject({ code: "FleetBrakeUnusable", afterSeconds: 60 });
    expect([world.deleted, Object.keys(world.state().absences)]).toEqual([[], ["uid-0", "uid-1"]]);
  });

  test("is held after repeated conflicts with other actors, retried soon, without an Event", () => {
    const store = createFleetStore();
    const { world, run } = twoMissed({ ...store, swap: () => false });
    expect(run(0).get("uid-0")).toMatchObject({ code: "FleetBrakeContended", afterSeconds: 5, events: [] });
    expect(world.deleted).toEqual([]);
  });
});

test("a node with a terminated instance is deleted, whatever the fleet brake's state", () => {
  const store = createFleetStore();
  store.write("rubbish");
  const { world } = twoMissed(store, buildFoundAnswer(0, "terminated"));
  expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0"]);
});

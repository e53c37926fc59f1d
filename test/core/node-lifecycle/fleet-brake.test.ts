import { describe, expect, test } from "vitest";
import {
  admit,
  countedDeletions,
  holdOfFleetBrake,
  mostClusters,
  resetFleetBrake,
} from "#core/node-lifecycle/fleet-brake.ts";
import {
  emptyFleetRecord,
  type FleetDeletion,
  type FleetRecord,
  fleetRecordText,
  MAX_FLEET_CHARACTERS,
  MAX_FLEET_DELETIONS,
  readFleetRecord,
} from "#core/node-lifecycle/fleet-record.ts";
import { at, foundIn, lifecycleNode, notFound, START } from "#test/core/node-lifecycle/builders.ts";
import { fleetStore } from "#test/core/node-lifecycle/fleet-store.ts";
import { createWorld } from "#test/core/node-lifecycle/world.ts";

/** Deletions of clusters, so many of each and so many seconds ago. */
const deletions = (
  ...of: readonly (readonly [cluster: string, count: number, ago: number])[]
): FleetDeletion[] =>
  of.flatMap(([cluster, count, ago]) =>
    Array.from({ length: count }, (_, number) => ({
      cluster,
      uid: `${cluster}-${ago}-${number}`,
      at: at(-ago).toISOString(),
    })),
  );

const recordOf = (of: readonly FleetDeletion[], more: Partial<FleetRecord> = {}): FleetRecord => ({
  ...emptyFleetRecord(),
  deletions: [...of],
  ...more,
});

const claimOf = (count: number, cluster = "tenant-a") => ({
  cluster,
  now: START,
  deletions: Array.from({ length: count }, (_, number) => ({ uid: `uid-${number}`, counted: true })),
});

describe("the brake of the fleet", () => {
  test.each<[string, FleetDeletion[], number, number | undefined, number, string | undefined]>([
    ["the twentieth deletion", deletions(["b", 19, 10]), 1, undefined, 1, undefined],
    ["the twenty-first", deletions(["b", 20, 10]), 1, undefined, 0, "Deletions"],
    ["more at a time than there is room for", deletions(["b", 18, 10]), 5, undefined, 2, "Deletions"],
    ["two clusters", deletions(["b", 11, 10]), 10, undefined, 9, "Deletions"],
    ["as many as one cluster's share", deletions(["tenant-a", 10, 10]), 1, undefined, 1, undefined],
    ["what a cluster claims beyond its share", deletions(["tenant-a", 11, 10]), 1, undefined, 0, undefined],
    ["the same beside another's share", deletions(["tenant-a", 11, 1], ["b", 9, 1]), 9, 2, 0, undefined],
    ["the third cluster", deletions(["b", 1, 0], ["c", 1, 599]), 1, undefined, 1, undefined],
    ["the fourth cluster", deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]), 1, undefined, 0, "Clusters"],
    ["the fourth of 199", deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]), 1, 199, 0, "Clusters"],
    ["the fourth of 200", deletions(["b", 1, 0], ["c", 1, 5], ["d", 1, 9]), 1, 200, 1, undefined],
    [
      "a second one in a cluster of three",
      deletions(["tenant-a", 1, 0], ["c", 1, 5], ["d", 1, 9]),
      2,
      3,
      2,
      undefined,
    ],
    // One may be carried out a minute later, and was written by a clock that is a minute ahead.
    ["those of nearly twelve minutes ago", deletions(["b", 20, 719]), 1, undefined, 0, "Deletions"],
    ["those of twelve minutes ago", deletions(["b", 20, 720]), 1, undefined, 1, undefined],
    ["those of a clock that is ahead", deletions(["b", 20, -500]), 1, undefined, 0, "Deletions"],
  ])("%s", (_, before, claimed, clusters, granted, limit) => {
    const record = recordOf(before, clusters === undefined ? {} : { clusters });
    const admission = admit(record, claimOf(claimed));
    expect([admission.granted.length, admission.brake?.limit]).toEqual([granted, limit]);
    expect(admission.next?.brake).toEqual(admission.brake);
    const { next } = admission;
    const read = next && readFleetRecord(fleetRecordText(next));
    expect(read).toEqual(next && { kind: "record", record: next });
  });

  test("one cluster's forged claims hold that cluster alone, and only until they no longer count", () => {
    const forged = admit(emptyFleetRecord(), claimOf(50));
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
      now: at(721),
      deletions: [{ uid: "next", counted: true }],
    });
    expect([later.granted, later.hold]).toEqual([["next"], undefined]);
  });

  test("stays pulled, and lets nothing that nothing proves, whatever time has passed", () => {
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
    const later = { cluster: "tenant-z", now: at(1e6), deletions: [...claimOf(1).deletions, expected] };
    const { granted, hold, brake, next } = admit(pulled, later);
    expect([granted, hold?.code, brake, next]).toEqual([[], "FleetBrakeEngaged", pulled.brake, undefined]);
  });

  test("does not count what the autoscaler has announced, and writes nothing for it", () => {
    const record = recordOf(deletions(["b", 20, 10]));
    const announced = { ...claimOf(0), deletions: [{ uid: "uid-1", counted: false }] };
    const { granted, hold, brake, next } = admit(record, announced);
    expect([granted, hold, brake, next]).toEqual([["uid-1"], undefined, undefined, undefined]);
  });

  test("counts a deletion once that is claimed again, and from then on", () => {
    const first = admit(recordOf([]), { ...claimOf(11), now: at(-400) }).next as FleetRecord;
    const again = admit(first, claimOf(11));
    expect([again.granted.length, again.hold, again.next?.deletions.length]).toEqual([11, undefined, 11]);
    expect(countedDeletions(again.next as FleetRecord, at(500))).toHaveLength(11);
    // The same uid in another cluster is another node.
    expect(admit(first, claimOf(10, "tenant-b")).brake?.limit).toBe("Deletions");
  });

  test("forgets what no longer counts, so that the record stays small", () => {
    const next = admit(recordOf(deletions(["b", 15, 800], ["c", 3, 100])), claimOf(1)).next as FleetRecord;
    expect(next.deletions.map(({ cluster }) => cluster)).toEqual(["c", "c", "c", "tenant-a"]);
    const longest = Array.from({ length: MAX_FLEET_DELETIONS }, (_, number) => ({
      cluster: "c".repeat(253),
      uid: `${number}`.padEnd(128, "u"),
      at: START.toISOString(),
    }));
    expect(fleetRecordText(recordOf(longest)).length).toBeLessThan(MAX_FLEET_CHARACTERS / 4);
  });

  test.each([
    [undefined, 3],
    [1, 3],
    [150, 3],
    [199, 3],
    [200, 4],
    [800, 16],
  ])("of %s clusters it lets no more than %s have such deletions", (clusters, most) => {
    expect(mostClusters(clusters)).toBe(most);
  });

  test("is let go by a reset, which counts what may still be under way", () => {
    const before = recordOf(deletions(["b", 3, 119], ["c", 3, 120]), { clusters: 500 });
    const { next } = admit(before, claimOf(11));
    const more = admit(next as FleetRecord, claimOf(4, "tenant-b")).next as FleetRecord;
    expect(more.brake?.limit).toBe("Deletions");
    const reset = resetFleetBrake(more, START);
    expect([reset.brake, reset.clusters, reset.deletions.length]).toEqual([undefined, 500, 17]);
    expect(resetFleetBrake(before, START, 800).clusters).toBe(800);
    expect(resetFleetBrake(emptyFleetRecord(), START)).toEqual({
      version: 1,
      written: START.toISOString(),
      deletions: [],
    });
  });

  test.each(["Deletions", "Clusters"] as const)(
    "says why a node is held by %s, and no cluster's name",
    (limit) => {
      const brake = {
        since: START.toISOString(),
        limit,
        cluster: "secret-name",
        deletions: 3,
        clusters: 2,
        waiting: 1,
      };
      const { code, message } = holdOfFleetBrake(brake);
      expect(code).toBe("FleetBrakeEngaged");
      expect(message).toContain("brake --fleet --reset");
      expect(message).not.toContain("secret-name");
    },
  );
});

describe("a record", () => {
  test("that nothing was written to is empty", () => {
    expect(readFleetRecord("")).toEqual({ kind: "record", record: emptyFleetRecord() });
  });

  test.each([
    ["no JSON", "{{", "is no JSON object", false],
    ["another JSON", "[1]", "is no JSON object", false],
    ["another version", '{"version":2}', "is not of version 1", true],
    ["too many entries", JSON.stringify(recordOf(deletions(["a", 21, 1]))), "is not what was written", false],
    ["another key", '{"version":1,"more":1}', "is not what was written", false],
    ["too much", " ".repeat(MAX_FLEET_CHARACTERS + 1), "characters", false],
  ])("%s cannot be used", (_, text, message, isForeign) => {
    const read = readFleetRecord(text);
    expect(read).toMatchObject({ kind: "unusable", isForeign });
    expect(read).toHaveProperty("message", expect.stringContaining(message));
  });
});

/** Ten nodes, two of which were missed a while ago and still are: both may go by the cluster's own brake. */
function twoMissed(store: ReturnType<typeof fleetStore>, answer = notFound("i-control")) {
  const numbers = Array.from({ length: 10 }, (_, number) => number);
  const since = at(-900).toISOString();
  const nodes = numbers.map((number) => lifecycleNode(number, { since }));
  const world = createWorld(nodes, undefined, { cluster: "tenant-a", store });
  const answers = new Map(numbers.map((number) => [`uid-${number}`, number < 2 ? answer : foundIn(number)]));
  world.run({ now: at(-200), clock: "earlier" }, answers);
  return { world, run: (seconds: number) => world.run({ now: at(seconds), clock: "later" }, answers) };
}

describe("a node whose instance is missed", () => {
  test("goes where the fleet has room, and counts there", () => {
    const store = fleetStore();
    const { world, run } = twoMissed(store);
    run(0);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
    expect(store.record().deletions.map(({ cluster, uid }) => [cluster, uid])).toEqual([
      ["tenant-a", "uid-0"],
      ["tenant-a", "uid-1"],
    ]);
  });

  test("is held where there is none, and its cluster's own brake is not pulled by that", () => {
    const store = fleetStore(recordOf(deletions(["b", 19, 10])));
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
    store.write(fleetRecordText(resetFleetBrake(store.record(), at(700))));
    run(700);
    run(800);
    expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0", "uid-1"]);
  });

  test("is held where the record cannot be used, and goes on to be missed", () => {
    const store = fleetStore();
    const { world, run } = twoMissed(store);
    store.write("rubbish");
    expect(run(0).get("uid-0")).toMatchObject({ code: "FleetBrakeUnusable", afterSeconds: 60 });
    expect([world.deleted, Object.keys(world.state().absences)]).toEqual([[], ["uid-0", "uid-1"]]);
  });

  test("is held where others were always first, and tried again soon, and nobody is told", () => {
    const store = fleetStore();
    const { world, run } = twoMissed({ ...store, swap: () => false });
    expect(run(0).get("uid-0")).toMatchObject({ code: "FleetBrakeContended", afterSeconds: 5, events: [] });
    expect(world.deleted).toEqual([]);
  });
});

test("what the cloud shows as terminated goes, whatever the fleet's brake says", () => {
  const store = fleetStore();
  store.write("rubbish");
  const { world } = twoMissed(store, foundIn(0, "terminated"));
  expect(world.deleted.map(({ uid }) => uid)).toEqual(["uid-0"]);
});

import { describe, expect, test } from "vitest";
import { createFleetBrake, type RecordStore } from "#config/fleet-brake/fleet-brake.ts";
import { createMemoryRecord, createUnreadableRecord, openRecord } from "#config/fleet-brake/open-record.ts";
import { readFleetRecord } from "#core/node-lifecycle/fleet-record.ts";
import { openDeployedFleetBrake } from "#functions/parts/deployed-fleet-brake.ts";
import { buildClaim } from "#test/config/fleet-brake/record-contract.ts";

const { signal } = new AbortController();
const brakeOver = (store: RecordStore) => createFleetBrake({ store, random: () => 0 });

describe("the brake over a record", () => {
  test("says once that a claim has pulled it, and holds from then on", async () => {
    const brake = brakeOver(createMemoryRecord());
    await brake.claim(buildClaim("tenant-b", 10), signal);
    const first = await brake.claim(buildClaim("tenant-a", 11), signal);
    expect([first.granted.length, first.held?.code, first.pulled?.waiting]).toEqual([
      10,
      "FleetBrakeEngaged",
      1,
    ]);
    const second = await brake.claim(buildClaim("tenant-c", 1), signal);
    expect([second.granted, second.held?.code, second.pulled]).toEqual([[], "FleetBrakeEngaged", undefined]);
  });

  test("holds only the cluster that has used its share, and lets the others delete", async () => {
    const brake = brakeOver(createMemoryRecord());
    const { granted, held, pulled } = await brake.claim(buildClaim("tenant-a", 25), signal);
    expect([granted.length, held?.code, pulled]).toEqual([11, "FleetShareUsed", undefined]);
    const other = await brake.claim(buildClaim("tenant-b", 3), signal);
    expect([other.granted.length, other.held]).toEqual([3, undefined]);
  });

  test("a claim that lost the race starts again from the winner's record", async () => {
    const store = createMemoryRecord();
    let isFirst = true;
    const racing: RecordStore = {
      ...store,
      async swap(text, version, until) {
        if (isFirst) {
          isFirst = false;
          for (const [cluster, count] of [
            ["tenant-b", 11],
            ["tenant-c", 8],
          ] as const)
            await brakeOver(store).claim(buildClaim(cluster, count), until);
        }
        return store.swap(text, version, until);
      },
    };
    const { granted, held } = await brakeOver(racing).claim(buildClaim("tenant-a", 2), signal);
    expect([granted, held?.code]).toEqual([["uid-0"], "FleetBrakeEngaged"]);
  });

  test.each<[string, Partial<RecordStore>, string]>([
    ["that always loses to another writer", { swap: async () => false }, "FleetBrakeContended"],
    ["that cannot be read", { read: () => Promise.reject(new Error("ECONNRESET")) }, "FleetBrakeUnusable"],
    [
      "that is not known to be written",
      { swap: () => Promise.reject(new Error("time-out")) },
      "FleetBrakeUnusable",
    ],
    ["that is missing", { read: async () => ({ kind: "absent" }) }, "FleetBrakeUnusable"],
    [
      "that was edited",
      { read: async () => ({ kind: "stored", text: "{", version: "1" }) },
      "FleetBrakeUnusable",
    ],
    [
      "of another version",
      { read: async () => ({ kind: "stored", text: '{"version":2}', version: "1" }) },
      "FleetBrakeUnusable",
    ],
  ])("grants nothing with a record %s", async (_, difference, code) => {
    const { granted, held } = await brakeOver({ ...createMemoryRecord(), ...difference }).claim(
      buildClaim("tenant-a", 1),
      signal,
    );
    expect([granted, held?.code]).toEqual([[], code]);
    expect(held?.message).toMatch(/^the node is not deleted: .*memory/);
  });

  test("a write with a lost answer counts once when it is claimed again", async () => {
    const store = createMemoryRecord();
    let isLost = true;
    const losing: RecordStore = {
      ...store,
      async swap(text, version, until) {
        const written = await store.swap(text, version, until);
        if (!isLost) return written;
        isLost = false;
        throw new Error("the connection was lost");
      },
    };
    const brake = brakeOver(losing);
    expect((await brake.claim(buildClaim("tenant-a", 3), signal)).granted).toEqual([]);
    expect((await brake.claim(buildClaim("tenant-a", 3), signal)).granted).toHaveLength(3);
    const stored = await store.read(signal);
    const read = readFleetRecord(stored.kind === "stored" ? stored.text : "");
    expect(read).toMatchObject({ record: { deletions: [{}, {}, {}] } });
  });

  test("grants nothing after the invocation's time is up", async () => {
    const { granted, held } = await brakeOver(createMemoryRecord()).claim(
      buildClaim("tenant-a", 1),
      AbortSignal.abort(),
    );
    expect([granted, held?.code]).toEqual([[], "FleetBrakeContended"]);
  });
});

describe("a deployed function", () => {
  test.each([{}, { FLEET_BRAKE: "" }])("has no brake without FLEET_BRAKE", (environment) => {
    expect(openDeployedFleetBrake(environment)).toBeUndefined();
  });

  test.each(["memory", "kubernetes:system/fleet", "s3://bucket", "rubbish"])(
    "with %s as FLEET_BRAKE makes no unproven deletion",
    async (reference) => {
      const brake = openDeployedFleetBrake({ FLEET_BRAKE: reference });
      const answer = await brake?.claim(buildClaim("tenant-a", 1), signal);
      expect([answer?.granted, answer?.held?.code]).toEqual([[], "FleetBrakeUnusable"]);
      expect(answer?.held?.message).toContain(`FLEET_BRAKE says "${reference}", and takes s3://BUCKET/KEY`);
    },
  );
});

test("an invalid reference opens nothing", () => {
  expect([openRecord("rubbish"), openRecord("kubernetes:a/b")]).toEqual([undefined, undefined]);
  expect(openRecord("kubernetes:a/b", () => createUnreadableRecord("further"))?.name).toBe("further");
});

import { expect, test } from "vitest";
import {
  createFleetBrake,
  type FleetAnswer,
  type RecordStore,
  type StoredRecord,
} from "#config/fleet-brake/fleet-brake.ts";
import { createFleetRecord, formatFleetRecord, readFleetRecord } from "#core/node-lifecycle/fleet-record.ts";

/** Opens a test's own record, which does not exist yet unless it always does. */
export type OpenRecord = () => Promise<RecordStore>;

const { signal } = new AbortController();
const TEXT = formatFleetRecord(createFleetRecord());

type Stored = Extract<StoredRecord, { readonly kind: "stored" }>;

async function stored(store: RecordStore): Promise<Stored> {
  const read = await store.read(signal);
  if (read.kind === "absent") throw new Error(`there is no ${store.name}`);
  return read;
}

/** Tests of every record store; `isAlwaysThere` if the record cannot be missing. */
export function describeRecord(open: OpenRecord, { isAlwaysThere = false } = {}): void {
  test.skipIf(isAlwaysThere)("a missing record is created once, by the first writer", async () => {
    const store = await open();
    expect(await store.read(signal)).toEqual({ kind: "absent" });
    expect(await store.swap(TEXT, undefined, signal)).toBe(true);
    expect(await store.swap("other", undefined, signal)).toBe(false);
    expect((await stored(store)).text).toBe(TEXT);
  });

  test("of two writers that read the same record one writes, and the other changes nothing", async () => {
    const store = await made(open);
    const { version } = await stored(store);
    expect(await store.swap(`${TEXT} `, version, signal)).toBe(true);
    expect(await store.swap("other", version, signal)).toBe(false);
    const after = await stored(store);
    expect([after.text, after.version === version]).toEqual([`${TEXT} `, false]);
  });

  test("a replaced record with equal content is a different version", async () => {
    const store = await made(open);
    const { version, text } = await stored(store);
    expect(await store.swap(`${text} `, version, signal)).toBe(true);
    expect((await stored(store)).version).not.toBe(version);
  });

  test("without a record no unproven deletion is granted, and none is created", async () => {
    const store = await open();
    if (isAlwaysThere) return;
    const { granted, held } = await createFleetBrake({ store }).claim(buildClaim("tenant-a", 1), signal);
    expect([granted, held?.code]).toEqual([[], "FleetBrakeUnusable"]);
    expect(held?.message).toContain("brake --fleet --reset");
    expect(await store.read(signal)).toEqual({ kind: "absent" });
  });

  test("ten functions at once, for three clusters, are granted twenty deletions in total, in each of four rounds", async () => {
    const store = await made(open);
    const admitted: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_, number): Promise<FleetAnswer & { readonly cluster: string }> => {
          const cluster = `tenant-${number % 3}`;
          const claim = buildClaim(cluster, 2, `${round}-${number}`);
          return { ...(await createFleetBrake({ store }).claim(claim, signal)), cluster };
        }),
      );
      for (const { granted, cluster } of answers) admitted.push(...granted.map((uid) => `${cluster}/${uid}`));
    }
    const read = readFleetRecord((await stored(store)).text);
    if (read.kind === "unusable") throw new Error(read.message);
    expect(admitted).toHaveLength(20);
    expect(read.record.deletions.map(({ cluster, uid }) => `${cluster}/${uid}`).toSorted()).toEqual(
      admitted.toSorted(),
    );
    expect(read.record.brake?.limit).toBe("Deletions");
  });
}

/** A claim of so many deletions of a cluster. */
export function buildClaim(cluster: string, count: number, named = "uid") {
  const deletions = Array.from({ length: count }, (_, number) => ({
    uid: `${named}-${number}`,
    counted: true,
  }));
  return { cluster, deletions };
}

async function made(open: OpenRecord): Promise<RecordStore> {
  const store = await open();
  const read = await store.read(signal);
  if (read.kind === "absent") expect(await store.swap(TEXT, undefined, signal)).toBe(true);
  return store;
}

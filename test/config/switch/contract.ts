import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readStops } from "#config/switch/follow-stops.ts";
import { type StopChange, type StopEntry, type StopSwitch, stopIn } from "#config/switch/stops.ts";

/** A stop switch that the test owns. */
export interface OwnedSwitch {
  /** Opens it as one operator or process does. */
  open(): StopSwitch;
  /** Makes it unreadable until `mend`. */
  break(): Promise<void>;
  mend(): Promise<void>;
  /** Stores invalid content. */
  spoil(): Promise<void>;
  /** Writes a record of a later version; absent for switches without a single record. */
  later?(): Promise<void>;
  close(): Promise<void>;
}

const SIGNAL = new AbortController().signal;

const stop = (what: StopEntry["what"], cluster?: string): StopChange => ({
  kind: "stop",
  entry: { what, since: "2026-03-01T12:00:00.000Z", by: "ada@ops", ...(cluster ? { cluster } : {}) },
});
const resume = (what: StopEntry["what"], cluster?: string): StopChange => ({
  kind: "resume",
  name: { what, ...(cluster ? { cluster } : {}) },
});

/** The tests of every stop switch. */
export function describeSwitch(title: string, own: () => Promise<OwnedSwitch>): void {
  describe(`the stop switch as ${title}`, () => {
    let owned: OwnedSwitch;
    beforeEach(async () => {
      owned = await own();
    });
    afterEach(() => owned.close());

    const holds = async (): Promise<readonly string[]> =>
      (await owned.open().read(SIGNAL))
        .map(({ what, cluster }) => (cluster === undefined ? what : `${what} ${cluster}`))
        .toSorted();
    const failure = (promise: Promise<unknown>): Promise<string> =>
      promise.then(
        () => "none",
        (error: { readonly code: string }) => error.code,
      );

    test("reports no stop before the first one", async () => {
      expect(await holds()).toEqual([]);
    });

    test("reports stops with time and operator to another process, and no longer after a resume", async () => {
      await owned.open().change(stop("deletes"), SIGNAL);
      await owned.open().change(stop("writes", "blue.eu-1"), SIGNAL);
      expect(await holds()).toEqual(["deletes", "writes blue.eu-1"]);
      expect(await owned.open().read(SIGNAL)).toContainEqual({
        what: "deletes",
        since: "2026-03-01T12:00:00.000Z",
        by: "ada@ops",
      });
      await owned.open().change(resume("writes", "blue.eu-1"), SIGNAL);
      await owned.open().change(resume("writes", "blue.eu-1"), SIGNAL);
      expect(await holds()).toEqual(["deletes"]);
    });

    test("reports a cluster's stop to its reader, and all others if that is one request", async () => {
      const operator = owned.open();
      await operator.change(stop("deletes"), SIGNAL);
      await operator.change(stop("writes", "blue"), SIGNAL);
      const { readFor = async () => ({ stopped: await operator.read(SIGNAL), isAll: true }) } = operator;
      const asked = async (cluster: string) => {
        const { stopped, isAll } = await readFor(cluster, SIGNAL);
        return [stopIn(stopped, cluster), isAll];
      };
      expect(await asked("blue")).toEqual(["writes", true]);
      expect(await asked("green")).toEqual(["deletes", true]);
    });

    test("keeps the first word of what is stopped twice", async () => {
      await owned.open().change(stop("deletes"), SIGNAL);
      const again = stop("deletes");
      if (again.kind === "stop") again.entry.by = "another operator";
      await owned.open().change(again, SIGNAL);
      expect(await owned.open().read(SIGNAL)).toMatchObject([{ what: "deletes", by: "ada@ops" }]);
    });

    test("loses nothing of several operators at once", async () => {
      const clusters = ["a", "b", "c", "d", "e", "f"];
      await Promise.all(clusters.slice(3).map((name) => owned.open().change(stop("deletes", name), SIGNAL)));
      await Promise.all([
        ...clusters.slice(0, 3).map((name) => owned.open().change(stop("writes", name), SIGNAL)),
        ...clusters.slice(3).map((name) => owned.open().change(resume("deletes", name), SIGNAL)),
        owned.open().change(stop("deletes"), SIGNAL),
      ]);
      expect(await holds()).toEqual(["deletes", "writes a", "writes b", "writes c"]);
    });

    test("is unreadable during an outage, and as before after it", async () => {
      await owned.open().change(stop("deletes"), SIGNAL);
      await owned.break();
      expect(await failure(owned.open().read(SIGNAL))).toBe("Unreadable");
      await owned.mend();
      expect(await holds()).toEqual(["deletes"]);
    });

    test("is malformed with an invalid entry, and stops the most that this may mean", async () => {
      await owned.spoil();
      expect(await failure(owned.open().read(SIGNAL))).toBe("Malformed");
      const read = await readStops(owned.open(), [], SIGNAL);
      if (read.stopped.length > 0) expect(stopIn(read.stopped, "blue")).toBe("writes");
      expect(read.unreadable?.code).toBe("Malformed");
    });

    test("rejects a record of a later version, and leaves it unchanged", async () => {
      if (owned.later === undefined) return expect(owned.later).toBeUndefined();
      await owned.later();
      const codes = [
        await failure(owned.open().read(SIGNAL)),
        await failure(owned.open().change(stop("deletes"), SIGNAL)),
        await failure(owned.open().change({ ...stop("deletes"), anew: true } as StopChange, SIGNAL)),
      ];
      expect(codes).toEqual(["OtherVersion", "OtherVersion", "OtherVersion"]);
    });
  });
}

/** The tests of switches with a single record: invalid content is replaced only on request. */
export function describeRecord(title: string, own: () => Promise<OwnedSwitch>): void {
  test(`invalid content of ${title} is replaced on request only`, async () => {
    const owned = await own();
    await owned.spoil();
    await expect(owned.open().change(stop("deletes"), SIGNAL)).rejects.toMatchObject({ code: "Malformed" });
    await expect(owned.open().change(resume("deletes"), SIGNAL)).rejects.toMatchObject({ code: "Malformed" });
    await owned.open().change({ ...stop("deletes"), anew: true } as StopChange, SIGNAL);
    expect(await owned.open().read(SIGNAL)).toMatchObject([{ what: "deletes" }]);
    await owned.close();
  });
}

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readStops } from "#config/switch/follow-stops.ts";
import { type StopEntry, stopIn } from "#config/switch/stops.ts";
import type { StopChange, StopSwitch } from "#config/switch/switch.ts";

/** A switch whose owner the test is. */
export interface OwnedSwitch {
  /** As one operator or process opens it. */
  open(): StopSwitch;
  /** From now on nobody can read it, until `mend`. */
  break(): Promise<void>;
  mend(): Promise<void>;
  /** Puts there what nobody can mean. */
  spoil(): Promise<void>;
  /** Writes a record of a later version; a switch that has none of one piece leaves it out. */
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

/** What holds of every switch. */
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

    test("says that nothing is stopped before anything was", async () => {
      expect(await holds()).toEqual([]);
    });

    test("says what is stopped, since when and by whom, to another process, and no longer what was resumed", async () => {
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

    test("says it of one cluster to whoever asks for that, and of all others where that is one request", async () => {
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
      if (again.kind === "stop") again.entry.by = "somebody else";
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

    test("is unreadable while nobody answers, and as it was after that", async () => {
      await owned.open().change(stop("deletes"), SIGNAL);
      await owned.break();
      expect(await failure(owned.open().read(SIGNAL))).toBe("Unreadable");
      await owned.mend();
      expect(await holds()).toEqual(["deletes"]);
    });

    test("is malformed where it says what nobody can mean, and stops the most that this may mean", async () => {
      await owned.spoil();
      expect(await failure(owned.open().read(SIGNAL))).toBe("Malformed");
      const read = await readStops(owned.open(), [], SIGNAL);
      if (read.stopped.length > 0) expect(stopIn(read.stopped, "blue")).toBe("writes");
      expect(read.unreadable?.code).toBe("Malformed");
    });

    test("is of another version where a later one has written it, and is left alone", async () => {
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

/** Of switches that are one record: what nobody can mean is replaced where that is asked for, and not otherwise. */
export function describeRecord(title: string, own: () => Promise<OwnedSwitch>): void {
  test(`what nobody can mean of ${title} is replaced where that is asked for, and not otherwise`, async () => {
    const owned = await own();
    await owned.spoil();
    await expect(owned.open().change(stop("deletes"), SIGNAL)).rejects.toMatchObject({ code: "Malformed" });
    await expect(owned.open().change(resume("deletes"), SIGNAL)).rejects.toMatchObject({ code: "Malformed" });
    await owned.open().change({ ...stop("deletes"), anew: true } as StopChange, SIGNAL);
    expect(await owned.open().read(SIGNAL)).toMatchObject([{ what: "deletes" }]);
    await owned.close();
  });
}

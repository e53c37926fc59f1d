import { describe, expect, test } from "vitest";
import { followStops } from "#config/switch/follow-stops.ts";
import { createStopReader } from "#config/switch/stop-reader.ts";
import { type StopEntry, type StopSwitch, StopSwitchError } from "#config/switch/stops.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

/** A switch in memory. */
function givenSwitch() {
  const given = {
    stopped: [] as readonly StopEntry[],
    state: "well" as "well" | "broken" | "garbage" | "silent",
    reads: 0,
    name: "switch",
    async read(signal: AbortSignal): Promise<readonly StopEntry[]> {
      given.reads += 1;
      if (given.state === "broken") throw new StopSwitchError("Unreadable", "switch", "is away");
      if (given.state === "garbage") throw new StopSwitchError("Malformed", "switch", "is garbage");
      // It ignores its signal.
      if (given.state === "silent") return new Promise(() => signal);
      return given.stopped;
    },
    change: () => Promise.reject(new Error("this test makes no changes")),
  };
  return given satisfies StopSwitch;
}

describe("a follower of a switch", () => {
  function follow(given: ReturnType<typeof givenSwitch>) {
    const clock = createManualClock();
    const ending = new AbortController();
    const lines: Readonly<Record<string, unknown>>[] = [];
    const log = (line: Readonly<Record<string, unknown>>): void => void lines.push(line);
    const stops = followStops({ stopSwitch: given, signal: ending.signal, clock, random: () => 1, log });
    const said = () =>
      lines.map(({ event, what = "", cluster = "", code = "" }) => `${event} ${what}${cluster}${code}`);
    return { clock, ending, stops, said, lines };
  }

  test("knows within five seconds what is stopped, and what no longer is", async () => {
    const given = givenSwitch();
    const { clock, ending, stops, said, lines } = follow(given);
    let changes = 0;
    stops.onChange(() => {
      changes += 1;
    });
    await stops.begun;
    expect(stops.get("blue")).toBeUndefined();
    given.stopped = [{ what: "deletes" }, { what: "writes", cluster: "green" }];
    await clock.advance(5_000);
    expect([stops.get("blue"), stops.get("green"), changes]).toEqual(["deletes", "writes", 2]);
    given.stopped = [{ what: "writes", cluster: "green" }];
    await clock.advance(5_000);
    expect([stops.get("blue"), stops.get("green")]).toEqual([undefined, "writes"]);
    expect(said()).toEqual(["Stopped deletes", "Stopped writesgreen", "Resumed deletes"]);
    expect(lines.map(({ message }) => message)).toEqual([
      "nothing is deleted in any cluster or its cloud until: serverless-ccm stop --resume --deletes --all",
      "nothing is written in the cluster or its cloud until: serverless-ccm stop --resume --writes --cluster green",
      undefined,
    ]);
    ending.abort();
    const { reads } = given;
    await clock.advance(60_000);
    expect(given.reads).toBe(reads);
  });

  test.each(["broken", "garbage", "silent"] as const)(
    "keeps the last known stops while the switch is %s, and allows no unproven deletion",
    async (state) => {
      const given = givenSwitch();
      given.stopped = [{ what: "deletes", cluster: "blue" }];
      const { clock, ending, stops, said } = follow(given);
      await stops.begun;
      given.stopped = [];
      given.state = state;
      await clock.advance(9_000);
      expect([stops.get("blue"), stops.get("green")]).toEqual(["deletes", "unproven"]);
      await clock.advance(60_000);
      expect(said().filter((line) => line.startsWith("StopSwitchUnreadable"))).toHaveLength(1);
      given.state = "well";
      await clock.advance(10_000);
      expect([stops.get("blue"), stops.get("green")]).toEqual([undefined, undefined]);
      expect(said().slice(-2)).toEqual(["Resumed deletesblue", "StopSwitchRead "]);
      ending.abort();
    },
  );

  test("allows no unproven deletion before the first read of the switch", async () => {
    const given = givenSwitch();
    given.state = "silent";
    const { clock, ending, stops } = follow(given);
    expect(stops.get("blue")).toBe("unproven");
    await clock.advance(4_000);
    await stops.begun;
    expect(stops.get("blue")).toBe("unproven");
    ending.abort();
  });

  test.each([
    ["on by an hour, as after a pause of the virtual machine", 3_600_000],
    ["back by an hour", -3_600_000],
  ])("allows no unproven deletion before the next read after the time of day stepped %s", async (_, byMs) => {
    const { clock, ending, stops } = follow(givenSwitch());
    await stops.begun;
    expect(stops.get("blue")).toBeUndefined();
    clock.step(byMs);
    expect(stops.get("blue")).toBe("unproven");
    await clock.advance(5_000);
    expect(stops.get("blue")).toBeUndefined();
    ending.abort();
  });

  test("treats its knowledge as stale after a sleep", async () => {
    const given = givenSwitch();
    const clock = createManualClock();
    let asleepMs = 0;
    const sleeping = { ...clock, now: () => clock.now() + asleepMs };
    const ending = new AbortController();
    const options = {
      stopSwitch: given,
      signal: ending.signal,
      clock: sleeping,
      random: () => 1,
      log: () => {},
    };
    const stops = followStops(options);
    await stops.begun;
    expect(stops.get("blue")).toBeUndefined();
    asleepMs = 60_000;
    expect(stops.get("blue")).toBe("unproven");
    await clock.advance(5_000);
    expect(stops.get("blue")).toBeUndefined();
    ending.abort();
  });
});

describe("a reader of a switch before a deletion", () => {
  function lookAt(given: ReturnType<typeof givenSwitch>) {
    let nowMs = 0;
    const lines: unknown[] = [];
    const look = createStopReader({
      stopSwitch: given,
      now: () => nowMs,
      log: (line) => lines.push(line["event"]),
      timeoutMs: 30,
    });
    return {
      look,
      lines,
      wait(ms: number): void {
        nowMs += ms;
      },
    };
  }

  test("reads it once in eight seconds, for any number of callers and clusters", async () => {
    const given = givenSwitch();
    const { look, wait } = lookAt(given);
    expect(await Promise.all([look("blue"), look("green"), look("blue")])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    given.stopped = [{ what: "deletes" }];
    wait(7_999);
    expect([await look("blue"), given.reads]).toEqual([undefined, 1]);
    wait(1);
    expect([await look("blue"), given.reads]).toEqual(["deletes", 2]);
  });

  test("reads an unreadable switch less and less often, but never less often than a readable one", async () => {
    const given = givenSwitch();
    given.state = "broken";
    const { look, wait } = lookAt(given);
    const readsAt: number[] = [];
    for (let seconds = 0; seconds < 32; seconds += 1) {
      const { reads } = given;
      await look("blue");
      if (given.reads > reads) readsAt.push(seconds);
      wait(1_000);
    }
    expect(readsAt).toEqual([0, 1, 3, 7, 15, 23, 31]);
  });

  test("reads each cluster's stops if there are more than one request returns, and all if it must know all", async () => {
    const asked: string[] = [];
    const stopSwitch: StopSwitch = {
      ...givenSwitch(),
      async read() {
        asked.push("all");
        return [{ what: "writes", cluster: "green" }];
      },
      async readFor(cluster) {
        asked.push(cluster);
        return { stopped: cluster === "green" ? [{ what: "writes", cluster }] : [], isAll: false };
      },
    };
    const clusters = ["blue", "green", "red", "blue", "green", "red"];
    const one = createStopReader({ stopSwitch, now: () => 0, log: () => {} });
    expect(await Promise.all(clusters.map(one))).toEqual([
      ...[undefined, "writes", undefined],
      ...[undefined, "writes", undefined],
    ]);
    expect(asked).toEqual(["blue", "green", "red"]);
    asked.length = 0;
    const all = createStopReader({ stopSwitch, now: () => 0, log: () => {}, readsAll: true });
    expect(await Promise.all(clusters.map(all))).toEqual([
      ...[undefined, "writes", undefined],
      ...[undefined, "writes", undefined],
    ]);
    expect(asked).toEqual(["all"]);
  });

  test("sees a stop after the clock was set back, and then reads once in eight seconds again", async () => {
    const given = givenSwitch();
    const { look, wait } = lookAt(given);
    wait(3_600_000);
    expect(await look("blue")).toBeUndefined();
    wait(-3_600_000);
    given.stopped = [{ what: "writes", cluster: "blue" }];
    expect(await look("blue")).toBe("writes");
    const { reads } = given;
    wait(7_000);
    expect(await look("blue")).toBe("writes");
    expect(given.reads).toBe(reads);
  });

  test.each(["broken", "garbage", "silent"] as const)(
    "keeps the last known stops while it is %s",
    async (state) => {
      const given = givenSwitch();
      given.stopped = [{ what: "deletes", cluster: "blue" }];
      const { look, lines, wait } = lookAt(given);
      await look("blue");
      given.state = state;
      given.stopped = [];
      wait(3_600_000);
      expect([await look("blue"), await look("green")]).toEqual(["deletes", "unproven"]);
      given.state = "well";
      wait(1_000);
      expect([await look("blue"), await look("green")]).toEqual([undefined, undefined]);
      expect(lines).toContain("StopSwitchUnreadable");
    },
  );

  test("ignores a read that was frozen with an earlier invocation", async () => {
    const given = givenSwitch();
    given.state = "silent";
    const { look, wait } = lookAt(given);
    const frozen = look("blue");
    wait(600_000);
    given.state = "well";
    given.stopped = [{ what: "writes" }];
    expect(await look("blue")).toBe("writes");
    await frozen;
    expect([await look("blue"), given.reads]).toEqual(["writes", 2]);
  });
});

import { describe, expect, test } from "vitest";
import { StopSwitchError } from "#config/switch/error.ts";
import { followStops } from "#config/switch/follow-stops.ts";
import { createStopLook } from "#config/switch/look.ts";
import type { StopEntry } from "#config/switch/stops.ts";
import type { StopSwitch } from "#config/switch/switch.ts";
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
      // It pays no heed to its signal.
      if (given.state === "silent") return new Promise(() => signal);
      return given.stopped;
    },
    change: () => Promise.reject(new Error("nobody changes it here")),
  };
  return given satisfies StopSwitch;
}

describe("whoever follows a switch", () => {
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
    expect(stops.of("blue")).toBeUndefined();
    given.stopped = [{ what: "deletes" }, { what: "writes", cluster: "green" }];
    await clock.advance(5_000);
    expect([stops.of("blue"), stops.of("green"), changes]).toEqual(["deletes", "writes", 2]);
    given.stopped = [{ what: "writes", cluster: "green" }];
    await clock.advance(5_000);
    expect([stops.of("blue"), stops.of("green")]).toEqual([undefined, "writes"]);
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
    "goes on with what it knew while the switch is %s, and lets nothing unproven go",
    async (state) => {
      const given = givenSwitch();
      given.stopped = [{ what: "deletes", cluster: "blue" }];
      const { clock, ending, stops, said } = follow(given);
      await stops.begun;
      given.stopped = [];
      given.state = state;
      await clock.advance(9_000);
      expect([stops.of("blue"), stops.of("green")]).toEqual(["deletes", "unproven"]);
      await clock.advance(60_000);
      expect(said().filter((line) => line.startsWith("StopSwitchUnreadable"))).toHaveLength(1);
      given.state = "well";
      await clock.advance(10_000);
      expect([stops.of("blue"), stops.of("green")]).toEqual([undefined, undefined]);
      expect(said().slice(-2)).toEqual(["Resumed deletesblue", "StopSwitchRead "]);
      ending.abort();
    },
  );

  test("lets nothing unproven go before the switch was read for the first time", async () => {
    const given = givenSwitch();
    given.state = "silent";
    const { clock, ending, stops } = follow(given);
    expect(stops.of("blue")).toBe("unproven");
    await clock.advance(4_000);
    await stops.begun;
    expect(stops.of("blue")).toBe("unproven");
    ending.abort();
  });

  test.each([
    ["on by an hour, as after a pause of the virtual machine", 3_600_000],
    ["back by an hour", -3_600_000],
  ])(
    "lets nothing unproven go before the next look where the time of day has stepped %s",
    async (_, byMs) => {
      const { clock, ending, stops } = follow(givenSwitch());
      await stops.begun;
      expect(stops.of("blue")).toBeUndefined();
      clock.step(byMs);
      expect(stops.of("blue")).toBe("unproven");
      await clock.advance(5_000);
      expect(stops.of("blue")).toBeUndefined();
      ending.abort();
    },
  );

  test("knows after a sleep that it knows nothing of now", async () => {
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
    expect(stops.of("blue")).toBeUndefined();
    asleepMs = 60_000;
    expect(stops.of("blue")).toBe("unproven");
    await clock.advance(5_000);
    expect(stops.of("blue")).toBeUndefined();
    ending.abort();
  });
});

describe("whoever looks at a switch before a deletion", () => {
  function lookAt(given: ReturnType<typeof givenSwitch>) {
    let nowMs = 0;
    const lines: unknown[] = [];
    const look = createStopLook({
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

  test("reads it once in eight seconds, however many ask, for however many clusters", async () => {
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

  test("reads less and less often what cannot be read, and never less often than what can", async () => {
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

  test("asks for each cluster where more is stopped than one request tells, and for all at once where it is to know all", async () => {
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
    const one = createStopLook({ stopSwitch, now: () => 0, log: () => {} });
    expect(await Promise.all(clusters.map(one))).toEqual([
      ...[undefined, "writes", undefined],
      ...[undefined, "writes", undefined],
    ]);
    expect(asked).toEqual(["blue", "green", "red"]);
    asked.length = 0;
    const all = createStopLook({ stopSwitch, now: () => 0, log: () => {}, readsAll: true });
    expect(await Promise.all(clusters.map(all))).toEqual([
      ...[undefined, "writes", undefined],
      ...[undefined, "writes", undefined],
    ]);
    expect(asked).toEqual(["all"]);
  });

  test.each(["broken", "garbage", "silent"] as const)(
    "goes on with what it knew while it is %s",
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

  test("does not take what a read brings that was frozen with an earlier invocation", async () => {
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

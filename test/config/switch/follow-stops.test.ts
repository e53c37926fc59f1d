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
    return { clock, ending, stops, said };
  }

  test("knows within five seconds what is stopped, and what no longer is", async () => {
    const given = givenSwitch();
    const { clock, ending, stops, said } = follow(given);
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

  test("reads it once in five seconds, however many ask", async () => {
    const given = givenSwitch();
    const { look, wait } = lookAt(given);
    expect(await Promise.all([look("blue"), look("blue"), look("blue")])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    given.stopped = [{ what: "deletes" }];
    wait(4_999);
    expect([await look("blue"), given.reads]).toEqual([undefined, 1]);
    wait(1);
    expect([await look("blue"), given.reads]).toEqual(["deletes", 2]);
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

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { startTimeLimit } from "#kube/client/time-limit.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a time limit", () => {
  const outer = new AbortController();
  test.each([
    { given: "nothing", happens: () => {}, reached: false, timedOut: false },
    { given: "its time", happens: () => vi.advanceTimersByTime(1_000), reached: true, timedOut: true },
    { given: "an outer signal", happens: () => outer.abort(), reached: true, timedOut: false },
  ])("after $given is reached: $reached, timed out: $timedOut", ({ happens, reached, timedOut }) => {
    const time = startTimeLimit(1_000, undefined, outer.signal);
    let heard = 0;
    time.onReached(() => {
      heard += 1;
    });
    happens();
    const signal = time.signal;
    expect([time.reached(), time.timedOut(), signal.aborted, heard]).toEqual([
      reached,
      timedOut,
      reached,
      reached ? 1 : 0,
    ]);
    time.end();
  });

  test("aborts a signal that was created before", () => {
    const time = startTimeLimit(1_000);
    const { signal } = time;
    vi.advanceTimersByTime(1_000);
    expect(signal.aborted).toBe(true);
  });

  test("says at once what listens too late, and nothing to what was taken back", () => {
    const time = startTimeLimit(1_000);
    const heard: string[] = [];
    time.onReached(() => heard.push("taken back"))();
    vi.advanceTimersByTime(1_000);
    time.onReached(() => heard.push("late"));
    expect(heard).toEqual(["late"]);
  });

  test("that has ended is reached by nothing any more", () => {
    const controller = new AbortController();
    const time = startTimeLimit(1_000, controller.signal);
    time.end();
    controller.abort();
    vi.advanceTimersByTime(2_000);
    expect(time.reached()).toBe(false);
  });
});

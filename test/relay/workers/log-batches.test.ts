import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ClusterState, createUnfollowedState } from "#relay/cluster-state.ts";
import { createLogBatches, type LogLine } from "#relay/workers/messages.ts";
import { tellStatus } from "#relay/workers/worker-host.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") }));
afterEach(() => void vi.useRealTimers());

describe("log lines", () => {
  function given(maxLines: number) {
    const batches: { readonly lines: readonly LogLine[]; readonly dropped: number }[] = [];
    const log = createLogBatches((lines, dropped) => batches.push({ lines, dropped }), maxLines);
    return { batches, log };
  }

  test("go together, each with the time at which it was written", async () => {
    const { batches, log } = given(10);
    log.add({ event: "One" });
    await vi.advanceTimersByTimeAsync(40);
    log.add({ event: "Two" });
    expect(batches).toEqual([]);
    await vi.advanceTimersByTimeAsync(60);
    const lines = [
      { time: "2026-01-01T00:00:00.000Z", event: "One" },
      { time: "2026-01-01T00:00:00.040Z", event: "Two" },
    ];
    expect(batches).toEqual([{ lines, dropped: 0 }]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches).toHaveLength(1);
  });

  test("beyond the limit are counted", async () => {
    const { batches, log } = given(2);
    for (let line = 0; line < 7; line += 1) log.add({ line });
    await vi.advanceTimersByTimeAsync(100);
    log.add({ line: 7 });
    await vi.advanceTimersByTimeAsync(100);
    expect(batches.map(({ lines, dropped }) => [lines.map(({ line }) => line), dropped])).toEqual([
      [[0, 1], 5],
      [[7], 0],
    ]);
  });

  test("go at once at the end, and none follows", async () => {
    const { batches, log } = given(2);
    log.add({ event: "Last" });
    log.close();
    log.add({ event: "Late" });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.flatMap(({ lines }) => lines.map(({ event }) => event))).toEqual(["Last"]);
  });
});

test("the status of clusters is sent when it changes, for the changed ones", async () => {
  const cluster = (name: string, objects: number): ClusterState => ({
    ...createUnfollowedState(name, { code: "None", message: "" }),
    objects,
  });
  let now = [cluster("blue", 1), cluster("red", 1)];
  const told: string[] = [];
  const status = tellStatus(
    () => now,
    (changed, gone) =>
      told.push(`${changed.map(({ name, objects }) => `${name} ${objects}`)} without ${gone}`),
  );
  await vi.advanceTimersByTimeAsync(1_000);
  now = [cluster("blue", 1), cluster("red", 2)];
  await vi.advanceTimersByTimeAsync(1_000);
  now = [cluster("red", 2)];
  status.look();
  status.stop();
  now = [];
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual(["blue 1,red 1 without ", "red 2 without ", " without blue"]);
});

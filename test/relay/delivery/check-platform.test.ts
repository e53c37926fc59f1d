import { afterEach, expect, test } from "vitest";
import type { ControllerName } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { checkPlatform, type PlatformCheck } from "#relay/delivery/check-platform.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

const MINUTE_MS = 60_000;
const denied: Reason = { code: "Denied", message: "function node: no" };
const missing: Reason = { code: "FunctionMissing", message: "function csr: not there" };

let check: PlatformCheck | undefined;
afterEach(() => check?.close());

function checked(
  controllers: readonly ControllerName[],
  faults: readonly (readonly [ControllerName, Reason])[] = [],
) {
  const clock = createManualClock();
  const world = {
    clock,
    controllers: [...controllers],
    faults: new Map(faults),
    asked: [] as ControllerName[],
    lines: [] as Readonly<Record<string, unknown>>[],
  };
  check = checkPlatform({
    dryRun: async (controller) => {
      world.asked.push(controller);
      return world.faults.get(controller);
    },
    controllers: () => world.controllers,
    log: (line) => world.lines.push(line),
    clock,
    random: () => 1,
  });
  return { ...world, check };
}

test("each function is checked once at the start, however many clusters need it", async () => {
  const { clock, asked, lines, check } = checked([
    "cloud-node-controller",
    "csr-approver",
    "cloud-node-controller",
  ]);
  expect(check.state()).toBeUndefined();
  await clock.advance(0);
  expect(asked).toEqual(["cloud-node-controller", "csr-approver"]);
  expect(check.state()).toEqual({ reachable: true, message: "the functions can be invoked" });
  expect(lines).toMatchObject([{ level: "info", event: "PlatformReady" }]);
});

test("nothing is checked before there is a cluster", async () => {
  const { clock, asked, controllers, check } = checked([]);
  await clock.advance(MINUTE_MS);
  expect([asked, check.state()]).toEqual([[], undefined]);
  controllers.push("cloud-node-controller");
  await clock.advance(MINUTE_MS);
  expect([asked, check.state()?.reachable]).toEqual([["cloud-node-controller"], true]);
});

test("each function's fault is reported in the state and in one log line, until the fault changes", async () => {
  const { clock, faults, lines, check, asked } = checked(
    ["cloud-node-controller", "csr-approver"],
    [
      ["cloud-node-controller", denied],
      ["csr-approver", missing],
    ],
  );
  await clock.advance(10 * MINUTE_MS);
  const message = "Denied: function node: no; FunctionMissing: function csr: not there";
  expect(check.state()).toEqual({ reachable: false, message });
  expect(lines).toEqual([
    { level: "error", event: "PlatformUnreachable", codes: ["Denied", "FunctionMissing"], message },
  ]);
  expect(asked.length).toBeGreaterThan(10);
  faults.delete("csr-approver");
  await clock.advance(MINUTE_MS);
  expect(lines.slice(1)).toMatchObject([{ event: "PlatformUnreachable", codes: ["Denied"] }]);
  faults.clear();
  await clock.advance(MINUTE_MS);
  expect(lines.slice(2)).toMatchObject([{ event: "PlatformReady" }]);
  expect(check.state()?.reachable).toBe(true);
});

test("a fault is checked again at growing intervals, at most a minute apart", async () => {
  const { clock, asked } = checked(["cloud-node-controller"], [["cloud-node-controller", denied]]);
  const timesMs = [0];
  for (let elapsedMs = 500; elapsedMs <= 5 * MINUTE_MS; elapsedMs += 500) {
    const before = asked.length;
    await clock.advance(500);
    if (asked.length > before) timesMs.push(elapsedMs);
  }
  const gapsMs = timesMs.slice(1).map((timeMs, index) => timeMs - (timesMs[index] ?? 0));
  expect(gapsMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
});

test("a removed permission is detected within five minutes", async () => {
  const { clock, faults, check } = checked(["cloud-node-controller"]);
  await clock.advance(0);
  faults.set("cloud-node-controller", denied);
  await clock.advance(5 * MINUTE_MS);
  expect(check.state()?.reachable).toBe(false);
});

test("nothing is checked after close", async () => {
  const { clock, asked, check } = checked(["cloud-node-controller"]);
  await clock.advance(0);
  await check.close();
  await clock.advance(60 * MINUTE_MS);
  expect(asked).toHaveLength(1);
});

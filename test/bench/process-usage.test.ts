import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { parseCpuSeconds, parsePeakMemoryMiB, readUsage } from "#bench/process-usage.ts";

describe("usage from /proc", () => {
  test.each([
    { given: "a plain name", stat: "42 (node) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0", seconds: 2 },
    {
      given: "a name with brackets and spaces",
      stat: "42 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 0 0 0",
      seconds: 1,
    },
  ])("for $given", ({ stat, seconds }) => {
    expect(parseCpuSeconds(stat, 100)).toBe(seconds);
  });

  test("for memory", () => {
    expect(parsePeakMemoryMiB("Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t 1 kB\n")).toBe(200);
    expect(parsePeakMemoryMiB("Name:\tnode\n")).toBe(0);
  });
});

describe.runIf(process.platform === "linux")("usageOf", () => {
  test("adds processes up", async () => {
    const one = await readUsage([process.pid]);
    const two = await readUsage([process.pid, process.pid]);
    expect(one.peakMemoryMiB).toBeGreaterThan(10);
    expect(two.peakMemoryMiB).toBeGreaterThanOrEqual(2 * one.peakMemoryMiB);
  });

  test("counts an ended process as zero", async () => {
    const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    await once(child, "exit");
    expect(await readUsage([child.pid ?? 0])).toEqual({ cpuSeconds: 0, peakMemoryMiB: 0 });
  });
});

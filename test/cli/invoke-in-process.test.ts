import { describe, expect, test } from "vitest";
import { createInProcessInvoker, type FunctionHandler } from "#cli/run/in-process-functions.ts";
import { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";

const EVENT = Event.parse({
  version: 1,
  id: "event-1",
  cluster: "tenant-a",
  clusterHash: "0123456789abcdef",
  controller: "cloud-node-controller",
  reason: "watch",
  objects: [{ metadata: { name: "node-1" } }],
});

describe("an in-process invoker", () => {
  test("passes JSON, not the objects themselves", async () => {
    const seen: unknown[] = [];
    await invoke(async (event) => {
      seen.push(event);
      return report();
    });
    expect(seen).toEqual([JSON.parse(JSON.stringify(EVENT))]);
    expect(seen[0]).not.toBe(EVENT);
  });

  test.each<[string, FunctionHandler, unknown]>([
    ["a report", async () => report(), { kind: "report", report: report() }],
    [
      "a throw",
      () => Promise.reject(new Error("poisoned")),
      { kind: "failed", code: "FunctionError", message: "poisoned", settleMs: 0 },
    ],
    [
      "no report",
      async () => ({ version: 7 }),
      expect.objectContaining({ kind: "failed", code: "BadReport" }),
    ],
    [
      "remaining time",
      async (_event, context) => {
        expect(context.getRemainingTimeInMillis()).toBeLessThanOrEqual(30_000);
        return report();
      },
      { kind: "report", report: report() },
    ],
  ])("answers %s", async (_given, handler, expected) => {
    expect(await invoke(handler)).toEqual(expected);
  });
});

function invoke(handler: FunctionHandler) {
  const invoker = createInProcessInvoker(new Map([["cloud-node-controller", handler]]), 30_000);
  return invoker.invoke(EVENT, new AbortController().signal);
}

function report(): Report {
  return {
    version: 1,
    id: "event-1",
    cluster: "tenant-a",
    controller: "cloud-node-controller",
    objects: [],
    durations: { cloudMs: 0, clusterMs: 0, totalMs: 0 },
    usage: {
      cloud: { calls: {}, throttled: 0, waitedMs: 0 },
      cluster: { writes: 0, reads: 0, conflicts: 0, throttled: 0, events: 0, eventsDropped: 0 },
    },
  };
}

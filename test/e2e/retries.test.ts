import { afterEach, beforeEach, expect, test } from "vitest";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { type Stage, startStage, waitUntil } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 1_000;
const TIMEOUT_MS = 120_000;

/** Ten full batches. Each node waits for a part of its age, and ages differ. */
const MOST = { watch: 12, retry: 16 } as const;

/** The fields that are read in a `Report` line of the log. */
interface ReportLine {
  readonly event: "Report";
  readonly reason: "watch" | "retry";
  readonly objects: number;
  readonly usage: {
    readonly cloud: { readonly calls: Readonly<Record<string, number>> };
    readonly cluster: { readonly eventsDropped: number };
  };
}

describeWithPart("control-plane", "a thousand nodes that all fail, on a real API server", (binaries) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await startStage(binaries);
  });
  afterEach(() => stage?.close());

  test("take few invocations and calls a pass, and one Warning each in ten minutes", async () => {
    // No instance has it, which causes a Warning at once.
    await stage.join(NODES, { nodeIP: "192.0.2.1" });
    // Warnings are unique within windows of ten minutes: both passes must be in one window.
    await awayFromTheEndOfAWindow();
    const { lines } = await stage.run();
    const reports = (): readonly ReportLine[] =>
      lines.filter((line): line is typeof line & ReportLine => line["event"] === "Report");
    /**
     * Returns the first reports of a kind that cover as many objects as there are nodes; fewer if there are
     * not so many yet.
     */
    const passOf = (reason: ReportLine["reason"]): readonly ReportLine[] => {
      const all = reports().filter((report) => report.reason === reason);
      const last = all.findIndex((_, index) => objectsOf(all.slice(0, index + 1)) >= NODES);
      return last === -1 ? [] : all.slice(0, last + 1);
    };
    await waitUntil("the first pass", async () => passOf("watch").length > 0, TIMEOUT_MS);
    await waitUntil("the second pass", async () => passOf("retry").length > 0, TIMEOUT_MS);
    for (const reason of ["watch", "retry"] as const) {
      const pass = passOf(reason);
      const calls = sum(pass.map(({ usage }) => usage.cloud.calls["DescribeInstances"] ?? 0));
      expect(pass.length, `invocations of ${reason}`).toBeLessThanOrEqual(MOST[reason]);
      expect(calls, `calls of ${reason}`).toBeLessThanOrEqual(MOST[reason]);
    }
    const records = await stage.plane.record();
    const posts = records.filter(
      ({ user, resource, verb }) =>
        user === CONTROL_PLANE_USERS.node.name && resource === "events" && verb === "create",
    );
    // Best effort: an Event that was given up after half a second may exist all the same (504, or 409 the
    // next time). No other Event is sent twice.
    const givenUp = sum(reports().map(({ usage }) => usage.cluster.eventsDropped));
    const unwritten = posts.filter(({ code }) => code !== 201);
    expect(unwritten.filter(({ code }) => code !== 409 && code !== 504)).toEqual([]);
    expect(unwritten.length).toBeLessThanOrEqual(2 * givenUp);
    expect(posts.length - unwritten.length).toBeLessThanOrEqual(NODES);
    expect(posts.length).toBeGreaterThan(NODES / 2);
  });
});

const WINDOW_MS = 600_000;
const TWO_PASSES_MS = 70_000;

async function awayFromTheEndOfAWindow(): Promise<void> {
  const leftMs = WINDOW_MS - (Date.now() % WINDOW_MS);
  if (leftMs < TWO_PASSES_MS) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

function objectsOf(reports: readonly ReportLine[]): number {
  return sum(reports.map(({ objects }) => objects));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

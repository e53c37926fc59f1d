import { afterEach, beforeEach, expect, test } from "vitest";
import { type Stage, startStage } from "#test/e2e/stage.ts";
import { describeWithPart } from "#test/setup/parts.ts";
import { writesByNode } from "#test/witness/requests.ts";

const NODES = 60;

describeWithPart("control-plane", "a relay on a real API server", (binaries) => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await startStage(binaries);
  });
  afterEach(() => stage?.close());

  test.each([1, 10, 37])("killed after write %d and started again brings every node up", async (writes) => {
    const first = await stage.run();
    await first.line("Listed");
    const joining = stage.join(NODES);
    await stage.untilWrites(writes);
    await first.end("SIGKILL");
    const instances = await joining;
    const second = await stage.run();
    await stage.untilUp(instances);
    expect(await second.end("SIGTERM")).toBe(0);
    expect(await stage.flaws()).toEqual([]);
  });

  test("beside another one brings every node up, and neither writes what the other would not", async () => {
    const relays = [await stage.run(), await stage.run()];
    await Promise.all(relays.map((relay) => relay.line("Listed")));
    const instances = await stage.join(NODES);
    await stage.untilUp(instances);
    for (const relay of relays) expect(await relay.end("SIGTERM")).toBe(0);
    expect(await stage.flaws()).toEqual([]);
    // Two that work side by side cost a refused patch here and there, never a storm.
    const perNode = [...writesByNode(await stage.plane.record()).values()].map(sumOf);
    expect(perNode.length).toBe(NODES);
    expect(Math.max(...perNode)).toBeLessThanOrEqual(8);
  });
});

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

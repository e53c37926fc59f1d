import { afterAll, beforeAll, expect, test } from "vitest";
import { playRow } from "#test/faults/play-row.ts";
import { ROWS } from "#test/faults/rows.ts";
import { startWorld, type World } from "#test/faults/world.ts";
import { SEED } from "#test/seed.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const QUICK = ROWS.filter(({ isQuick }) => isQuick);

describeWithPart("control-plane", "300 nodes come up whatever befalls", (binaries) => {
  // `npm run test:faults -- --row NAME --seed SEED` repeats a failed row.
  let world: World;
  beforeAll(async () => {
    world = await startWorld(binaries);
  });
  afterAll(() => world?.close());

  test("six rows run here", () => {
    expect(QUICK).toHaveLength(6);
  });

  test.each(QUICK)(`$name (seed ${SEED})`, async (row) => {
    const result = await playRow(row, world, SEED);
    expect(result.problems).toEqual([]);
    expect(result).toMatchObject({ up: result.nodes, naked: 0, wronglyDeleted: 0, lostForeignChanges: 0 });
    expect(result.nodes).toBeGreaterThanOrEqual(300);
  });
});

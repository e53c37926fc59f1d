import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningTable } from "./table.ts";
import { TABLES, tableNamed } from "./tables.ts";

// A part of `npm run test:killing -- --cloud …`: some of what can go wrong with a few operations on each cloud. AWS has a part of its own
// (killing.test.ts).

const EVERY = 4;
const TIMEOUT_MS = 180_000;

describe.each(Object.keys(TABLES).filter((cloud) => cloud !== "aws"))(
  "%s: functions that are killed",
  (cloud) => {
    let table: RunningTable;
    beforeAll(async () => {
      table = await (await tableNamed(cloud)).start();
    }, TIMEOUT_MS);
    afterAll(() => table?.close());

    test.each(["create", "other ports", "type ClusterIP", "delete"])(
      "come to the same end when they are started again: %s",
      async (name) => {
        const result = await table.enumerate(name, { chosen: (_, index) => index % EVERY === 0 });
        expect(result.problems).toEqual([]);
        expect(result).toMatchObject({ orphans: 0, foreignTouched: 0, same: result.runs });
        expect(result.runs).toBeGreaterThan(2);
      },
      TIMEOUT_MS,
    );
  },
);

test("a cloud without a table is told which there are", async () => {
  await expect(tableNamed("toString")).rejects.toThrow(/there is no table of "toString".*aws.*memory/);
});

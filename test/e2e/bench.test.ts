import { describe, expect, test } from "vitest";
import { createFloorContender } from "#bench/contenders/floor.ts";
import { Measurement, type Row } from "#bench/measurement.ts";
import { getFloor } from "#bench/programs.ts";
import { runOnce } from "#bench/run-once.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODES = 20;
const hasGo = (await findProgram("go")) !== undefined;

// The floor's writes are known in advance, so it verifies the measurement.
describeWithPart("control-plane", "a run of the bench", (controlPlane) => {
  describe.runIf(hasGo || process.env["CI"] === "true")("with the floor program (needs Go)", () => {
    test.each<{ row: Row; withEvents: boolean }>([
      { row: rowOf({ kind: "at-once" }, true), withEvents: false },
      { row: rowOf({ kind: "rate", nodesPerSecond: 50 }, false), withEvents: true },
      { row: rowOf({ kind: "there" }, true), withEvents: true },
    ])("counts the work in $row.id", async ({ row, withEvents }) => {
      const measurement = await runOnce({
        row,
        contender: createFloorContender("floor", withEvents),
        repetition: 0,
        programs: { controlPlane, floor: await getFloor(() => {}), stock: "" },
        cloudLatencyMs: 0,
        limitMs: 60_000,
      });
      expect(Measurement.parse(measurement)).toEqual(measurement);
      expect(measurement).toMatchObject({
        row: row.id,
        nodeWrites: 2 * NODES,
        nodeReads: 0,
        eventWrites: withEvents ? NODES : 0,
        tooManyRequests: 0,
        cloudCalls: 0,
        nakedNodes: 0,
        missingNodes: 0,
      });
      expect(measurement.latenciesMs).toHaveLength(NODES);
      expect(measurement.peakMemoryMiB).toBeGreaterThan(1);
    });
  });
});

function rowOf(arrival: Row["arrival"], providerIds: boolean): Row {
  return { id: `${NODES}-${arrival.kind}`, nodes: NODES, providerIds, arrival };
}

import type { BenchFlags } from "#bench/flags.ts";
import type { ContenderName, Row } from "#bench/measurement.ts";
import type { PlannedRow } from "#bench/rows.ts";

/** One planned run. */
export interface PlannedRun {
  readonly row: Row;
  readonly contender: ContenderName;
  readonly repetition: number;
}

/**
 * Returns all runs in their order: round by round, so that other load on the machine affects all contenders
 * alike. Each round begins with another contender.
 */
export function planRuns(rows: readonly PlannedRow[], flags: BenchFlags): readonly PlannedRun[] {
  const runs: PlannedRun[] = [];
  for (let repetition = 0; repetition < flags.repetitions; repetition += 1) {
    for (const { row, contenders, fewer } of rows) {
      if (!flags.rows.has(row.id)) continue;
      const first = repetition % contenders.length;
      for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
        const limit = fewer?.[contender] ?? Number.POSITIVE_INFINITY;
        if (flags.contenders.has(contender) && repetition < limit) runs.push({ row, contender, repetition });
      }
    }
  }
  return runs;
}

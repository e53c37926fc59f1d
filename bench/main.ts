import { parseArgs } from "node:util";
import { CONTENDERS, ContenderName, type Measurement } from "#bench/measurement.ts";
import { getPrograms } from "#bench/programs.ts";
import { CONTENDER_BY_NAME, ROWS } from "#bench/rows.ts";
import { runOnce } from "#bench/run-once.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string" },
    contenders: { type: "string" },
    repetitions: { type: "string", default: "5" },
  },
});
const rows = ROWS.filter(({ row }) => values.rows === undefined || values.rows.split(",").includes(row.id));
const names = values.contenders?.split(",").map((name) => ContenderName.parse(name)) ?? CONTENDERS;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const programs = await getPrograms(say);
const measurements: Measurement[] = [];
for (let repetition = 0; repetition < Number(values.repetitions); repetition += 1) {
  for (const { row, contenders, fewer } of rows) {
    for (const name of contenders) {
      if (!names.includes(name) || repetition >= (fewer?.[name] ?? Number.POSITIVE_INFINITY)) continue;
      const measurement = await runOnce({
        row,
        contender: CONTENDER_BY_NAME[name],
        repetition,
        programs,
        cloudLatencyMs: 60,
        limitMs: 600_000,
      });
      measurements.push(measurement);
      const { latenciesMs, ...rest } = measurement;
      const at = (share: number): number => latenciesMs[Math.floor(share * (latenciesMs.length - 1))] ?? 0;
      say(JSON.stringify({ p50: Math.round(at(0.5)), p99: Math.round(at(0.99)), ...rest }));
    }
  }
}

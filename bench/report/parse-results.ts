import { Results } from "#bench/measurement.ts";
import { type ConfigError, listFaults } from "#core/config-errors.ts";

/** Unreadable results: not JSON, not of this shape, or contradictory; with every error found. */
export class ResultsError extends Error {
  override readonly name = "ResultsError";
  readonly code = "RESULTS_INVALID";
  readonly faults: readonly ConfigError[];

  constructor(file: string, faults: readonly ConfigError[], cause?: unknown) {
    const shown = faults
      .slice(0, MAX_SHOWN)
      .map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    const more = faults.length > MAX_SHOWN ? [`and ${faults.length - MAX_SHOWN} more`] : [];
    super(`${file} does not hold results of a benchmark: ${[...shown, ...more].join("; ")}`, { cause });
    this.faults = faults;
  }
}

/** Parses the results in the text of `file`; throws `ResultsError` with all errors at once. */
export function parseResults(text: string, file: string): Results {
  const parsed = Results.safeParse(parseJson(text, file));
  if (!parsed.success) throw new ResultsError(file, listFaults(parsed.error));
  const faults = findContradictions(parsed.data);
  if (faults.length > 0) throw new ResultsError(file, faults);
  return parsed.data;
}

const MAX_SHOWN = 10;

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ResultsError(file, [{ path: "", message: "it is not JSON" }], cause);
  }
}

/** Finds what a schema misses: a number that the report would omit or count twice. */
function findContradictions({ rows, measurements }: Results): ConfigError[] {
  const rowsById = Map.groupBy(rows, ({ id }) => id);
  const twice = [...rowsById].filter(([, same]) => same.length > 1);
  const seen = new Set<string>();
  return [
    ...twice.map(([id]) => ({ path: "rows", message: `there are two with the id ${id}` })),
    ...measurements.flatMap((one, index) => {
      const path = `measurements[${index}]`;
      const key = [one.row, one.contender, one.repetition].join(" ");
      const repeated = seen.has(key);
      seen.add(key);
      const row = rowsById.get(one.row)?.[0];
      if (row === undefined) return [{ path: `${path}.row`, message: `there is no row ${one.row}` }];
      const counted = one.latenciesMs.length + one.missingNodes;
      return [
        ...(repeated ? [{ path, message: `${key} is there twice` }] : []),
        ...(counted === row.nodes
          ? []
          : [{ path, message: `${counted} nodes came up or are missing, of ${row.nodes}` }]),
      ];
    }),
  ];
}

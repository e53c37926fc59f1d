import { parseArgs } from "node:util";
import * as z from "zod";
import { ContenderName } from "#bench/measurement.ts";
import { ROWS } from "#bench/rows.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

/** The options of a bench run. */
export interface BenchFlags {
  readonly rows: ReadonlySet<string>;
  readonly contenders: ReadonlySet<ContenderName>;
  readonly repetitions: number;
  /** The folder of the report. */
  readonly folder: string;
  /** Whether the run is complete: every row and every contender. */
  readonly whole: boolean;
}

/** The help text. */
export const HELP = `Usage: npm run bench -- [options]

Without options: every row, every contender, five times, then the cold start, the invocations and the idle relay;
the report goes to bench/. With options that leave something out it goes to bench/partial/, which git ignores.

  --rows LIST          ids with commas, of: ${ROWS.map(({ row }) => row.id).join(", ")}
  --contenders LIST    of: ${ContenderName.options.join(", ")}
  --repetitions N      at least 1; default 5
  --folder FOLDER      of the report
  --help

--rows hostile is a separate run: what one hostile cluster of a relay of 100 costs the others, attack by attack. It takes
--clusters, --nodes, --rate, --seconds (of each row), --slots, --megabytes-per-second and --attacks (names with commas, or all).
With --rounds N each attack is measured N times, each time next to the same attack against a null sink.
`;

/** The row with its own program, bench/hostile.ts. */
const HOSTILE = "hostile";

/** Returns the arguments of the hostile rows; undefined if other rows are selected. */
export function selectHostileArguments(args: readonly string[]): readonly string[] | undefined {
  const joined = args.indexOf(`--rows=${HOSTILE}`);
  if (joined !== -1) return args.toSpliced(joined, 1);
  const flag = args.findIndex((each, index) => each === "--rows" && args[index + 1] === HOSTILE);
  return flag === -1 ? undefined : args.toSpliced(flag, 2);
}

/** An invalid command line; the message names every error. */
export class FlagsError extends Error {
  override readonly name = "FlagsError";
}

const list = <Value extends string>(what: string, values: readonly Value[]) =>
  z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(z.enum(values, { error: ({ input }) => `there is no ${what} ${JSON.stringify(input)}` })))
    .optional();

const Flags = z.strictObject({
  rows: list(
    "row",
    ROWS.map(({ row }) => row.id),
  ),
  contenders: list("contender", ContenderName.options),
  repetitions: z.coerce.number().int().min(1).max(100).default(5),
  folder: z.string().min(1).optional(),
});

/** Parses the command line; undefined for help. Throws `FlagsError`. */
export function readFlags(args: readonly string[]): BenchFlags | undefined {
  const { help, ...values } = parse(args);
  if (help) return undefined;
  const parsed = Flags.safeParse(values);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `--${String(path[0])}: ${message}`);
    throw new FlagsError(faults.join("\n"));
  }
  const { rows, contenders, repetitions, folder } = parsed.data;
  const whole = rows === undefined && contenders === undefined && repetitions >= 5;
  return {
    rows: new Set(rows ?? ROWS.map(({ row }) => row.id)),
    contenders: new Set(contenders ?? ContenderName.options),
    repetitions,
    folder: folder ?? (whole ? "bench" : "bench/partial"),
    whole,
  };
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  try {
    const options = { rows: text, contenders: text, repetitions: text, folder: text };
    return parseArgs({ args: [...args], options: { ...options, help: { type: "boolean", short: "h" } } })
      .values;
  } catch (error) {
    throw new FlagsError(getErrorMessage(error));
  }
}

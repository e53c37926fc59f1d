import { parseArgs } from "node:util";
import * as z from "zod";
import { getPrograms } from "#bench/programs.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { findProgram } from "#test/setup/find-program.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";
import { createStockStart, startOurs } from "./contenders.ts";
import { TOPICS } from "./history.ts";
import { playSeed, type SeedOptions, type SeedResult } from "./play-seed.ts";
import { type Side, type SidePrograms, startSide } from "./side.ts";

const HELP = `Plays random histories with the stock AWS cloud-controller-manager and with serverless-ccm, and compares them at rest.

  --seeds N     the number of histories, one for each seed (default 5)
  --seed N      the history of this seed alone, with a comparison after every ten steps
  --first N     the first seed (default 1)
  --steps N     the steps of a history (default 100)
  --every N     compares after so many steps, too
  --topic NAME  ${TOPICS.join(", ")}; may be repeated; all of them without it
  --lanes N     histories at the same time (default 2)
  --logs FOLDER writes the logs and the cloud's calls of sides that differ there
`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "5" },
      seed: { type: "string" },
      first: { type: "string", default: "1" },
      steps: { type: "string", default: "100" },
      every: { type: "string" },
      topic: { type: "string", multiple: true, default: [...TOPICS] },
      lanes: { type: "string", default: "2" },
      logs: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const Count = z.coerce.number().int().min(1);
  const parsed = z
    .object({
      first: z.coerce.number().int(),
      count: Count,
      length: Count,
      every: Count.optional(),
      topics: z.array(z.literal(TOPICS)).min(1),
      lanes: Count,
    })
    .safeParse({
      first: values.seed ?? values.first,
      count: values.seed === undefined ? values.seeds : 1,
      length: values.steps,
      every: values.every ?? (values.seed === undefined ? undefined : 10),
      topics: values.topic,
      lanes: values.lanes,
    });
  if (values.help || !parsed.success) {
    (values.help ? process.stdout : process.stderr).write(HELP);
    return values.help ? 0 : 2;
  }
  const { first, count, lanes, length, every, topics } = parsed.data;
  const programs = await findPrograms();
  if (typeof programs === "string") return skip(programs);
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  const options = {
    ...{ length, topics },
    ...(every === undefined ? {} : { every }),
    ...(values.logs === undefined ? {} : { logs: values.logs }),
  };
  const results: SeedResult[] = [];
  await Promise.all(
    Array.from({ length: Math.min(lanes, count) }, () => runLane(programs, seeds, options, results)),
  );
  const failed = results.filter(({ failure }) => failure !== undefined);
  for (const [row, times] of countRows(results)) say(`${String(times).padStart(5)} × ${row}`);
  for (const { seed } of failed) say(`again: npm run test:differential -- --seed ${seed} --steps ${length}`);
  say(`${results.length - failed.length} passed, ${failed.length} failed`);
  return failed.length === 0 ? 0 : 1;
}

interface Programs extends SidePrograms {
  readonly stock: string;
}

/** Returns the programs, or what is missing and what to run. */
async function findPrograms(): Promise<Programs | string> {
  if ((await findProgram("go")) === undefined)
    return "no Go, which builds the stock controller: install it from your system's packages";
  const moto = await getMotoProgram(say);
  if (moto.kind === "missing") return moto.because;
  try {
    const { controlPlane, stock } = await getPrograms(say);
    return { binaries: controlPlane, moto: moto.value, stock };
  } catch (error) {
    return getErrorMessage(error);
  }
}

/** Prints why nothing runs; with CI=true that is a failure. */
function skip(because: string): number {
  const isFailure = process.env["CI"] === "true";
  say(`the differential suite is skipped: ${because}`);
  say(isFailure ? "0 passed, 1 failed" : "0 passed, 0 failed, 1 skipped");
  return isFailure ? 1 : 0;
}

/**
 * Plays the seeds that are left, one after the other. A seed whose sides broke, as on a machine that is too slow, is
 * a failure of its own; the next one gets new sides.
 */
async function runLane(
  programs: Programs,
  seeds: number[],
  options: SeedOptions,
  results: SeedResult[],
): Promise<void> {
  let sides: readonly [stock: Side, ours: Side] | undefined;
  try {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      try {
        sides ??= await startSides(programs);
        const result = await playSeed(...sides, seed, options);
        results.push(result);
        const { failure, known, seconds } = result;
        const rows = `${known.length} known differences`;
        say(`seed ${seed}: ${failure === undefined ? "the same" : "DIFFERS"}, ${rows}, ${seconds} s`);
        if (failure !== undefined) say(failure);
      } catch (error) {
        const failure = `could not be played: ${getErrorMessage(error)}`;
        results.push({ seed, failure, known: [], seconds: 0 });
        say(`seed ${seed}: ${failure}`);
        await closeSides(sides);
        sides = undefined;
      }
    }
  } finally {
    await closeSides(sides);
  }
}

async function startSides(programs: Programs): Promise<readonly [stock: Side, ours: Side]> {
  const stock = await startSide("stock", programs, createStockStart(programs.stock));
  try {
    return [stock, await startSide("ours", programs, startOurs)];
  } catch (error) {
    await stock.close();
    throw error;
  }
}

async function closeSides(sides: readonly Side[] = []): Promise<void> {
  await Promise.all(sides.map((side) => side.close()));
}

function countRows(results: readonly SeedResult[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { row } of results.flatMap(({ known }) => known)) {
    const name = `${row.page}: ${row.text}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

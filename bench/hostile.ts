import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import * as z from "zod";
import { ALL_ATTACKS, ATTACK_ROWS } from "#bench/hostile/attack-rows.ts";
import { measureHostile } from "#bench/hostile/measure.ts";
import type { HostileResults, RoundResults } from "#bench/hostile/measurement.ts";
import { formatHostileRun } from "#bench/hostile/report.ts";
import { measureRounds } from "#bench/hostile/rounds.ts";
import { formatRounds } from "#bench/hostile/rounds-report.ts";
import { formatPageHead } from "#bench/report/wrap-paragraph.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { buildCommandLine, buildFunctions } from "../build/build.ts";
import { ROOT } from "../build/bundle.ts";

// Measures what one hostile cluster of a relay costs the others: `npm run bench -- --rows hostile`, or `node
// bench/hostile.ts`. A complete run is kept in bench/hostile.json and rendered to bench/hostile.md; a partial
// one goes to bench/partial/. With --rounds each attack runs next to its null sink, so many times. These
// results go to hostile-rounds.json and hostile-rounds.md.

const count = z.coerce.number().int().positive();
const Flags = z.strictObject({
  clusters: count.min(3).default(100),
  /** Nodes that exist in each cluster from the beginning. */
  nodes: count.default(10),
  /** Nodes that join per second, over all clusters but the hostile one. */
  rate: z.coerce.number().positive().max(50).default(6),
  /** The seconds of each row. */
  seconds: count.default(60),
  /** The maximum of concurrent invocations on the platform. */
  slots: count.default(20),
  "megabytes-per-second": z.coerce.number().positive().default(50),
  rounds: count.max(50).optional(),
  attacks: z
    .string()
    .transform((text) => (text === "all" ? [...ALL_ATTACKS] : text.split(",")))
    .pipe(z.array(z.enum(ALL_ATTACKS)))
    .default([...ATTACK_ROWS]),
});

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    clusters: text,
    nodes: text,
    rate: text,
    seconds: text,
    slots: text,
    "megabytes-per-second": text,
    rounds: text,
    attacks: text,
  },
});
const parsed = Flags.safeParse(values);
if (!parsed.success) {
  process.stderr.write(`${z.prettifyError(parsed.error)}\n`);
  process.exit(2);
}
const flags = parsed.data;
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stopping.abort());
const isLarge = flags.clusters >= 100 && flags.seconds >= 60;
const isWhole =
  flags.rounds === undefined
    ? isLarge && ATTACK_ROWS.every((row) => flags.attacks.includes(row))
    : isLarge && flags.rounds >= 5;
const folder = fileURLToPath(new URL(isWhole ? "." : "partial/", import.meta.url));

const controlPlane = await getControlPlaneBinaries(say);
if (controlPlane.kind === "missing")
  throw new Error(`the bench needs a control plane: ${controlPlane.because}`);
await Promise.all([buildFunctions(`${ROOT}/dist`), buildCommandLine(`${ROOT}/dist`)]);
const described = await promisify(execFile)("git", ["describe", "--always", "--dirty"], { cwd: ROOT });
const HEAD = formatPageHead(
  "A relay under attack",
  "For operators whose tenants are not trusted. This page has what one hostile cluster does to the other clusters of a relay, attack by attack. [How it is measured](README.md#the-hostile-rows).",
);
const ROUNDS_HEAD = formatPageHead(
  "A relay under attack, in rounds",
  "For operators whose tenants are not trusted. This page has how far an attack slows the other clusters, beside the same attack without an effect on the relay. [How it is measured](README.md#the-hostile-rows).",
);
const options = {
  binaries: controlPlane.value,
  clusters: flags.clusters,
  nodesEach: flags.nodes,
  rate: flags.rate,
  seconds: flags.seconds,
  slots: flags.slots,
  bytesPerSecond: flags["megabytes-per-second"] * 1e6,
  attacks: flags.attacks,
  version: described.stdout.trim(),
  signal: stopping.signal,
  say,
};
if (flags.rounds === undefined)
  process.stdout.write(formatHostileRun(await measureHostile({ ...options, onResults: write })));
else
  process.stdout.write(
    formatRounds(await measureRounds({ ...options, rounds: flags.rounds, onResults: writeRounds })),
  );

/** Writes after each row, so that a failure does not lose the measurements so far. */
async function write(sofar: HostileResults): Promise<void> {
  await writeBoth("hostile", sofar, `${HEAD}${formatHostileRun(sofar)}`);
}

async function writeRounds(sofar: RoundResults): Promise<void> {
  await writeBoth("hostile-rounds", sofar, `${ROUNDS_HEAD}${formatRounds(sofar)}`);
}

async function writeBoth(name: string, sofar: object, section: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}${name}.json`, `${JSON.stringify(sofar, undefined, 2)}\n`);
  await writeFile(`${folder}${name}.md`, section);
}

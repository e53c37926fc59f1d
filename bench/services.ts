import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import * as z from "zod";
import { getPrograms } from "#bench/programs.ts";
import { measureServices, SERVICES_CONTENDERS } from "#bench/services/measure.ts";
import { type ServicesMeasurement, ServicesResults } from "#bench/services/measurement.ts";
import { formatServices } from "#bench/services/report.ts";
import { getMotoProgram } from "#test/setup/moto-program.ts";

// Measures the work for Services, next to the stock controller: `npm run build && node bench/services.ts
// --services 100 --nodes 50 --joined 50`. The last result of each contender is kept in bench/services.json,
// and rendered to bench/services.md.

const count = z.coerce.number().int().positive();
const NAMES = SERVICES_CONTENDERS.map(({ name }) => name);
const Flags = z.strictObject({
  services: count.default(100),
  nodes: count.default(50),
  joined: count.default(50),
  contenders: z
    .string()
    .default(NAMES.join())
    .transform((list) => list.split(","))
    .refine((list) => list.every((name) => NAMES.includes(name)), `known are ${NAMES.join(", ")}`),
  /** The maximum seconds of each part of a run. */
  timeout: count.default(900),
});

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: { services: text, nodes: text, joined: text, contenders: text, timeout: text },
});
const parsed = Flags.safeParse(values);
if (!parsed.success) {
  process.stderr.write(`${z.prettifyError(parsed.error)}\n`);
  process.exit(2);
}
const { services, nodes, joined, contenders, timeout } = parsed.data;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const RESULTS = fileURLToPath(new URL("services.json", import.meta.url));
const PAGE = fileURLToPath(new URL("services.md", import.meta.url));

const programs = await getPrograms(say);
const moto = await getMotoProgram(say);
if (moto.kind === "missing") throw new Error(`the bench needs moto: ${moto.because}`);
let { measurements } = await readResults();
for (const contender of SERVICES_CONTENDERS.filter(({ name }) => contenders.includes(name))) {
  say(`${contender.name} …`);
  const measurement: ServicesMeasurement = await measureServices({
    programs,
    moto: moto.value,
    contender,
    services,
    nodes,
    joined,
    timeoutSeconds: timeout,
  });
  measurements = [...measurements.filter((each) => each.contender !== contender.name), measurement];
  measurements.sort((one, other) => NAMES.indexOf(one.contender) - NAMES.indexOf(other.contender));
  await writeFile(RESULTS, `${JSON.stringify({ measurements }, undefined, 2)}\n`);
  await writeFile(PAGE, formatServices({ measurements }));
}
process.stdout.write(formatServices({ measurements }));

async function readResults(): Promise<ServicesResults> {
  try {
    return ServicesResults.parse(JSON.parse(await readFile(RESULTS, "utf8")));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return { measurements: [] };
    throw error;
  }
}

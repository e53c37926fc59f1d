import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import * as z from "zod";
import { checkSeeds, describeFailure } from "./check-seeds.ts";
import { KINDS } from "./history.ts";
import { startBackends } from "./real-backends.ts";
import { SCENARIOS } from "./scenarios.ts";
import { checkTenants, describeTenantFailure } from "./tenants/check-tenants.ts";
import { TENANT_SCENARIOS } from "./tenants/tenant-scenarios.ts";

/** The work of one worker: each n-th seed. */
const Part = z.object({
  scenario: z.string(),
  first: z.int(),
  last: z.int(),
  step: z.int(),
  isCalm: z.boolean(),
  without: z.array(z.literal(KINDS)),
  moto: z.boolean(),
  kubeApiserver: z.boolean(),
  tenants: z.boolean(),
});
type Part = z.output<typeof Part>;

const HELP = `Runs random histories of one controller with one to three actors, and checks where they come to rest.

  --seeds N      the number of histories, one for each seed (default 1000)
  --seed N       the history of this seed alone
  --first N      the first seed (default 1)
  --cloud NAME   ${Object.keys(SCENARIOS).join(", ")}; all of them without it
  --without KIND a kind of happening that does not come: ${KINDS.join(", ")}
  --tenants      two tenants of one account, one of them hostile: ${Object.keys(TENANT_SCENARIOS).join(", ")}
  --calm         one actor at a time, to whose requests nothing happens
  --moto         network and classic on moto, with AWS's capability as it is deployed
  --kube-apiserver  on a real kube-apiserver
  --workers N    the number of worker threads (default: one for each core; one on programs)
`;

if (isMainThread) await main();
else await work(Part.parse(workerData));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "1000" },
      seed: { type: "string" },
      first: { type: "string", default: "1" },
      cloud: { type: "string" },
      moto: { type: "boolean", default: false },
      "kube-apiserver": { type: "boolean", default: false },
      without: { type: "string", multiple: true, default: [] },
      calm: { type: "boolean", default: false },
      tenants: { type: "boolean", default: false },
      workers: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const isOnPrograms = values.moto || values["kube-apiserver"];
  const { workers: asked = String(isOnPrograms ? 1 : availableParallelism()) } = values;
  const numbers = z.tuple([
    z.coerce.number().int(),
    z.coerce.number().int().min(1),
    z.coerce.number().int().min(1),
  ]);
  const parsed = numbers.safeParse(
    values.seed === undefined ? [values.first, values.seeds, asked] : [values.seed, 1, 1],
  );
  const scenarios = values.tenants ? TENANT_SCENARIOS : SCENARIOS;
  const names = values.cloud === undefined ? Object.keys(scenarios) : [values.cloud];
  if (!parsed.success || !names.every((name) => Object.hasOwn(scenarios, name))) {
    process.stderr.write(HELP);
    process.exitCode = 2;
    return;
  }
  const [first, count, workers] = parsed.data;
  for (const scenario of names) {
    const startedAt = performance.now();
    const parts = Array.from(
      { length: Math.min(workers, count) },
      (_, index): Part => ({
        ...{ scenario, first: first + index, last: first + count - 1, step: workers },
        isCalm: values.calm,
        without: z.array(z.literal(KINDS)).parse(values.without),
        moto: values.moto,
        kubeApiserver: values["kube-apiserver"],
        tenants: values.tenants,
      }),
    );
    const failures = (await Promise.all(parts.map(runPart))).filter((failure) => failure !== undefined);
    const seconds = (performance.now() - startedAt) / 1_000;
    if (failures.length === 0) {
      process.stdout.write(
        `${scenario}: ${count} histories in ${seconds.toFixed(1)} s, seeds ${first} to ${first + count - 1}\n`,
      );
      continue;
    }
    process.stdout.write(`${failures[0]}\n`);
    process.exitCode = 1;
  }
}

/** Resolves with the description of the first failure, or with undefined. */
function runPart(part: Part): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: part });
    let failure: string | undefined;
    worker.on("message", (text: string) => {
      failure = text;
    });
    worker.on("error", reject);
    worker.on("exit", () => resolve(failure));
  });
}

async function work({ tenants, ...part }: Part): Promise<void> {
  // Each invocation creates its function anew, so a compiled parser of events would be used only once.
  z.config({ jitless: true });
  if (!tenants) return workOnOne(part);
  const scenario = TENANT_SCENARIOS[part.scenario];
  if (scenario === undefined) throw new Error(`there is no scenario ${part.scenario} of two tenants`);
  const failure = await checkTenants(scenario, seedsFrom(part.first, part.last, part.step));
  if (failure !== undefined) parentPort?.postMessage(describeTenantFailure(failure));
}

async function workOnOne({
  scenario: name,
  first,
  last,
  step,
  isCalm,
  without,
  ...backends
}: Omit<Part, "tenants">): Promise<void> {
  const found = SCENARIOS[name];
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  const { scenario, close } = await startBackends(found, backends);
  const seeds = seedsFrom(first, last, step);
  // On real programs histories run in sequence, so none may be interrupted.
  const limit = backends.moto || backends.kubeApiserver ? { shrinkMs: Number.POSITIVE_INFINITY } : {};
  const failure = await checkSeeds(scenario, { seeds, isCalm, without, ...limit });
  const flags = [
    ...(backends.moto ? ["--moto"] : []),
    ...(backends.kubeApiserver ? ["--kube-apiserver"] : []),
    ...(isCalm ? ["--calm"] : []),
    ...without.flatMap((kind) => ["--without", JSON.stringify(kind)]),
  ];
  if (failure !== undefined) parentPort?.postMessage(describeFailure(failure, flags));
  await close();
}

function* seedsFrom(first: number, last: number, step: number): Generator<number> {
  for (let seed = first; seed <= last; seed += step) yield seed;
}

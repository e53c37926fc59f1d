import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createHistory, describeStep, type Step, type Topic } from "./history.ts";
import { performStep } from "./perform-step.ts";
import { type Comparison, settle } from "./settle.ts";
import { SERVICES_PATH, type Side } from "./side.ts";
import { describeDifference } from "./snapshot.ts";

export interface SeedOptions {
  readonly length: number;
  readonly topics: readonly Topic[];
  /** Comes to rest and compares after so many steps, too, to find the first steps that differ. */
  readonly every?: number;
  /** A folder that receives the logs of both contenders if the sides differ. */
  readonly logs?: string;
}

/** What a history has shown. */
export interface SeedResult {
  readonly seed: number;
  /** Differences without a reason, with the steps before them; undefined without any. */
  readonly failure: string | undefined;
  /** How often each row of the docs explained a difference. */
  readonly known: Comparison["known"];
  readonly seconds: number;
}

/**
 * Plays the history of a seed on both sides and compares them at rest; then removes all Services, and compares what is
 * left.
 */
export async function playSeed(
  stock: Side,
  ours: Side,
  seed: number,
  { length, topics, every = length + MAX_CLOSING, logs }: SeedOptions,
): Promise<SeedResult> {
  const startedAt = performance.now();
  const sides = [stock, ours];
  const steps = createHistory(seed, length, topics);
  const known: Comparison["known"][number][] = [];
  const finish = (failure: string | undefined): SeedResult => ({
    ...{ seed, failure, known, seconds: Math.round((performance.now() - startedAt) / 1_000) },
  });
  /** Returns what differs, after these steps. */
  const check = async (after: readonly string[]): Promise<string | undefined> => {
    const comparison = await settle(stock, ours);
    known.push(...comparison.known);
    if (comparison.differences.length === 0) return undefined;
    if (logs !== undefined) await Promise.all(sides.map((side) => writeLog(side, seed, logs)));
    const lines = comparison.differences.map((each) => `    ${describeDifference(each)}`);
    return [...after.map((step) => `  ${step}`), "  differ:", ...lines].join("\n");
  };

  await Promise.all(sides.map((side) => side.begin()));
  for (let first = 0; first < steps.length; first += every) {
    const part = steps.slice(first, first + every);
    for (const step of part) await play(sides, step);
    for (const side of sides) side.moto.failures.drop();
    const failure = await check(part.map((step, index) => `${first + index + 1}. ${describeStep(step)}`));
    if (failure !== undefined) return finish(failure);
  }
  await Promise.all(sides.map(deleteServices));
  return finish(await check(["all Services were deleted"]));
}

/** The most steps with which a history ends, in addition to its length. */
const MAX_CLOSING = 20;

async function writeLog(side: Side, seed: number, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${seed}-${side.name}.log`), await side.contenderSaid());
  const calls = side.moto.calls().map(({ atMs, ...call }) => `${Math.round(atMs)} ${JSON.stringify(call)}\n`);
  await writeFile(join(folder, `${seed}-${side.name}-calls.log`), calls.join(""));
}

async function play(sides: readonly Side[], step: Step): Promise<void> {
  await sleep(step.afterMs);
  await Promise.all(sides.map((side) => performStep(side, step)));
}

async function deleteServices(side: Side): Promise<void> {
  const { items } = (await side.ask({ method: "GET", path: SERVICES_PATH })) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[];
  };
  for (const { metadata } of items.filter((each) => each.metadata.name !== "kubernetes"))
    await side.attempt({ method: "DELETE", path: `${SERVICES_PATH}/${metadata.name}` });
}

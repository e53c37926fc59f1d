import { parseArgs } from "node:util";
import { loadControllers } from "#functions/parts/controllers.ts";
import { FUZZED_CONTROLLERS } from "#test/fuzz/fuzzed-controllers.ts";
import { fuzz } from "#test/fuzz/run-steps.ts";
import { formatStep } from "#test/fuzz/steps.ts";

const { values } = parseArgs({
  options: { steps: { type: "string", default: "10000" }, seed: { type: "string" } },
});
const [steps, seed] = [Number(values.steps), Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))];
if (!Number.isInteger(steps) || steps < 1 || !Number.isInteger(seed)) {
  process.stderr.write("--steps takes a number of steps, --seed the number that a run before has printed\n");
  process.exit(2);
}
process.stdout.write(`seed ${seed}\n`);
const startedAt = performance.now();
let said = startedAt;
const result = await fuzz({
  controllers: await loadControllers(FUZZED_CONTROLLERS),
  steps,
  seed,
  onRun(taken) {
    if (performance.now() - said < 30_000) return;
    said = performance.now();
    process.stdout.write(`${taken} steps in ${Math.round((said - startedAt) / 1000)} s\n`);
  },
});
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
if (result.kind === "failed") {
  const lines = result.steps.map((step, index) => `${String(index + 1).padStart(4)}  ${formatStep(step)}`);
  process.stdout.write(`${lines.join("\n")}\n${result.broken}\n`);
  if (result.found !== result.broken) process.stdout.write(`before any was left out: ${result.found}\n`);
  process.stdout.write(`failed after ${seconds} s, with the chance ${result.chance}\n`);
  process.stdout.write(`again: npm run test:fuzz -- --steps ${steps} --seed ${seed}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`${result.steps} steps, ${result.invocations} invocations, ${seconds} s\n`);
}

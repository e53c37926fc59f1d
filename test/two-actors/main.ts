import { parseArgs } from "node:util";
import { createKubeApiserverStage, startEmbedded } from "#test/crash-consistency/stage.ts";
import { SEED } from "#test/seed.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";
import { CLOUDS } from "./clouds.ts";
import { startTwoActors } from "./stage.ts";

// `npm run test:two-actors -- --runs N`: two and three actors on one Service, on each cloud or on those of
// --cloud. --seed sets the first seed, --history prints the requests of each failed run, and --kube-apiserver
// uses a real API server.

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "100" },
    cloud: { type: "string", multiple: true, default: Object.keys(CLOUDS) },
    seed: { type: "string", default: `${SEED}` },
    history: { type: "boolean", default: false },
    "kube-apiserver": { type: "boolean", default: false },
  },
});

/** The most characters that are printed about a failed run. */
const MAX_CHARACTERS = 1_000;

let failures = 0;
for (const name of values.cloud) {
  const build = Object.hasOwn(CLOUDS, name) ? CLOUDS[name] : undefined;
  if (build === undefined) throw new Error(`"${name}" is not one of ${Object.keys(CLOUDS).join(", ")}`);
  const played = await startTwoActors(await build(), await planeStarter());
  const startedAt = performance.now();
  const [first, runs] = [Number(values.seed), Number(values.runs)];
  let failed = 0;
  for (let seed = first; seed < first + runs; seed += 1) {
    const { issues, history } = await played.play(seed);
    if (issues.length === 0) continue;
    failed += 1;
    process.stdout.write(`${name}, --seed ${seed}: ${issues.join("; ").slice(0, MAX_CHARACTERS)}\n`);
    if (values.history) process.stdout.write(`    ${history.join("\n    ")}\n`);
  }
  await played.close();
  failures += failed;
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  process.stdout.write(`${name}: ${failed} of ${runs} runs ended wrongly, in ${seconds} s\n`);
}
process.exitCode = failures === 0 ? 0 : 1;

async function planeStarter(): Promise<typeof startEmbedded> {
  if (!values["kube-apiserver"]) return startEmbedded;
  const binaries = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
  if (binaries.kind === "missing") throw new Error(`there is no real API server: ${binaries.because}`);
  return createKubeApiserverStage(binaries.value);
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEc2 } from "#emulators/ec2/server.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { buildCommit, buildToday } from "#test/upgrade/builds.ts";
import { playCanary } from "#test/upgrade/canary.ts";
import { playStep, type StepResult, type Versions } from "#test/upgrade/steps.ts";
import { checkSteps, formatSteps } from "#test/upgrade/table.ts";
import type { StageOfFunctions } from "#test/upgrade/versions.ts";
import { createWorld, writeClusters } from "#test/upgrade/world.ts";
import { readPreviousCommit, writeFixtures } from "#test/upgrade/write-fixtures.ts";

// `npm run test:upgrade -- [--from COMMIT] [--nodes N] [--keep] [--write-fixtures]`: builds this checkout and
// an older commit, and runs each as relay and as functions of the other, on one lasting cluster. Prints a
// table, and fails if a row is wrong. Without
// --from, the older commit is the one that wrote test/fixtures/previous.

const { values } = parseArgs({
  options: {
    from: { type: "string", default: await readPreviousCommit() },
    nodes: { type: "string", default: "50" },
    /** Keeps the logs, and the requests and answers of functions. */
    keep: { type: "boolean", default: false },
    /** Writes the output of the older version to test/fixtures/previous. */
    "write-fixtures": { type: "boolean", default: false },
  },
});
const nodes = Number(values.nodes);
if (!Number.isInteger(nodes) || nodes < 10) {
  process.stderr.write("--nodes takes how many nodes join in each step, 10 or more\n");
  process.exit(2);
}
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = await mkdtemp(join(tmpdir(), "upgrade-"));
const closers: (() => Promise<unknown>)[] = [];
try {
  say(`building ${values.from} and this checkout in ${folder}`);
  const before = await buildCommit(values.from, join(folder, "before"));
  const today = await buildToday(join(folder, "today"));
  const ec2 = await startEc2({ region: "eu-central-1", behaviour: { latencyMs: 30 } });
  closers.unshift(() => ec2.close());
  const world = await createWorld(join(folder, "tenant-a"), "tenant-a", ec2);
  closers.unshift(() => world.close());
  const stageNamed = async (name: string): Promise<StageOfFunctions> => ({
    prefix: `serverless-ccm-${name}-`,
    invokePort: await findFreePort(),
    relayPort: await findFreePort(),
    clustersFile: join(folder, `${name}.yaml`),
    logs: folder,
    environment: {
      AWS_REGION: ec2.region,
      AWS_ACCESS_KEY_ID: "upgrade",
      AWS_SECRET_ACCESS_KEY: "upgrade",
      AWS_EC2_METADATA_DISABLED: "true",
      AWS_ENDPOINT_URL_EC2: ec2.url,
    },
  });
  const stage = await stageNamed("prod");
  const versions: Versions = { relay: undefined, functions: undefined };
  closers.unshift(async () => {
    await versions.relay?.stop();
    await versions.functions?.stop();
  });
  await writeClusters(stage.clustersFile, world);
  const results: StepResult[] = [];
  for (const [relay, functions] of [
    [before, before],
    [before, today],
    [today, today],
    [today, before],
    [before, before],
  ] as const) {
    const result = await playStep(stage, world, versions, { relay, functions }, nodes);
    say(`relay ${relay.name}, functions ${functions.name}: done`);
    results.push(result);
  }
  if (values["write-fixtures"]) {
    const [, { state } = {}] = results;
    if (state === undefined) throw new Error("the older version has written no state");
    const sources = join(folder, "before/sources");
    const commit = values.from;
    await writeFixtures({ commit, sources, stage, state, node: world.someNode() });
  }
  say("a cluster goes over to a canary, and back");
  const other = await createWorld(join(folder, "tenant-b"), "tenant-b", ec2);
  closers.unshift(() => other.close());
  const canary = await playCanary({
    ...{ stage, canary: await stageNamed("canary"), worlds: [world, other], today, before, nodes },
  });
  say(`\n${formatSteps([...results, ...canary])}`);
  const faults = checkSteps([...results, ...canary], nodes);
  for (const fault of faults) say(fault);
  if (faults.length > 0) process.exitCode = 1;
} finally {
  for (const close of closers) await close().catch((error: unknown) => say(`not ended: ${String(error)}`));
  if (values.keep) say(`logs are in ${folder}`);
  else await rm(folder, { recursive: true, force: true });
}

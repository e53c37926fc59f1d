import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { ConfigurationError } from "#cli/configuration-error.ts";
import type { ChildProgram, LogLine } from "#cli/demo/child-program.ts";
import { DEMO_CLOUDS } from "#cli/demo/clouds.ts";
import { MAX_NODES, type Machine, MIN_NODES, registerNode, registerNodes } from "#cli/demo/nodes.ts";
import { type Stage, setStage } from "#cli/demo/stage.ts";
import { formatMs, formatTable, getPercentile } from "#cli/demo/table.ts";
import { formatWalk } from "#cli/demo/walk.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { NodeRecord } from "#emulators/harness/node-history.ts";

/** The flags of `demo`. */
export interface DemoFlags {
  readonly cloudProvider: string;
  readonly lambda?: boolean;
  readonly platform: string;
  readonly keep?: boolean;
  /** Prints all values of the first act as JSON. */
  readonly json?: boolean;
  readonly nodes: string;
}

/** The signals that end the demo, and their exit codes in shells. */
const INTERRUPTS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const;

/** The time limit for all nodes of a burst, in milliseconds. */
const BURST_TIMEOUT_MS = 120_000;

/** The number of registered nodes at which the failures of the third act begin. */
const PLATFORM_OFF_AT = 50;

const PLATFORM_ON_AT = 100;

const RELAY_KILLED_AT = MIN_NODES - 10;

/** Shows in four acts how nodes are initialized. Throws, so that the process fails, unless every node was. */
export async function runDemo(flags: DemoFlags): Promise<void> {
  const count = /^\d+$/.test(flags.nodes) ? Number(flags.nodes) : Number.NaN;
  if (!(count >= MIN_NODES && count <= MAX_NODES)) {
    const message = `"${flags.nodes}" is not a number of nodes; give one from ${MIN_NODES} to ${MAX_NODES}`;
    throw new ConfigurationError([{ name: "--nodes", message }]);
  }
  const cloud = DEMO_CLOUDS.find((name) => name === flags.cloudProvider);
  if (cloud === undefined) {
    const message = `"${flags.cloudProvider}" is not a cloud of the demo; known are ${DEMO_CLOUDS.join(", ")}`;
    throw new ConfigurationError([{ name: "--cloud-provider", message }]);
  }
  const { lambda = false, platform } = flags;
  if (platform !== "lambda" && platform !== "http") {
    const message = `"${platform}" is not a function platform of the demo; known are lambda, http`;
    throw new ConfigurationError([{ name: "--platform", message }]);
  }
  if (lambda && platform === "http")
    throw new ConfigurationError([{ name: "--lambda", message: "is for --platform lambda; leave it out" }]);
  // `process.exit` also ends what was started and created: see the stage's handlers of "exit".
  for (const [signal, code] of INTERRUPTS) process.on(signal, () => process.exit(code));
  const stage = await setStage({
    cloud,
    platform: platform === "http" ? "http" : lambda ? "packaged" : "embedded",
    binaries: process.env["KUBEBUILDER_ASSETS"],
  });
  try {
    printIntroduction(stage);
    const relay = await stage.startRelay(() => undefined);
    const acts = [
      { name: "one node", machines: await playOneNode(stage, flags.json === true) },
      { name: `burst of ${count}`, machines: await playBurst(stage, count) },
      { name: "burst with failures", machines: await playBurstWithFailures(stage, count, relay) },
    ];
    await summarize(stage, acts);
    if (flags.keep) await keepRunning(stage);
  } finally {
    await stage.close();
  }
}

function printIntroduction({ plane, platform, cloud }: Stage): void {
  const server =
    plane.kind === "embedded" ? "API server (embedded)" : "API server (real kube-apiserver and etcd)";
  print(
    `${server} → relay (the real one, a process of its own) → ${PLATFORM_WORDS[platform.kind]} → ${cloud.words}`,
  );
}

const PLATFORM_WORDS = {
  embedded: "AWS SDK → function (the real one, behind an embedded Invoke API)",
  packaged: "AWS SDK → function (the packaged zip, under serverless-offline)",
  http: "HTTP → function (the real one, a process of its own)",
} as const satisfies Record<Stage["platform"]["kind"], string>;

async function playOneNode(stage: Stage, asJson: boolean): Promise<Machine[]> {
  printTitle(1, "one node joins");
  const machines = stage.cloud.add(1);
  const [machine] = machines;
  if (machine === undefined) return machines;
  const before = await registerNode(stage.admin, machine);
  await waitUntilAllUp(stage, machines);
  const after = getRecord(stage, machine.name).latest;
  const [walk] = stage.platform.walks();
  if (asJson) printJson({ before, walks: stage.platform.walks(), after });
  else for (const line of formatWalk(before, walk, after)) print(line);
  return machines;
}

async function playBurst(stage: Stage, count: number): Promise<Machine[]> {
  printTitle(2, `${count} nodes join at once`);
  const machines = stage.cloud.add(count);
  await showLiveCounts(stage, machines, () => registerNodes(stage.admin, machines));
  return machines;
}

/** Registers machines, and shows how many are up until all are. */
async function showLiveCounts(
  stage: Stage,
  machines: readonly Machine[],
  register: () => Promise<void>,
): Promise<void> {
  const counter = createCounter(() => formatLiveCounts(stage, machines));
  try {
    await register();
    await waitUntilAllUp(stage, machines);
  } finally {
    counter.stop();
  }
}

async function playBurstWithFailures(
  stage: Stage,
  count: number,
  firstRelay: ChildProgram,
): Promise<Machine[]> {
  printTitle(3, `${count} more join, and things break`);
  const machines = stage.cloud.add(count);
  const troubles: Readonly<Record<number, () => Promise<void>>> = {
    [PLATFORM_OFF_AT]: async () => {
      await stage.platform.turnOff();
      print(`after the ${PLATFORM_OFF_AT}th node: the function platform is off`);
    },
    [PLATFORM_ON_AT]: async () => {
      await stage.platform.turnOn();
      print(`after the ${PLATFORM_ON_AT}th node: the function platform is on again`);
    },
    [RELAY_KILLED_AT]: () => killAndRestart(stage, firstRelay),
  };
  // One after the other, while nodes continue to join: some platforms take seconds to start.
  await showLiveCounts(stage, machines, async () => {
    let last = Promise.resolve();
    await registerNodes(stage.admin, machines, (registered) => {
      const trouble = troubles[registered];
      if (trouble !== undefined) last = last.then(trouble);
    });
    await last;
  });
  return machines;
}

async function killAndRestart(stage: Stage, relay: ChildProgram): Promise<void> {
  await relay.kill();
  const pending = [...stage.history.records.values()].filter(isTainted).length;
  print(
    `after the ${RELAY_KILLED_AT}th node: the relay is killed (SIGKILL); ${pending} nodes were pending, written down nowhere`,
  );
  let told = false;
  await stage.startRelay((line: LogLine) => {
    if (told || line["event"] !== "Listed") return;
    told = true;
    print(`a new relay listed ${line["objects"]} nodes, and found those that still need work among them`);
  });
}

async function waitUntilAllUp(stage: Stage, machines: readonly Machine[]): Promise<void> {
  const names = new Set(machines.map(({ name }) => name));
  const isUp = (): boolean => selectUp(stage, names).length === names.size;
  await stage.history.until(`${names.size} nodes to be initialized`, isUp, BURST_TIMEOUT_MS);
  // Events and the last report follow the last patch.
  await sleep(200);
}

function formatLiveCounts(stage: Stage, machines: readonly Machine[]): string {
  const names = new Set(machines.map(({ name }) => name));
  const joined = [...stage.history.records.values()].filter(({ name }) => names.has(name)).length;
  return `${joined} joined, ${selectUp(stage, names).length} schedulable`;
}

function selectUp({ history }: Stage, names: ReadonlySet<string>): NodeRecord[] {
  return [...history.records.values()].filter(
    ({ name, schedulableAt }) => names.has(name) && schedulableAt !== undefined,
  );
}

function getRecord({ history }: Stage, name: string): NodeRecord {
  const record = [...history.records.values()].find((each) => each.name === name);
  if (record === undefined) throw new Error(`the API server never showed node ${name}`);
  return record;
}

function isTainted({ latest }: NodeRecord): boolean {
  return isUninitialized(latest);
}

async function keepRunning({ plane }: Stage): Promise<void> {
  print(`\neverything runs until Ctrl-C: kubectl --kubeconfig ${await plane.kubeconfig("admin")} get nodes`);
  await new Promise<void>((resolve) => {
    for (const [signal] of INTERRUPTS) process.removeAllListeners(signal).once(signal, () => resolve());
  });
}

/** An act that was shown. */
interface Act {
  readonly name: string;
  readonly machines: readonly Machine[];
}

/**
 * Prints the table from the API server's own audit log and watch; throws if a node is naked or the log has a
 * gap.
 */
async function summarize(stage: Stage, acts: readonly Act[]): Promise<void> {
  printTitle(4, "what it took, from the API server's record");
  const rows = acts.map(({ name, machines }) => formatRow(name, selectRecords(stage, machines)));
  print(formatTable([["", "nodes", "p50", "p95", "max", "naked"], ...rows]));
  const nodes = acts.reduce((sum, { machines }) => sum + machines.length, 0);
  print(await formatRequests(stage, nodes));
  const calls = Object.entries(stage.cloud.counts()).map(([action, count]) => `${count} ${action}`);
  print(`cloud calls for ${nodes} nodes: ${calls.join(", ")}`);
  const naked = [...stage.history.records.values()].filter((record) => record.naked);
  if (naked.length > 0)
    throw new Error(`${naked.length} nodes were without the taint and without an address`);
  if (stage.history.hole !== undefined) throw new Error(`the watch missed versions: ${stage.history.hole}`);
}

function formatRow(name: string, records: readonly NodeRecord[]): string[] {
  const delaysMs = records.map(({ addedAt, schedulableAt }) => (schedulableAt ?? Number.NaN) - addedAt);
  const naked = records.filter((record) => record.naked).length;
  const times = [0.5, 0.95, 1].map((share) => formatMs(getPercentile(delaysMs, share)));
  return [name, `${records.length}`, ...times, `${naked}`];
}

async function formatRequests({ plane }: Stage, nodes: number): Promise<string> {
  const record = await plane.record();
  const ours = record.filter(
    ({ user, resource }) => user === CONTROL_PLANE_USERS.node.name && resource === "nodes",
  );
  const writes = ours.filter(({ verb, code }) => verb === "patch" && code === 200).length;
  const refused = ours.filter(({ verb, code }) => verb === "patch" && code !== 200).length;
  const reads = ours.filter(({ verb }) => verb === "get").length;
  const throttled = record.filter(({ code }) => code === 429).length;
  return `node writes: ${writes} (${(writes / nodes).toFixed(2)} a node), refused: ${refused}, reads: ${reads}, 429s: ${throttled}`;
}

function selectRecords({ history }: Stage, machines: readonly Machine[]): NodeRecord[] {
  const names = new Set(machines.map(({ name }) => name));
  return [...history.records.values()].filter(({ name }) => names.has(name));
}

/** Milliseconds between two reads of a count. */
const INTERVAL_MS = { terminal: 100, plain: 1_000 };
let liveLine = "";

/** Prints a line, above the live one if there is one. */
function print(line: string): void {
  process.stdout.write(liveLine === "" ? `${line}\n` : `\r\x1b[2K${line}\n${liveLine}`);
}

function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}

function printTitle(act: number, text: string): void {
  print(`\n${styleText("bold", `── ${act}. ${text} ──`)}`);
}

/** Shows a changing text: in place on a terminal, else as lines. */
function createCounter(read: () => string): { readonly stop: () => void } {
  const live = process.stdout.isTTY === true;
  let last = "";
  const show = (): void => {
    const text = read();
    if (text === last) return;
    last = text;
    if (live) {
      liveLine = text;
      process.stdout.write(`\r\x1b[2K${text}`);
    } else print(text);
  };
  const timer = setInterval(show, live ? INTERVAL_MS.terminal : INTERVAL_MS.plain);
  return {
    stop: () => {
      clearInterval(timer);
      show();
      if (live) process.stdout.write("\n");
      liveLine = "";
    },
  };
}

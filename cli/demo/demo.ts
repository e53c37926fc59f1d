import { setTimeout as sleep } from "node:timers/promises";
import { ConfigurationError } from "#cli/configuration-error.ts";
import type { ChildRelay, LogLine } from "#cli/demo/child-relay.ts";
import { DEMO_CLOUDS } from "#cli/demo/clouds/demo-cloud.ts";
import { MAX_NODES, MIN_NODES } from "#cli/demo/node-range.ts";
import { type Machine, registerNode, registerNodes } from "#cli/demo/nodes.ts";
import { createCounter, print, printJson, title } from "#cli/demo/screen.ts";
import { type Stage, setStage } from "#cli/demo/stage.ts";
import { summarize } from "#cli/demo/summary.ts";
import { walkLines } from "#cli/demo/walk-lines.ts";
import { isUninitialized } from "#core/node/taints.ts";
import type { NodeRecord } from "#emulators/harness/node-history.ts";

/** The flags of `demo`. */
export interface DemoFlags {
  readonly cloudProvider: string;
  readonly lambda?: boolean;
  readonly keep?: boolean;
  /** The values of the first act whole, as JSON. */
  readonly json?: boolean;
  readonly nodes: string;
}

/** The signals that end the demo, and the codes by which shells know them. */
const INTERRUPTS = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const;

/** How long a burst may take to come up, in milliseconds. */
const BURST_TIMEOUT_MS = 120_000;

/** When things go wrong in the third act, in nodes registered. */
const PLATFORM_OFF_AT = 50;
const PLATFORM_ON_AT = 100;
const RELAY_KILLED_AT = MIN_NODES - 10;

/** Shows in four acts how nodes come up. Throws, so that the process fails, unless every node did. */
export async function demo(flags: DemoFlags): Promise<void> {
  const count = /^\d+$/.test(flags.nodes) ? Number(flags.nodes) : Number.NaN;
  if (!(count >= MIN_NODES && count <= MAX_NODES)) {
    const message = `"${flags.nodes}" is no number of nodes; give one from ${MIN_NODES} to ${MAX_NODES}`;
    throw new ConfigurationError([{ name: "--nodes", message }]);
  }
  const cloud = DEMO_CLOUDS.find((name) => name === flags.cloudProvider);
  if (cloud === undefined) {
    const message = `"${flags.cloudProvider}" is no cloud of the demo; known are ${DEMO_CLOUDS.join(", ")}`;
    throw new ConfigurationError([{ name: "--cloud-provider", message }]);
  }
  // Whoever leaves by `process.exit` takes along what was started and made: see the stage's handlers of "exit".
  for (const [signal, code] of INTERRUPTS) process.on(signal, () => process.exit(code));
  const stage = await setStage({
    cloud,
    lambda: flags.lambda === true,
    binaries: process.env["KUBEBUILDER_ASSETS"],
  });
  try {
    introduce(stage);
    const relay = await stage.startRelay(() => undefined);
    const acts = [
      { name: "one node", machines: await oneNode(stage, flags.json === true) },
      { name: `burst of ${count}`, machines: await burst(stage, count) },
      { name: "burst with failures", machines: await burstWithFailures(stage, count, relay) },
    ];
    await summarize(stage, acts);
    if (flags.keep) await keepRunning(stage);
  } finally {
    await stage.close();
  }
}

function introduce({ plane, platform, cloud }: Stage): void {
  const server =
    plane.kind === "embedded" ? "API server (embedded)" : "API server (real kube-apiserver and etcd)";
  const functions =
    platform.kind === "embedded"
      ? "function (the real one, behind an embedded Invoke API)"
      : "function (the packaged zip, under serverless-offline)";
  print(`${server} → relay (the real one, a process of its own) → AWS SDK → ${functions} → ${cloud.words}`);
}

async function oneNode(stage: Stage, asJson: boolean): Promise<Machine[]> {
  title(1, "one node joins");
  const machines = stage.cloud.add(1);
  const [machine] = machines;
  if (machine === undefined) return machines;
  const before = await registerNode(stage.admin, machine);
  await allUp(stage, machines);
  const after = recordOf(stage, machine.name).latest;
  const [walk] = stage.platform.walks();
  if (asJson) printJson({ before, walks: stage.platform.walks(), after });
  else for (const line of walkLines(before, walk, after)) print(line);
  return machines;
}

async function burst(stage: Stage, count: number): Promise<Machine[]> {
  title(2, `${count} nodes join at once`);
  const machines = stage.cloud.add(count);
  const counter = createCounter(() => liveCounts(stage, machines));
  await registerNodes(stage.admin, machines);
  await allUp(stage, machines);
  counter.stop();
  return machines;
}

async function burstWithFailures(stage: Stage, count: number, firstRelay: ChildRelay): Promise<Machine[]> {
  title(3, `${count} more join, and things break`);
  const machines = stage.cloud.add(count);
  const counter = createCounter(() => liveCounts(stage, machines));
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
  // One after the other, while nodes go on joining: some platforms take seconds to start.
  let last = Promise.resolve();
  await registerNodes(stage.admin, machines, (registered) => {
    const trouble = troubles[registered];
    if (trouble !== undefined) last = last.then(trouble);
  });
  await last;
  await allUp(stage, machines);
  counter.stop();
  return machines;
}

async function killAndRestart(stage: Stage, relay: ChildRelay): Promise<void> {
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

async function allUp(stage: Stage, machines: readonly Machine[]): Promise<void> {
  const names = new Set(machines.map(({ name }) => name));
  const isUp = (): boolean => up(stage, names).length === names.size;
  await stage.history.until(`${names.size} nodes to come up`, isUp, BURST_TIMEOUT_MS);
  // Events and the last report follow the last patch.
  await sleep(200);
}

function liveCounts(stage: Stage, machines: readonly Machine[]): string {
  const names = new Set(machines.map(({ name }) => name));
  const joined = [...stage.history.records.values()].filter(({ name }) => names.has(name)).length;
  return `${joined} joined, ${up(stage, names).length} schedulable`;
}

function up({ history }: Stage, names: ReadonlySet<string>): NodeRecord[] {
  return [...history.records.values()].filter(
    ({ name, schedulableAt }) => names.has(name) && schedulableAt !== undefined,
  );
}

function recordOf({ history }: Stage, name: string): NodeRecord {
  const record = [...history.records.values()].find((each) => each.name === name);
  if (record === undefined) throw new Error(`the API server never showed node ${name}`);
  return record;
}

function isTainted({ latest }: NodeRecord): boolean {
  return isUninitialized(latest);
}

async function keepRunning({ plane }: Stage): Promise<void> {
  print(
    `\neverything goes on until Ctrl-C: kubectl --kubeconfig ${await plane.kubeconfig("admin")} get nodes`,
  );
  await new Promise<void>((resolve) => {
    for (const [signal] of INTERRUPTS) process.removeAllListeners(signal).once(signal, () => resolve());
  });
}

import { Cluster } from "#config/cluster.ts";
import { type Event, MAX_EVENT_BYTES } from "#core/event.ts";
import { KILL_POINTS, type KillPoint } from "#test/platforms/contract/kill-points.ts";
import type { Caller, Disturbance } from "#test/platforms/contract/platform.ts";
import type { Builds, Stage, StageOptions } from "#test/platforms/contract/stage.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

/** A row of the contract: what befalls a platform while nodes join. All of them must be up at its end. */
export interface Row {
  readonly name: string;
  /** Returns what the row wants of its platform; undefined if a version that it needs is missing. */
  options?(builds: Builds): StageOptions | undefined;
  /** Rejects with the part of the contract that the platform does not keep. */
  play(stage: Stage): Promise<void>;
}

/** Nodes of a row. */
export const NODES = 300;

/** How often a disturbance happens: a burst of 300 nodes has few invocations. */
const TIMES = 3;

/** A relay has at most four invocations of a cluster at a time. */
const AT_ONCE = 4;

const SLOW_MS = 8_000;
const HANGING_CALLS = 6;

/** The limit of a platform for an event. */
const PLATFORM_LIMIT_BYTES = 6 * 1024 * 1024;

const table = {
  delivered: row(async (stage) => {
    await burst(stage);
    expectFailures(stage, []);
  }),
  refused: disturbed("refuse", ["Unreachable"]),
  "turned off": row(async (stage) => {
    await stage.startRelay();
    await stage.platform.turnOff();
    await stage.join(NODES);
    await waitUntilTrue("an invocation to fail", () => stage.failures().length > 0);
    await stage.platform.turnOn();
    await stage.untilUp();
    expectFailures(stage, ["Unreachable"]);
  }),
  throttled: row(
    async (stage) => {
      await burst(stage);
      expectFailures(stage, ["Throttled"]);
    },
    () => ({ concurrency: 1 }),
  ),
  slow: row(async (stage) => {
    const failure = { action: "DescribeInstances", kind: "slow", count: TIMES, delayMs: SLOW_MS } as const;
    stage.ec2.set({ failures: [failure] });
    await burst(stage);
    expectCalls(stage, "slow", TIMES);
    expectFailures(stage, []);
  }),
  "out of time": row(async (stage) => {
    // Afterwards processes are warm: a relay waits two seconds longer than a function runs, and a start may take more.
    await burst(stage);
    stage.ec2.set({ failures: [{ action: "DescribeInstances", kind: "hang", count: HANGING_CALLS }] });
    await stage.join(NODES / 3);
    await stage.untilUp();
    expectCalls(stage, "hang", HANGING_CALLS);
    // A function that knows its deadline reports what it could not do, and is not cut.
    expectFailures(stage, []);
  }),
  ...(Object.fromEntries(KILL_POINTS.map((point) => [`killed ${point}`, killed(point)])) as Record<
    `killed ${KillPoint}`,
    Omit<Row, "name">
  >),
  "answer lost": disturbed("lose the answer", ["Unreachable"]),
  "delivered twice at the same time": disturbed("deliver twice", []),
  "scaled from zero": row(async (stage) => {
    await stage.startRelay();
    for (const half of [1, 2]) {
      await stage.platform.scaleToZero();
      const before = stage.platform.counts().processes;
      await stage.join(NODES / 2);
      await stage.untilUp();
      const started = stage.platform.counts().processes - before;
      if (started < 1 || started > AT_ONCE) throw new Error(`burst ${half} started ${started} processes`);
    }
    expectFailures(stage, []);
  }),
  "rolled over to the same version": rolledOver(({ today }) => ({ from: today, to: today, relay: today })),
  "rolled over from N−1 to N, relay N−1": rolledOver(
    ({ today, previous }) => previous && { from: previous, to: today, relay: previous },
  ),
  "rolled over from N−1 to N, relay N": rolledOver(
    ({ today, previous }) => previous && { from: previous, to: today, relay: today },
  ),
  "rolled back from N to N−1, relay N": rolledOver(
    ({ today, previous }) => previous && { from: today, to: previous, relay: today },
  ),
  "rolled back from N to N−1, relay N−1": rolledOver(
    ({ today, previous }) => previous && { from: today, to: previous, relay: previous },
  ),
  "an event of 6 MB": row(async (stage) => {
    const largest = await stage.platform.invoke(buildEvent(stage, MAX_EVENT_BYTES));
    if (largest.kind !== "report") throw new Error(`our largest event: ${largest.code}, ${largest.message}`);
    const tooLarge = await stage.platform.invoke(buildEvent(stage, PLATFORM_LIMIT_BYTES + 1));
    const code = tooLarge.kind === "failed" ? tooLarge.code : "a report";
    if (code !== "Rejected" || (tooLarge.kind === "failed" && tooLarge.settleMs > 0))
      throw new Error(`an event above 6 MB: ${JSON.stringify(tooLarge).slice(0, 300)}`);
    await burst(stage);
    expectFailures(stage, []);
  }),
  unauthenticated: kept("unauthenticated"),
  "for another audience": kept("for another audience"),
  unauthorized: kept("unauthorized"),
} satisfies Record<string, Omit<Row, "name">>;

export type RowName = keyof typeof table;

/** The contract of a function platform, in printed order. */
export const ROWS: readonly (Row & { readonly name: RowName })[] = Object.entries(table).map(
  ([name, rest]) => ({ ...rest, name: name as RowName }),
);

function row(play: Row["play"], options?: Row["options"]): Omit<Row, "name"> {
  return options === undefined ? { play } : { play, options };
}

/** A relay, and a burst of nodes. */
async function burst(stage: Stage): Promise<void> {
  await stage.startRelay();
  await stage.join(NODES);
  await stage.untilUp();
}

/** Throws unless all failed invocations have one of these codes, and one failed if there are any codes. */
function expectFailures(stage: Stage, codes: readonly string[]): void {
  const failures = stage.failures();
  const others = failures.filter((code) => !codes.includes(code));
  if (others.length > 0) throw new Error(`invocations failed: ${others.join(", ")}`);
  if (codes.length > 0 && failures.length === 0) throw new Error("no invocation failed");
}

/** Throws unless so many calls of EC2 have met this failure. */
function expectCalls({ ec2 }: Stage, failure: "slow" | "hang", count: number): void {
  const met = ec2.record().filter(({ code }) => code === failure).length;
  if (met < count) throw new Error(`${met} of ${count} calls met the failure "${failure}"`);
}

function disturbed(how: Disturbance, codes: readonly string[]): Omit<Row, "name"> {
  return row(async (stage) => {
    stage.platform.disturb(how, TIMES);
    await burst(stage);
    if (stage.platform.left() > 0) throw new Error(`${stage.platform.left()} of ${TIMES} did not happen`);
    expectFailures(stage, codes);
  });
}

function killed(point: KillPoint): Omit<Row, "name"> {
  return row(async (stage) => {
    const trap = stage.killAt(point, TIMES);
    await burst(stage);
    // A process with several invocations takes them all with it, so that few may be left to kill.
    if (trap.left() === TIMES) throw new Error("no process was killed");
    // A relay that dies with its functions says nothing.
    if (stage.platform.counts().invocations === undefined) expectFailures(stage, []);
    else expectFailures(stage, ["FunctionError", "Unreachable"]);
  });
}

/** The functions of a version are replaced by those of another one while nodes join. */
function rolledOver(
  choose: (builds: Builds) => Record<"from" | "to" | "relay", Builds["today"]> | undefined,
): Omit<Row, "name"> {
  return row(
    async (stage) => {
      const versions = choose(stage.builds);
      if (versions === undefined) throw new Error("a version is missing");
      await stage.startRelay({ build: versions.relay });
      const joining = stage.join(NODES);
      await stage.untilSome(NODES / 10);
      await stage.platform.rollOver(versions.to);
      await joining;
      // A burst may be over before the other version runs.
      await stage.join(NODES / 10);
      await stage.untilUp();
      expectFailures(stage, []);
    },
    (builds) => {
      const versions = choose(builds);
      return versions && { build: versions.from };
    },
  );
}

/** A relay that may not invoke starts nothing; the permitted one after it brings the nodes up. */
function kept(caller: Exclude<Caller, "permitted">): Omit<Row, "name"> {
  return row(async (stage) => {
    const relay = await stage.startRelay({ caller });
    await stage.join(NODES);
    await waitUntilTrue("an invocation to be denied", () => stage.failures().length > 0);
    await relay.stop("SIGKILL");
    expectFailures(stage, ["Denied"]);
    const calls = Object.keys(stage.ec2.counts());
    if (calls.length > 0) throw new Error(`a function ran and called ${calls.join(", ")}`);
    await stage.startRelay();
    await stage.untilUp();
    expectFailures(stage, ["Denied"]);
  });
}

/** Builds an event of so many bytes about one node that no instance belongs to. */
function buildEvent({ entry }: Stage, bytes: number): Event {
  const build = (padding: string): Event => ({
    version: 1,
    id: `contract.${bytes}`,
    cluster: entry.name,
    clusterHash: Cluster.parse(entry).hash,
    controller: "cloud-node-controller",
    reason: "watch",
    objects: [
      {
        metadata: { name: "large", uid: "large", resourceVersion: "1", annotations: { padding } },
        spec: { taints: [{ key: `node.cloudprovider.kubernetes.io/uninitialized`, effect: "NoSchedule" }] },
      },
    ],
  });
  return build("x".repeat(bytes - Buffer.byteLength(JSON.stringify(build("")))));
}

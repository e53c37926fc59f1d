import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Cluster } from "#config/cluster.ts";
import { startRelay } from "#relay/relay.ts";
import type { Row } from "#test/faults/row.ts";
import { createFakeApi, type FakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { initialize, TAINTED } from "#test/relay/fake-functions.ts";
import { buildReport } from "#test/relay/report-builders.ts";

const MANY = 5_000;
const HEAP_MIB = 192;
const HEAP_FLAGS: readonly string[] = [`--max-old-space-size=${HEAP_MIB}`];
/** Nodes of 15 KB, most of it written by others. */
const ANNOTATION_BYTES = 12_500;

const HEARTBEAT_NODES = 300;
const HEARTBEAT_MINUTES = 5;
const HOURS = 72;
/** How much a stable heap may differ between two checks, in bytes: an entry of 300 is below 10 KB. */
const HEAP_NOISE_BYTES = 3 * 1024 * 1024;

/** What grows with nodes and with time. */
export const SIZE_ROWS: readonly Row[] = [
  {
    name: `5,000 nodes of 15 KB, heaps of ${HEAP_MIB} MiB`,
    async play(stage) {
      const big = () => ({ annotations: { "example.com/inventory": "s".repeat(ANNOTATION_BYTES) } });
      const functions = await stage.startFunctionProcess(HEAP_FLAGS);
      stage.platform.runWith(functions.run);
      await stage.join(MANY / 2, big);
      const relay = await stage.startRelayProcess(HEAP_FLAGS);
      await stage.join(MANY / 2, big);
      await stage.untilUp(300_000);
      for (const [what, child] of [
        ["relay", relay],
        ["function", functions.process],
      ] as const)
        if (child.hasExited()) throw new Error(`the ${what} did not survive: ${child.output()}`);
    },
  },
  {
    name: "heartbeats of 72 hours, fast forward",
    async play() {
      const sizes = await heartbeats();
      const [first, last] = [sizes.at(0), sizes.at(-1)];
      if (first === undefined || last === undefined) throw new Error("nothing was measured");
      const grownBytes = last.heapBytes - first.heapBytes;
      if (grownBytes > HEAP_NOISE_BYTES)
        throw new Error(
          `the relay grew by ${Math.round(grownBytes / 1024)} KiB in ${HOURS - HOURS / 3} hours`,
        );
      if (last.objects !== HEARTBEAT_NODES) throw new Error(`${last.objects} nodes are known`);
      return { nodes: HEARTBEAT_NODES, up: last.up };
    },
  },
];

interface Size {
  readonly heapBytes: number;
  readonly objects: number;
  readonly up: number;
}

/**
 * A relay on an API server in memory with a controlled clock: nodes come up, and their kubelets write them
 * from then on.
 */
async function heartbeats(): Promise<readonly Size[]> {
  const api = createFakeApi();
  const clock = createManualClock();
  const names = Array.from({ length: HEARTBEAT_NODES }, (_, index) => `node-${index}`);
  for (const name of names) api.put(name, TAINTED);
  const relay = startRelay({
    clusters: [{ cluster: clusterInMemory(), transport: api }],
    invoker: {
      invoke: async (event) => ({
        kind: "report",
        report: buildReport(event, (index) =>
          event.reason === "watch" ? initialize(api, event.objects[index]) : {},
        ),
      }),
      close: async () => {},
    },
    identity: "heartbeats",
    nodeStatusUpdateFrequencySeconds: 300,
    clock,
    random: () => 0.5,
  });
  const sizes: Size[] = [];
  const collect = collector();
  await clock.advance(1_000);
  for (let minute = 0; minute < HOURS * 60; minute += 1) {
    for (const [index, name] of names.entries()) {
      if (index % HEARTBEAT_MINUTES !== minute % HEARTBEAT_MINUTES) continue;
      api.put(name, { metadata: { annotations: { heartbeat: String(clock.now()) } } });
    }
    await clock.advance(60_000);
    // The memory of the in-memory server is not the relay's.
    if (minute % 60 === 0) forget(api);
    if ((minute + 1) % ((HOURS / 3) * 60) !== 0) continue;
    forget(api);
    collect();
    const status = relay.status().at(0);
    sizes.push({
      heapBytes: process.memoryUsage().heapUsed,
      objects: status?.objects ?? 0,
      up: (status?.objects ?? 0) - (status?.needed ?? 0),
    });
  }
  await relay.close();
  return sizes;
}

function forget(api: FakeApi): void {
  api.compact("connect");
  (api.requests as string[]).splice(0);
}

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

function clusterInMemory(): Cluster {
  return Cluster.parse({
    name: "heartbeats",
    server: "https://fake.invalid",
    cloud: { provider: "memory", instancesFile: "/none" },
    // The other one would check nodes that are never Ready, like these, forever.
    controllers: ["cloud-node-controller"],
  });
}

import { parentPort, workerData } from "node:worker_threads";
import { createUnfollowedState } from "#relay/cluster-state.ts";
import { createHandledCluster } from "#relay/workers/handled-cluster.ts";
import type { FromWorker, ToWorker, WorkerStart } from "#relay/workers/messages.ts";
import { ORDERS } from "#test/relay/workers/orders.ts";

// A worker that reports every cluster as ready, with its own id as the number of objects. It executes orders
// for clusters whose names begin with "bad"; if they continue with "-unmarked", their culprit stays unknown.

const { start, orders, spinning } = workerData as {
  readonly start: WorkerStart;
  readonly orders: Int32Array;
  readonly spinning: Int32Array;
};
const handledCluster = createHandledCluster(start.handledCluster);
const clusters = new Map<string, number>();
const kept: unknown[] = [];
const post = (message: FromWorker): void => parentPort?.postMessage(message);
const order = (): string => ORDERS[Atomics.load(orders, 0)] ?? "nothing";

function obey(): void {
  for (const [name, index] of clusters) {
    if (!name.startsWith("bad")) continue;
    if (!name.startsWith("bad-unmarked")) handledCluster.begin(index);
    switch (order()) {
      case "spin":
        Atomics.store(spinning, start.id, 1);
        for (;;);
      case "exhaust":
        for (;;) kept.push(new Array(100_000).fill(kept.length));
      case "throw":
        throw new Error("as it was ordered");
      case "exit":
        process.exit(0);
    }
  }
}

function setDesiredState({
  name,
  generation,
  index,
  cluster,
}: Extract<ToWorker, { kind: "desired-state" }>): void {
  if (cluster === undefined) {
    clusters.delete(name);
    post({ kind: "status", changed: [], gone: [name] });
  } else {
    clusters.set(name, index);
    const status = {
      ...createUnfollowedState(name, { code: "None", message: "" }),
      ready: true,
      failure: undefined,
      configurationFault: undefined,
      objects: start.id,
      invocations: cluster.limits.invocations,
    };
    post({ kind: "status", changed: [status], gone: [] });
  }
  post({ kind: "settled", name, generation });
}

if (order() === "fail") throw new Error("it cannot begin");
const timer = setInterval(obey, 5);
parentPort?.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "desired-state":
      setDesiredState(message);
      break;
    case "ping":
      post({ kind: "pong" });
      break;
    case "ask-metrics":
      post({ kind: "metrics", id: message.id, metrics: [] });
      break;
    case "drain":
      if (order() !== "linger") post({ kind: "drained" });
      break;
    case "close":
      clearInterval(timer);
      if (order() !== "linger") parentPort?.close();
      break;
    default:
  }
});
post({ kind: "ready" });

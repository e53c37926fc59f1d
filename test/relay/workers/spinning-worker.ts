import { workerData } from "node:worker_threads";
import { runRelayWorker } from "#cli/relay/relay-worker.ts";
import { WATCHES } from "#core/controllers.ts";
import type { Watch } from "#core/watch.ts";

// Runs the relay's own worker, which spins for ever when it sees an object whose name begins with "spin".

const nameOf = (object: unknown): string =>
  String((object as { readonly metadata?: { readonly name?: unknown } } | undefined)?.metadata?.name);

const { start, spinning } = workerData as { readonly start: { id: number }; readonly spinning: Int32Array };

const spin = (watch: Watch): Watch => ({
  ...watch,
  parse(object) {
    if (nameOf(object).startsWith("spin")) Atomics.store(spinning, start.id, 1);
    while (nameOf(object).startsWith("spin"));
    return watch.parse(object);
  },
});

await runRelayWorker(workerData, WATCHES.map(spin));

import { FIELD_MANAGER } from "#core/contracts.ts";
import { createHandoverWitness, type Handover, type NodeState } from "#core/handover.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { listNodeWriters } from "#core/node-writers.ts";
import { formatCollectionPath, NODES } from "#core/resources/resource.ts";
import { isCcm } from "#core/second-ccm.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";

/** How a hand-over is watched. */
export interface WatchHandoverOptions {
  readonly transport: Transport;
  /** Returns whether a field manager belongs to the other controller, in addition to the well-known names. */
  readonly isOther: (manager: string) => boolean;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Called when every node has been seen once; the hand-over may start when it resolves. */
  readonly whenBegun: () => void | Promise<void>;
}

/**
 * Watches all nodes until the signal fires and returns what was seen. Rejects if nodes cannot be listed
 * within a minute.
 */
export async function watchHandover(options: WatchHandoverOptions): Promise<Handover> {
  const { transport, isOther, signal } = options;
  const witness = createHandoverWitness(
    (manager) => manager === FIELD_MANAGER || isCcm(manager) || isOther(manager),
  );
  const listed = Promise.withResolvers<void>();
  const stopped = new AbortController();
  let trouble = "no answer yet";
  const watching = watchResource<NodeState | undefined>({
    transport,
    path: formatCollectionPath(NODES),
    project: parseNodeState,
    handler: {
      applied: (state) => state && witness.observe(state, systemClock.now()),
      deleted: ({ uid }) => witness.remove(uid),
      restarted: () => undefined,
      note(note) {
        if (note.kind === "listed") listed.resolve();
        if (note.kind === "failed") trouble = note.message;
      },
    },
    clock: systemClock,
    random: Math.random,
    signal: stopped.signal,
  });
  try {
    await Promise.race([
      listed.promise,
      pause(systemClock, LIST_TIMEOUT_MS, signal).then(() => refuse(trouble)),
    ]);
    witness.begun();
    await options.whenBegun();
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return witness.judge(systemClock.now());
  } finally {
    stopped.abort();
    await watching;
  }
}

const LIST_TIMEOUT_MS = 60_000;

function refuse(trouble: string): never {
  throw new Error(`the nodes of the cluster cannot be listed: ${trouble}`);
}

function parseNodeState(object: unknown): NodeState | undefined {
  const parsed = parseNode(object);
  if (parsed.kind === "malformed") return undefined;
  const { metadata, spec, status } = parsed.object;
  return {
    name: metadata.name,
    uid: metadata.uid,
    ageMs: Date.now() - Date.parse(metadata.creationTimestamp),
    isTainted: isUninitialized({ spec }),
    hasNodeIp: (status.addresses ?? []).some(({ type }) => type === "InternalIP" || type === "ExternalIP"),
    writers: listNodeWriters(object)
      .filter(({ controller }) => controller === "cloud-node-controller")
      .map(({ manager, at }) => ({ manager, at })),
  };
}

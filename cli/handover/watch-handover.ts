import { FIELD_MANAGER } from "#core/contracts.ts";
import { createHandoverWitness, type Handover, type NodeState } from "#core/handover.ts";
import { parseNode } from "#core/node/snapshot.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { writersOf } from "#core/node-writers.ts";
import { collectionPath, NODES } from "#core/resources/resource.ts";
import { isCcm } from "#core/second-ccm.ts";
import type { Transport } from "#kube/client/transport.ts";
import { pause, systemClock } from "#kube/follow/clock.ts";
import { watchResource } from "#kube/follow/watch.ts";

/** How a hand-over is watched. */
export interface WatchHandoverOptions {
  readonly transport: Transport;
  /** Whether somebody else's field manager is the other controller, beyond those that are so by their names. */
  readonly isOther: (manager: string) => boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Resolves when it may begin: all nodes have been seen once by then. */
  readonly whenBegun: () => void | Promise<void>;
}

/** Watches all nodes until the signal fires; answers with what was seen. Rejects where nodes cannot be listed within a minute. */
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
    path: collectionPath(NODES),
    project: stateOf,
    handler: {
      applied: (state) => state && witness.seen(state, systemClock.now()),
      deleted: ({ uid }) => witness.gone(uid),
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

function stateOf(object: unknown): NodeState | undefined {
  const parsed = parseNode(object);
  if (parsed.kind === "malformed") return undefined;
  const { metadata, spec, status } = parsed.object;
  return {
    name: metadata.name,
    uid: metadata.uid,
    ageMs: Date.now() - Date.parse(metadata.creationTimestamp),
    isTainted: isUninitialized({ spec }),
    hasNodeIp: (status.addresses ?? []).some(({ type }) => type === "InternalIP" || type === "ExternalIP"),
    writers: writersOf(object)
      .filter(({ controller }) => controller === "cloud-node-controller")
      .map(({ manager, at }) => ({ manager, at })),
  };
}

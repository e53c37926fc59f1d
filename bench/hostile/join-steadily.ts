import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { buildJoiningNode } from "#emulators/harness/joining-node.ts";
import type { NodeHistory } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A node that joined, and its result. */
export const JoinedNode = z.strictObject({
  /** Milliseconds since the epoch. */
  joinedAtMs: z.number(),
  /** The time until it was schedulable; absent if that took longer than the limit. */
  tookMs: z.number().optional(),
});
export type JoinedNode = z.output<typeof JoinedNode>;

/** The maximum wait for a node. */
export const JOINING_LIMIT_MS = 30_000;

/** One machine that can join. */
export interface Machine {
  readonly name: string;
  readonly providerID: string;
}

export interface JoiningOptions {
  readonly admin: Transport;
  readonly history: NodeHistory;
  readonly machines: readonly Machine[];
  readonly everyMs: number;
  readonly signal: AbortSignal;
  readonly onJoined: (node: JoinedNode) => void;
}

/** Adds a machine to a cluster at intervals, and removes it once it is up, until the signal fires. */
export async function joinSteadily(options: JoiningOptions): Promise<void> {
  const { machines, everyMs, signal, onJoined } = options;
  const free = [...machines];
  // Clusters with the same start time must not join nodes at the same time.
  await sleep(Math.random() * everyMs, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    const machine = free.shift();
    if (machine !== undefined) {
      void joinOnce(machine, options).then((node) => {
        if (node !== undefined) onJoined(node);
        free.push(machine);
      });
    }
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

const Created = z.object({ metadata: z.object({ uid: z.string() }) });

/** A node that could not register counts as missing, too. */
async function joinOnce(machine: Machine, options: JoiningOptions): Promise<JoinedNode | undefined> {
  const { admin, history, signal } = options;
  const joinedAtMs = Date.now();
  const path = "/api/v1/nodes";
  let tookMs: number | undefined;
  try {
    const answer = await admin.send({ method: "POST", path, body: buildJoiningNode(machine), signal });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.body}`);
    const { uid } = Created.parse(JSON.parse(answer.body)).metadata;
    const isUp = (): boolean => history.records.get(uid)?.schedulableAt !== undefined;
    await history.until(`${machine.name} to be schedulable`, isUp, JOINING_LIMIT_MS);
    const record = history.records.get(uid);
    if (record?.schedulableAt !== undefined) tookMs = record.schedulableAt - record.addedAt;
  } catch {
    // It counts as missing after any error.
  }
  if (signal.aborted) return undefined;
  await admin.send({ method: "DELETE", path: `${path}/${machine.name}` }).catch(() => undefined);
  return tookMs === undefined ? { joinedAtMs } : { joinedAtMs, tookMs };
}

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { joiningNode } from "#emulators/harness/joining-node.ts";
import type { NodeHistory } from "#emulators/harness/node-history.ts";
import type { Transport } from "#kube/client/transport.ts";

/** A node that joined, and how it fared. */
export const JoinedNode = z.strictObject({
  /** Milliseconds since the epoch. */
  joinedAtMs: z.number(),
  /** Until it was schedulable; absent where it was not within the limit. */
  tookMs: z.number().optional(),
});
export type JoinedNode = z.output<typeof JoinedNode>;

/** How long a node is waited for. */
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

/** Has a machine join a cluster once in a while, and go again once it is up; until the signal fires. */
export async function joinSteadily(options: JoiningOptions): Promise<void> {
  const { machines, everyMs, signal, onJoined } = options;
  const free = [...machines];
  // Clusters that were started together must not join together.
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

/** A node that could not even register has not come up either. */
async function joinOnce(machine: Machine, options: JoiningOptions): Promise<JoinedNode | undefined> {
  const { admin, history, signal } = options;
  const joinedAtMs = Date.now();
  const path = "/api/v1/nodes";
  let tookMs: number | undefined;
  try {
    const answer = await admin.send({ method: "POST", path, body: joiningNode(machine), signal });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.body}`);
    const { uid } = Created.parse(JSON.parse(answer.body)).metadata;
    const isUp = (): boolean => history.records.get(uid)?.schedulableAt !== undefined;
    await history.until(`${machine.name} to be schedulable`, isUp, JOINING_LIMIT_MS);
    const record = history.records.get(uid);
    if (record?.schedulableAt !== undefined) tookMs = record.schedulableAt - record.addedAt;
  } catch {
    // It counts as missing, whatever it was.
  }
  if (signal.aborted) return undefined;
  await admin.send({ method: "DELETE", path: `${path}/${machine.name}` }).catch(() => undefined);
  return tookMs === undefined ? { joinedAtMs } : { joinedAtMs, tookMs };
}

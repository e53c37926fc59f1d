import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { access } from "#test/access.ts";
import type { AttackName } from "#test/hostile/attacks.ts";
import { type HostileOptions, startHostileServer } from "#test/hostile/server.ts";

/** A server that attacks nobody of ours. */
export interface Burning {
  sentBytes(): number;
  stop(): Promise<void>;
}

/** Before the sink reads anew what has ended, as a relay's first wait. */
const AGAIN_MS = 1_000;

/**
 * A second hostile server that nobody of ours is connected to, and a null sink in this same process, which reads all that it sends and
 * does nothing with it: what the attack costs the machine by itself.
 */
export async function burn(options: HostileOptions, attack: AttackName): Promise<Burning> {
  const server = await startHostileServer(options);
  const client = connect(await access(server.plane, "relay"));
  await server.attack(attack);
  const stopping = new AbortController();
  const reading = sink(client, stopping.signal);
  return {
    sentBytes: () => server.sentBytes(),
    async stop() {
      stopping.abort();
      await reading;
      await client.close();
      await server.close();
    },
  };
}

async function sink(client: Transport, signal: AbortSignal): Promise<void> {
  const path = "/api/v1/nodes";
  while (!signal.aborted) {
    try {
      const list = await client.stream({ method: "GET", path: `${path}?limit=500`, signal });
      for await (const _ of list.body) if (signal.aborted) return;
      const watch = await client.stream({ method: "GET", path: `${path}?watch=1&resourceVersion=1`, signal });
      for await (const _ of watch.body) if (signal.aborted) return;
    } catch {
      // Whatever it was that ended: it is read again.
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

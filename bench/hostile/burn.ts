import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "#kube/client/connect.ts";
import type { Transport } from "#kube/client/transport.ts";
import { getConnectOptions } from "#test/access.ts";
import type { AttackName } from "#test/adversarial/attacks.ts";
import { type HostileOptions, startHostileServer } from "#test/adversarial/server.ts";

/** A server whose attack reaches no cluster of ours. */
export interface BurningServer {
  sentBytes(): number;
  stop(): Promise<void>;
}

/** The wait before the sink reads an ended stream again, as long as a relay's first wait. */
const AGAIN_MS = 1_000;

/**
 * Starts a second hostile server without our clusters, and a null sink in this process, which reads and drops
 * everything. It shows the attack's own cost for the machine.
 */
export async function burn(options: HostileOptions, attack: AttackName): Promise<BurningServer> {
  const server = await startHostileServer(options);
  const client = connect(await getConnectOptions(server.plane, "relay"));
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
      // The stream is read again after any end.
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
  }
}

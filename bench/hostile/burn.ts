import { connect } from "#kube/client/connect.ts";
import { access } from "#test/access.ts";
import { type HostileOptions, startHostileServer } from "#test/hostile/server.ts";

/** A server that floods nobody of ours. */
export interface Burning {
  sentBytes(): number;
  stop(): Promise<void>;
}

/** A second hostile server that nobody of ours is connected to, flooding a client in this same process: what it costs the machine. */
export async function burn(options: HostileOptions): Promise<Burning> {
  const server = await startHostileServer(options);
  const client = connect(await access(server.plane, "relay"));
  await server.attack("modified-flood");
  const stopping = new AbortController();
  const reading = (async () => {
    const path = "/api/v1/nodes?watch=1&resourceVersion=1";
    const watch = await client.stream({ method: "GET", path, signal: stopping.signal });
    for await (const _ of watch.body) if (stopping.signal.aborted) return;
  })().catch(() => undefined);
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

import * as net from "node:net";

/** A TCP proxy whose connections can fall silent without being closed, as those behind a forgetful NAT do. */
export interface FreezingProxy {
  readonly port: number;
  /** Nothing passes any more on the connections made so far; later ones work. */
  freeze(): void;
  /** On connections made from now on, what the server says trickles: a small piece at a time, however much waits. */
  trickle(): void;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 to a port there. */
export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const sockets = new Set<net.Socket>();
  let trickling = false;
  const listener = net.createServer((client) => {
    const upstream = net.connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    if (trickling) trickle(upstream, client);
    else upstream.pipe(client);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as net.AddressInfo).port,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    trickle: () => {
      trickling = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

const PIECE_BYTES = 8 * 1024;
const PIECE_INTERVAL_MS = 4;

/** Passes on piece by piece; what waits meanwhile stays in the proxy, as in the buffers of a slow link. */
function trickle(from: net.Socket, to: net.Socket): void {
  let waiting: Buffer = Buffer.alloc(0);
  from.on("data", (data: Buffer) => {
    waiting = Buffer.concat([waiting, data]);
  });
  const timer = setInterval(() => {
    if (waiting.length === 0) return;
    to.write(waiting.subarray(0, PIECE_BYTES));
    waiting = waiting.subarray(PIECE_BYTES);
  }, PIECE_INTERVAL_MS);
  to.once("close", () => clearInterval(timer));
}

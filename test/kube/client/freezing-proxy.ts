import * as net from "node:net";

/** A TCP proxy whose connections can fall silent without a close, as behind a NAT that lost its state. */
export interface FreezingProxy {
  readonly port: number;
  /** Nothing passes any more on the connections made so far; later ones work. */
  freeze(): void;
  /** On connections made from now on, what the server says passes only by `passPiece`. */
  hold(): void;
  /** Passes on a small piece of what each held connection's server said, however much waits. */
  passPiece(): void;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 to a port there. */
export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const sockets = new Set<net.Socket>();
  const held = new Set<() => void>();
  let isHolding = false;
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
    if (isHolding) held.add(holdBack(upstream, client));
    else upstream.pipe(client);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as net.AddressInfo).port,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    hold: () => {
      isHolding = true;
    },
    passPiece: () => {
      for (const pass of held) pass();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

const PIECE_BYTES = 8 * 1024;

/** Keeps what arrives, as the buffers of a slow link do. Returns what passes on a piece of it. */
function holdBack(from: net.Socket, to: net.Socket): () => void {
  let waiting: Buffer = Buffer.alloc(0);
  from.on("data", (data: Buffer) => {
    waiting = Buffer.concat([waiting, data]);
  });
  return () => {
    if (waiting.length === 0 || to.destroyed) return;
    to.write(waiting.subarray(0, PIECE_BYTES));
    waiting = waiting.subarray(PIECE_BYTES);
  };
}

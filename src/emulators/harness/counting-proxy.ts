import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The traffic so far, of all connections together; bytes on the wire, including TLS and headers. */
export interface Traffic {
  /** The number of connections. */
  readonly connections: number;
  /** Bytes from clients to the server. */
  readonly upBytes: number;
  /** Bytes from the server to clients. */
  readonly downBytes: number;
}

/** A TCP proxy that counts; it neither reads nor changes the traffic, including TLS. */
export interface CountingProxy {
  /** The server's URL with the proxy's port in place of its own. */
  readonly url: string;
  traffic(): Traffic;
  /** Ends everything; no socket is left. */
  close(): Promise<void>;
}

/**
 * Starts a proxy on a free port of 127.0.0.1 to a local server with the given URL, such as
 * `https://127.0.0.1:6443`.
 */
export async function startCountingProxy(server: string): Promise<CountingProxy> {
  const { port } = new URL(server);
  const sockets = new Set<Socket>();
  let connections = 0;
  let upBytes = 0;
  let downBytes = 0;

  // The end of one side is passed on: the other may still send.
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    connections += 1;
    const upstream = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true, noDelay: true });
    client.on("data", (bytes) => {
      upBytes += bytes.length;
    });
    upstream.on("data", (bytes) => {
      downBytes += bytes.length;
    });
    join(client, upstream, sockets);
    join(upstream, client, sockets);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));

  const url = new URL(server);
  url.port = String((listener.address() as AddressInfo).port);
  return {
    url: url.origin,
    traffic: () => ({ connections, upBytes, downBytes }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** Passes on the data of one side, its end and its failure. */
function join(from: Socket, to: Socket, sockets: Set<Socket>): void {
  sockets.add(from);
  from.on("error", () => {});
  from.once("close", () => {
    sockets.delete(from);
    // A broken connection is broken on the other side as well, with any amount in flight.
    if (!from.readableEnded) to.resetAndDestroy();
  });
  from.pipe(to);
}

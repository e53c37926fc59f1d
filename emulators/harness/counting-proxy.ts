import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What has passed so far, of all connections together; bytes as they are on the wire, TLS and headers included. */
export interface Traffic {
  /** Connections that were made. */
  readonly connections: number;
  /** Bytes from clients to the server. */
  readonly upBytes: number;
  /** Bytes from the server to clients. */
  readonly downBytes: number;
}

/** A TCP pass-through that counts; what passes, TLS too, is neither read nor changed. */
export interface CountingProxy {
  /** The server's URL with the proxy's port in place of its own. */
  readonly url: string;
  traffic(): Traffic;
  /** Ends everything; no socket is left. */
  close(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1 to a server there, named by its URL, such as `https://127.0.0.1:6443`. */
export async function startCountingProxy(server: string): Promise<CountingProxy> {
  const { port } = new URL(server);
  const sockets = new Set<Socket>();
  let connections = 0;
  let upBytes = 0;
  let downBytes = 0;

  // An end of one side passes as such: the other may have more to say.
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

/** Passes on what one side says, its end and its death. */
function join(from: Socket, to: Socket, sockets: Set<Socket>): void {
  sockets.add(from);
  from.on("error", () => {});
  from.once("close", () => {
    sockets.delete(from);
    // What was cut off is cut off on the other side as well, however much is still on its way.
    if (!from.readableEnded) to.resetAndDestroy();
  });
  from.pipe(to);
}

import * as net from "node:net";

/** A TCP proxy whose connections can fall silent without being closed, as those behind a forgetful NAT do. */
export interface FreezingProxy {
  readonly port: number;
  /** Nothing passes any more on the connections made so far; later ones work. */
  freeze(): void;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 to a port there. */
export async function startFreezingProxy(target: number): Promise<FreezingProxy> {
  const sockets = new Set<net.Socket>();
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
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as net.AddressInfo).port,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

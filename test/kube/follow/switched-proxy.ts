import { once } from "node:events";
import * as net from "node:net";
import { findFreePort } from "#emulators/harness/free-port.ts";

/** How a place is away: nothing listens there, or a load balancer without a server behind it ends each connection. */
export type Away = "refused" | "ended";

/** A TCP proxy at one place, before one server or another: what clients see of a control plane that is replaced. */
export interface SwitchedProxy {
  readonly port: number;
  /** Ends all connections; until `back` there is no server. */
  away(how: Away): Promise<void>;
  /** Makes the server at this port reachable again. */
  back(target: number): Promise<void>;
  close(): Promise<void>;
}

/** Starts a proxy on 127.0.0.1 to a port there. */
export async function startSwitchedProxy(target: number): Promise<SwitchedProxy> {
  const port = await findFreePort();
  const sockets = new Set<net.Socket>();
  let current: number | undefined = target;
  let listener: net.Server | undefined;

  function pass(client: net.Socket): void {
    if (current === undefined) return void client.destroy();
    const upstream = net.connect(current, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  }

  async function listen(): Promise<void> {
    if (listener !== undefined) return;
    listener = net.createServer(pass).listen(port, "127.0.0.1");
    await once(listener, "listening");
  }

  async function stop(): Promise<void> {
    const stopping = listener;
    listener = undefined;
    const stopped = stopping === undefined ? undefined : once(stopping, "close");
    stopping?.close();
    for (const socket of sockets) socket.destroy();
    await stopped;
  }

  await listen();
  return {
    port,
    async away(how) {
      current = undefined;
      if (how === "refused") return stop();
      for (const socket of sockets) socket.destroy();
    },
    async back(next) {
      current = next;
      await listen();
    },
    close: stop,
  };
}

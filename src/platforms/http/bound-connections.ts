import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Limits the number of connections and accepts every new one. To make room, it ends the connection that has
 * been idle longest, or the oldest if all have a request. If new connections were refused, a client could
 * keep probes out by holding connections.
 */
export function boundConnections(server: Server, limit: number): void {
  // Sets keep the order of insertion, so the first is the oldest.
  const waiting = new Set<Socket>();
  const answering = new Set<Socket>();
  server.on("connection", (socket) => {
    if (waiting.size + answering.size >= limit) {
      const [oldest] = waiting.size > 0 ? waiting : answering;
      if (oldest !== undefined) forget(oldest).destroy();
    }
    waiting.add(socket);
    socket.once("close", () => forget(socket));
  });
  server.on("request", ({ socket }, response) => {
    if (waiting.delete(socket)) answering.add(socket);
    response.once("close", () => {
      if (answering.delete(socket)) waiting.add(socket);
    });
  });

  function forget(socket: Socket): Socket {
    waiting.delete(socket);
    answering.delete(socket);
    return socket;
  }
}

import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo } from "node:net";
import * as tls from "node:tls";
import type { Listener } from "#emulators/api-server/listener.ts";
import type { KeyPair } from "#emulators/harness/certificates.ts";
import type { Pace } from "#test/adversarial/pace.ts";
import { createWire, type Wire } from "#test/adversarial/wire.ts";

/** Handles a request before the honest server does; returns whether it takes the request. */
export type Intercept = (request: Http2ServerRequest, answer: Http2ServerResponse, wire: Wire) => boolean;

type Handle = (request: Http2ServerRequest, answer: Http2ServerResponse) => void;

/** Creates a listener of HTTP/2 over TLS on 127.0.0.1 that can change single frames. */
export async function listenHostile(
  port: number,
  { certificate, key }: KeyPair,
  handle: Handle,
  { intercept, pace }: { readonly intercept: Intercept; readonly pace: Pace },
): Promise<Listener> {
  const wires = new WeakMap<Http2Session, Wire>();
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<tls.TLSSocket>();
  let resetting = false;
  const protocol = createServer({
    settings: { maxConcurrentStreams: 250 },
    maxSendHeaderBlockLength: 4 * 1024 * 1024,
  });
  protocol.on("request", (request, answer) => {
    const session = request.stream.session;
    const wire = session === undefined ? undefined : wires.get(session);
    request.stream.on("error", () => {});
    if (wire === undefined || !intercept(request, answer, wire)) handle(request, answer);
  });
  protocol.on("sessionError", () => {});
  const server = tls.createServer({ cert: certificate, key, ALPNProtocols: ["h2"] }, (socket) => {
    if (resetting) return void socket.destroy();
    const wire = createWire(socket, pace);
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    protocol.once("session", (session) => {
      wires.set(session, wire);
      sessions.add(session);
      session.on("error", () => {});
      session.once("close", () => sessions.delete(session));
    });
    protocol.emit("connection", wire.duplex);
  });
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  const destroyAll = (): void => {
    // Their sessions end with them; destroying one while it writes through our stream is an error in Node.
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    goAway: () => {
      for (const session of sessions) session.close();
    },
    resetConnections(on) {
      resetting = on;
      destroyAll();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      destroyAll();
      await closed;
    },
  };
}

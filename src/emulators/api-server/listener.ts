import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { KeyPair } from "#emulators/harness/certificates.ts";

/** A TLS listener on 127.0.0.1 for HTTP/2 and HTTP/1.1 that tracks its connections. */
export interface Listener {
  readonly port: number;
  /** Sends GOAWAY on every connection: open streams finish, new requests need a new connection. */
  goAway(): void;
  /** Destroys every connection; while `on`, also new ones at once. */
  resetConnections(on: boolean): void;
  /** Stops listening, waits at most `graceMs` for open requests, then destroys the remaining connections. */
  close(graceMs: number): Promise<void>;
}

/** Listens on the port; 0 for a free one. */
export async function startListener(
  port: number,
  certificate: KeyPair,
  handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<Listener> {
  const server = createSecureServer({
    allowHTTP1: true,
    cert: certificate.certificate,
    key: certificate.key,
    // kube-apiserver's limit.
    settings: { maxConcurrentStreams: 250 },
  });
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  let resetting = false;
  server.on("connection", (socket: Socket) => {
    if (resetting) socket.destroy();
    else track(sockets, socket);
  });
  server.on("session", (session) => track(sessions, session));
  // Broken connections concern only their clients.
  server.on("sessionError", () => {});
  server.on("tlsClientError", () => {});
  server.on("request", handle);
  const bound = await bind(server, port);
  const destroyAll = (): void => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  };
  const goAway = (): void => {
    // Sends GOAWAY at once, and closes after the last stream.
    for (const session of sessions) session.close();
  };
  return {
    port: bound,
    goAway,
    resetConnections: (on) => {
      resetting = on;
      destroyAll();
    },
    close: async (graceMs) => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      goAway();
      const timer = setTimeout(destroyAll, graceMs);
      if (graceMs === 0) destroyAll();
      await closed;
      clearTimeout(timer);
    },
  };
}

function track<T extends Socket | ServerHttp2Session>(known: Set<T>, connection: T): void {
  known.add(connection);
  connection.on("error", () => {});
  connection.once("close", () => known.delete(connection));
}

function bind(server: Http2SecureServer, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

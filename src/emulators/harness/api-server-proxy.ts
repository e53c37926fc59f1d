import { readFile } from "node:fs/promises";
import * as http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { KeyPair } from "#emulators/harness/certificates.ts";

/** One request on its way to an API server. */
export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly isWatch: boolean;
}

/** What happens to a request in place of its answer. */
export type ApiFault =
  /** It never reaches the server. */
  | {
      readonly kind: "refuse";
      readonly status: number;
      readonly reason: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "delay"; readonly delayMs: number }
  /** For a watch: passes so many whole lines; then its stream ends normally. */
  | { readonly kind: "end-after"; readonly lines: number }
  /** For a watch: 200, and the one event that reports a version as too old. */
  | { readonly kind: "gone-event" }
  /** It is carried out, and the stream is reset. */
  | { readonly kind: "lose-answer" }
  /** It never reaches the server, and is never answered. */
  | { readonly kind: "drop" };

/** A fault for the next requests of a kind. */
export interface TimedFault {
  readonly fault: ApiFault;
  readonly count: number;
  matches(request: ProxiedRequest): boolean;
  /** Called when a request has met it: after the server has carried it out, or with the body of a dropped one. */
  onMet?(request: ProxiedRequest, body: string): void;
}

/** A proxy that ends TLS before an API server and fails on request; only HTTP/2. */
export interface ApiServerProxy {
  /** `https://127.0.0.1:port`. */
  readonly url: string;
  fail(fault: TimedFault): void;
  /** Returns how many faults were met. */
  met(): number;
  /** Returns how many planned faults are left. */
  left(): number;
  /** Presents another certificate on connections made from now on. */
  setCertificate(pair: KeyPair): void;
  /** Sets the known credentials, and the server's credential for each; others are answered 401. */
  setCredentials(known: ReadonlyMap<string, string> | undefined): void;
  /** Ends all connections at once. */
  dropConnections(): void;
  close(): Promise<void>;
}

export interface ApiServerProxyOptions {
  /** `https://127.0.0.1:port`. */
  readonly server: string;
  readonly certificateAuthorityFile: string;
  readonly certificate: KeyPair;
}

/** Starts a proxy on 127.0.0.1; each connection to it has its own one to the server. */
export async function startApiServerProxy(options: ApiServerProxyOptions): Promise<ApiServerProxy> {
  const ca = await readFile(options.certificateAuthorityFile, "utf8");
  const sessions = new Set<http2.Http2Session>();
  const sockets = new Set<Socket>();
  let faults: (TimedFault & { left: number })[] = [];
  let credentials: ReadonlyMap<string, string> | undefined;
  let met = 0;
  const { certificate: cert, key } = options.certificate;
  const server = http2.createSecureServer({ cert, key, settings: { maxConcurrentStreams: 1_000 } });

  function take(request: ProxiedRequest): TimedFault | undefined {
    const found = faults.find((each) => each.matches(request));
    if (found === undefined) return undefined;
    found.left -= 1;
    met += 1;
    faults = faults.filter(({ left }) => left > 0);
    return found;
  }

  // A session that ends with its killed client may leave its socket open, which would keep the server from closing.
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    const upstream = http2.connect(options.server, { ca, settings: { enablePush: false } });
    for (const [own, other] of [
      [session, upstream],
      [upstream, session],
    ] as const) {
      sessions.add(own);
      own.on("error", () => {});
      own.once("close", () => {
        sessions.delete(own);
        other.destroy();
      });
    }
    upstream.once("goaway", () => session.goaway());
    session.on("stream", (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
      stream.on("error", () => {});
      void answer(stream, headers, upstream);
    });
  });

  async function answer(
    stream: http2.ServerHttp2Stream,
    headers: http2.IncomingHttpHeaders,
    upstream: http2.ClientHttp2Session,
  ): Promise<void> {
    const path = headers[":path"] ?? "";
    const request = { method: headers[":method"] ?? "", path, isWatch: /[?&]watch=(1|true)/.test(path) };
    const met = take(request);
    const fault = met?.fault;
    const authorization = headers.authorization ?? "";
    const known = credentials === undefined ? authorization : credentials.get(authorization);
    if (known === undefined) return refuse(stream, 401, "Unauthorized");
    if (fault?.kind === "refuse") return refuse(stream, fault.status, fault.reason, fault.headers);
    if (fault?.kind === "gone-event") return endStream(stream);
    if (fault?.kind === "drop")
      return void text(stream).then(
        (body) => met?.onMet?.(request, body),
        () => {},
      );
    if (fault?.kind === "delay") await new Promise((resolve) => setTimeout(resolve, fault.delayMs));
    if (upstream.destroyed || upstream.closed || stream.destroyed) return void stream.close(REFUSED_STREAM);
    const asked = upstream.request({
      ...Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "host")),
      authorization: known,
    });
    asked.on("error", () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
    stream.once("close", () => asked.close(http2.constants.NGHTTP2_CANCEL));
    stream.pipe(asked);
    asked.once("response", (answered) => {
      if (stream.destroyed) return;
      if (fault?.kind === "lose-answer") {
        asked.resume().once("end", () => {
          met?.onMet?.(request, "");
          stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
        });
        return;
      }
      stream.respond(answered);
      if (fault?.kind === "end-after") endAfter(fault.lines, asked, stream);
      else asked.pipe(stream);
    });
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const dropConnections = (): void => {
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail: (fault) => void faults.push({ ...fault, left: fault.count }),
    met: () => met,
    left: () => faults.reduce((sum, { left }) => sum + left, 0),
    setCertificate: (pair) => server.setSecureContext({ cert: pair.certificate, key: pair.key }),
    setCredentials: (next) => {
      credentials = next;
    },
    dropConnections,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      dropConnections();
      await closed;
    },
  };
}

const REFUSED_STREAM = http2.constants.NGHTTP2_REFUSED_STREAM;

function refuse(
  stream: http2.ServerHttp2Stream,
  code: number,
  reason: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  stream.resume();
  stream.respond({ ":status": code, "content-type": "application/json", ...headers });
  stream.end(JSON.stringify(buildStatus(code, reason)));
}

function endStream(stream: http2.ServerHttp2Stream): void {
  stream.respond({ ":status": 200, "content-type": "application/json" });
  stream.end(`${JSON.stringify({ type: "ERROR", object: buildStatus(410, "Expired") })}\n`);
}

function buildStatus(code: number, reason: string): object {
  const message = `${reason}, as the proxy was told`;
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}

function endAfter(lines: number, from: http2.ClientHttp2Stream, to: http2.ServerHttp2Stream): void {
  let left = lines;
  from.on("data", (piece: Buffer) => {
    let end = 0;
    while (left > 0) {
      const at = piece.indexOf("\n", end);
      if (at === -1) break;
      end = at + 1;
      left -= 1;
    }
    if (left > 0) return void to.write(piece);
    if (to.writableEnded) return;
    to.end(piece.subarray(0, end));
    from.close(http2.constants.NGHTTP2_CANCEL);
  });
  from.once("end", () => to.end());
}

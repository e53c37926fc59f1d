import * as http2 from "node:http2";
import * as net from "node:net";
import * as tls from "node:tls";
import { messageOf } from "#core/message-of.ts";
import { ApiUnreachable, connectCode, systemCode } from "#kube/client/errors.ts";
import { type JudgeAddress, judgedLookup, refusalOfLiteral } from "#kube/client/judged-lookup.ts";

/** A client certificate and its key, PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** What a server is trusted by and knows us by. */
export interface TlsCredentials {
  /** PEM; the system's authorities without it. */
  readonly certificateAuthority?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The name or address that the certificate has to be for, and by which the server is asked for; that of its URL without it. */
  readonly serverName?: string | undefined;
  /** Whoever answers is taken for the server; an operator has said that this is to be so. */
  readonly skipsVerification?: boolean;
  /** Milliseconds since the epoch from which on new requests are to go over another connection, as the certificate is about to end. */
  readonly renewAtMs?: number | undefined;
}

/** What one connection is opened with. */
export interface ConnectionOptions extends TlsCredentials {
  readonly server: URL;
  readonly connectTimeoutMs: number;
  /** Which addresses may be connected to; any without it. */
  readonly judgeAddress?: JudgeAddress | undefined;
  /** While streams are open a PING is sent so often … */
  readonly pingIntervalMs: number;
  /** … and a connection on which nothing at all arrives for this time after one is dead. */
  readonly pingTimeoutMs: number;
  readonly now: () => number;
}

/** One HTTP/2 connection to an API server. */
export interface Connection {
  /** False from the moment the server is closing it (GOAWAY) or it is lost: nothing new may start on it. */
  usable(): boolean;
  /** The server's limit of streams at a time. */
  maxStreams(): number;
  /** Streams that are open on it now. */
  openStreams(): number;
  /** Milliseconds since anything was last heard from the server. */
  silentMs(): number;
  /** Throws where the connection was lost in between. */
  open(headers: http2.OutgoingHttpHeaders, endStream: boolean): http2.ClientHttp2Stream;
  /** Whether the server certainly did nothing about this stream, so that any request may be sent again. */
  untouched(stream: http2.ClientHttp2Stream): boolean;
  /** Lets open streams finish, then closes. */
  retire(): void;
  /** Ends it now; resolves when the socket is gone. */
  destroy(): Promise<void>;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
}

/** Bytes that the server may send ahead: a page of 500 nodes in one window, whatever the round trip. */
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;

/** Opens a connection, TLS with ALPN h2. Rejects with `ApiUnreachable`. */
export async function openConnection(options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
  const socket = await openSocket(options, signal);
  const session = http2.connect(options.server, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
  });
  return watchSession(session, socket, options);
}

function watchSession(
  session: http2.ClientHttp2Session,
  socket: tls.TLSSocket,
  options: ConnectionOptions,
): Connection {
  let usable = true;
  let lastStreamId: number | undefined;
  let heardAt = options.now();
  let bytesSeen = 0;
  let openStreams = 0;
  let pingTimer: NodeJS.Timeout | undefined;
  const closed = new Promise<void>((resolve) => session.once("close", resolve));
  const heard = (): void => {
    heardAt = options.now();
  };

  const end = (error?: Error): void => {
    usable = false;
    session.destroy(error, http2.constants.NGHTTP2_CANCEL);
    // A session that the server said GOAWAY to would wait for the server to close the socket, however long.
    socket.destroy();
  };

  session.on("error", () => {
    // Every stream of the session fails with the same error and tells its own caller.
    usable = false;
  });
  session.once("close", () => {
    usable = false;
    clearTimeout(pingTimer);
  });
  session.on("goaway", (_code, last) => {
    usable = false;
    lastStreamId = last;
    if (openStreams === 0) end();
  });
  session.once("connect", () => {
    // It may have been retired in the turn in which it came to be; an error thrown here would end the process.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });

  const schedulePing = (delayMs: number): void => {
    clearTimeout(pingTimer);
    pingTimer = setTimeout(sendPing, delayMs).unref();
  };
  /** Whether anything has come since this was last asked. */
  const received = (): boolean => {
    const before = bytesSeen;
    bytesSeen = socket.bytesRead;
    if (bytesSeen === before) return false;
    heard();
    return true;
  };
  const sendPing = (): void => {
    if (session.destroyed || openStreams === 0) return;
    if (received()) {
      schedulePing(options.pingIntervalMs);
      return;
    }
    let answered = false;
    const check = (): void => {
      if (answered || session.destroyed || openStreams === 0) return;
      // The answer comes behind all that was sent before it, which on a slow link may take long.
      if (received()) wait();
      else end(new Error("PING not answered"));
    };
    const wait = (): void => {
      clearTimeout(pingTimer);
      // After a pause of the whole process the answer may be waiting unread: one turn of the loop reads it.
      pingTimer = setTimeout(() => setImmediate(check), options.pingTimeoutMs).unref();
    };
    wait();
    session.ping((error) => {
      answered = true;
      if (error !== null) return;
      heard();
      schedulePing(options.pingIntervalMs);
    });
  };

  const streamOpened = (stream: http2.ClientHttp2Stream): void => {
    openStreams += 1;
    if (openStreams === 1) {
      // After a silence (a frozen function has thawed) the connection has to prove itself beside the first request.
      const silentMs = options.now() - heardAt;
      bytesSeen = socket.bytesRead;
      schedulePing(silentMs >= options.pingIntervalMs ? 0 : options.pingIntervalMs);
    }
    stream.once("response", heard);
    stream.once("close", () => {
      openStreams -= 1;
      if (openStreams > 0) return;
      clearTimeout(pingTimer);
      if (!usable) end();
    });
  };

  return {
    closed,
    usable: () => usable && !session.closed && !session.destroyed,
    maxStreams: () => session.remoteSettings?.maxConcurrentStreams ?? 100,
    openStreams: () => openStreams,
    silentMs: () => options.now() - heardAt,
    open(headers, endStream) {
      const stream = session.request(headers, { endStream });
      streamOpened(stream);
      return stream;
    },
    untouched: (stream) =>
      stream.id === undefined ||
      stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM ||
      (lastStreamId !== undefined && stream.id > lastStreamId),
    retire() {
      usable = false;
      if (openStreams === 0) end();
    },
    destroy() {
      end();
      return closed;
    },
  };
}

async function openSocket(options: ConnectionOptions, signal: AbortSignal): Promise<tls.TLSSocket> {
  const host = options.server.hostname.replace(/^\[(.*)\]$/, "$1");
  const { judgeAddress } = options;
  const refusal = refusalOfLiteral(host, judgeAddress);
  if (refusal !== undefined) throw unreachable(options, refusal);
  const serverName = options.serverName ?? host;
  const socket = tls.connect({
    host,
    ...(judgeAddress === undefined ? {} : { lookup: judgedLookup(judgeAddress) }),
    port: options.server.port === "" ? 443 : Number(options.server.port),
    // An address is no name to ask for (RFC 6066); the certificate may be for one all the same.
    servername: net.isIP(serverName) === 0 ? serverName : "",
    checkServerIdentity: (_host, certificate) => tls.checkServerIdentity(serverName, certificate),
    ALPNProtocols: ["h2"],
    secureContext: secureContextOf(options),
    rejectUnauthorized: options.skipsVerification !== true,
  });
  socket.setNoDelay(true);
  // Also a socket that nobody waits for any more may report an error.
  socket.on("error", () => {});
  try {
    await secured(socket, options.connectTimeoutMs, signal);
  } catch (error) {
    socket.destroy();
    throw unreachable(options, error);
  }
  if (socket.alpnProtocol === "h2") return socket;
  socket.destroy();
  throw new ApiUnreachable({ code: "NotHttp2", server: options.server.origin, attempt: "connect" });
}

function secureContextOf(options: ConnectionOptions): tls.SecureContext {
  try {
    return tls.createSecureContext({
      ca: options.certificateAuthority,
      cert: options.clientCertificate?.certificate,
      key: options.clientCertificate?.key,
      minVersion: "TLSv1.2",
    });
  } catch (cause) {
    // PEM that is none, or a pair that does not match, as in the middle of a rotation.
    const facts = {
      code: "CredentialUnavailable",
      server: options.server.origin,
      attempt: "connect",
    } as const;
    throw new ApiUnreachable({ ...facts, detail: systemCode(cause), cause });
  }
}

function secured(socket: tls.TLSSocket, timeoutMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => finish(signal.reason);
    const timer = setTimeout(
      () => finish(Object.assign(new Error("time-out"), { code: "ETIMEDOUT" })),
      timeoutMs,
    );
    const finish = (error?: unknown): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", finish);
      socket.removeListener("close", onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onClose = (): void => finish(new Error("closed by the server"));
    socket.once("error", finish);
    socket.once("close", onClose);
    socket.once("secureConnect", () => finish());
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

function unreachable(options: ConnectionOptions, error: unknown): ApiUnreachable {
  if (error instanceof ApiUnreachable) return error;
  return new ApiUnreachable({
    code: connectCode(error),
    server: options.server.origin,
    attempt: "connect",
    detail: connectCode(error) === "AddressRefused" ? messageOf(error) : systemCode(error),
    cause: error,
  });
}

import * as http2 from "node:http2";
import * as net from "node:net";
import * as tls from "node:tls";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { ApiUnreachable, connectCode, getSystemCode } from "#kube/client/errors.ts";
import { checkLiteralAddress, createJudgedLookup, type JudgeAddress } from "#kube/client/judged-lookup.ts";

/** A client certificate and its key, PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The credentials of a TLS connection: the server's authority and the client's certificate. */
export interface TlsCredentials {
  /** PEM. Default: the system's authorities. */
  readonly certificateAuthority?: string | undefined;
  readonly clientCertificate?: ClientCertificate | undefined;
  /** The name or address in the server's certificate, sent as TLS server name. Default: that of the URL. */
  readonly serverName?: string | undefined;
  /** Disables verification of the server's certificate; only an operator may set it. */
  readonly skipsVerification?: boolean;
  /**
   * Milliseconds since the epoch after which new requests need another connection, because the certificate is
   * about to expire.
   */
  readonly renewAtMs?: number | undefined;
}

/** The options of one connection. */
export interface ConnectionOptions extends TlsCredentials {
  readonly server: URL;
  readonly connectTimeoutMs: number;
  /** The addresses that may be connected to. Default: any. */
  readonly judgeAddress?: JudgeAddress | undefined;
  /** Interval of PINGs while streams are open. */
  readonly pingIntervalMs: number;
  /** After a PING without any data for this long, the connection counts as dead. */
  readonly pingTimeoutMs: number;
  readonly now: () => number;
}

/** One HTTP/2 connection to an API server. */
export interface Connection {
  /** False once the server closes it (GOAWAY) or it is lost; no new stream may start on it. */
  usable(): boolean;
  /** The server's limit of concurrent streams. */
  maxStreams(): number;
  /** The number of open streams. */
  openStreams(): number;
  /** Milliseconds since the server last sent anything. */
  silentMs(): number;
  /** Opens a stream; throws if the connection was lost. */
  open(headers: http2.OutgoingHttpHeaders, endStream: boolean): http2.ClientHttp2Stream;
  /** Whether the server certainly did not process this stream, so that any request may be repeated. */
  untouched(stream: http2.ClientHttp2Stream): boolean;
  /** Lets open streams finish, then closes. */
  retire(): void;
  /** Closes it at once; resolves when the socket is closed. */
  destroy(): Promise<void>;
  /** Resolves when the connection has ended for any reason. */
  readonly closed: Promise<void>;
}

/** Bytes that the server may send ahead: a page of 500 nodes in one window, for any round-trip time. */
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
    // After GOAWAY, a session would wait without limit for the server to close the socket.
    socket.destroy();
  };

  session.on("error", () => {
    // Every stream of the session fails with the same error and reports it to its own caller.
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
    // The session may be retired in the same turn; an error thrown here would end the process.
    if (!session.destroyed) session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
  });

  const schedulePing = (delayMs: number): void => {
    clearTimeout(pingTimer);
    pingTimer = setTimeout(sendPing, delayMs).unref();
  };
  /** Whether data have arrived since the last call. */
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
      // The answer follows all data sent before it, which may take long on a slow link.
      if (received()) wait();
      else end(new Error("PING not answered"));
    };
    const wait = (): void => {
      clearTimeout(pingTimer);
      // After the whole process was paused, the answer may be waiting unread: one turn of the event loop
      // reads it.
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
      // After a silence (a thawed function), a PING verifies the connection in parallel with the first
      // request.
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
  const refusal = checkLiteralAddress(host, judgeAddress);
  if (refusal !== undefined) throw toUnreachable(options, refusal);
  const serverName = options.serverName ?? host;
  const socket = tls.connect({
    host,
    ...(judgeAddress === undefined ? {} : { lookup: createJudgedLookup(judgeAddress) }),
    port: options.server.port === "" ? 443 : Number(options.server.port),
    // TLS allows no address as server name (RFC 6066); the certificate may still be for one.
    servername: net.isIP(serverName) === 0 ? serverName : "",
    checkServerIdentity: (_host, certificate) => tls.checkServerIdentity(serverName, certificate),
    ALPNProtocols: ["h2"],
    secureContext: buildSecureContext(options),
    rejectUnauthorized: options.skipsVerification !== true,
  });
  socket.setNoDelay(true);
  // A socket without a waiting caller may also emit an error.
  socket.on("error", () => {});
  try {
    await awaitHandshake(socket, options.connectTimeoutMs, signal);
  } catch (error) {
    socket.destroy();
    throw toUnreachable(options, error);
  }
  if (socket.alpnProtocol === "h2") return socket;
  socket.destroy();
  throw new ApiUnreachable({ code: "NotHttp2", server: options.server.origin, attempt: "connect" });
}

function buildSecureContext(options: ConnectionOptions): tls.SecureContext {
  try {
    return tls.createSecureContext({
      ca: options.certificateAuthority,
      cert: options.clientCertificate?.certificate,
      key: options.clientCertificate?.key,
      minVersion: "TLSv1.2",
    });
  } catch (cause) {
    // Invalid PEM or a mismatched pair, as in the middle of a rotation.
    const facts = {
      code: "CredentialUnavailable",
      server: options.server.origin,
      attempt: "connect",
    } as const;
    throw new ApiUnreachable({ ...facts, detail: getSystemCode(cause), cause });
  }
}

function awaitHandshake(socket: tls.TLSSocket, timeoutMs: number, signal: AbortSignal): Promise<void> {
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

function toUnreachable(options: ConnectionOptions, error: unknown): ApiUnreachable {
  if (error instanceof ApiUnreachable) return error;
  return new ApiUnreachable({
    code: connectCode(error),
    server: options.server.origin,
    attempt: "connect",
    detail: connectCode(error) === "AddressRefused" ? getErrorMessage(error) : getSystemCode(error),
    cause: error,
  });
}

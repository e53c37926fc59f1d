import * as http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { TLSSocket } from "node:tls";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  type KeyPair,
} from "#emulators/harness/certificates.ts";

/** One request as it arrived. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: string;
  /** Which connection it came on, from 1. */
  readonly connection: number;
  /** The common name of the client's certificate, if it was requested and sent. */
  readonly user: string | undefined;
}

/** What the server does about one request. */
export type Act =
  | {
      readonly answer: number;
      readonly body?: string | Buffer;
      readonly headers?: Readonly<Record<string, string>>;
      /** The answer waits for it. */
      readonly when?: Promise<unknown>;
    }
  /** Answers 200 with this many chunks, each in its own frame; without a number the answer is endless. */
  | { readonly piece: string; readonly pieces: number }
  /** Never answers. */
  | "hang"
  /** Begins an answer and never ends it. */
  | "stall"
  /** Begins an answer and resets the stream. */
  | "cut"
  /** Begins an answer and breaks the connection's socket. */
  | "break-midway"
  /** Resets the stream before anything was done. */
  | "refuse"
  /** Breaks the connection's socket. */
  | "break"
  /** Says GOAWAY for this request and all later ones, leaving it undone; not for a connection's first request. */
  | "go-away";

/** An HTTP/2 server that acts by a script, request by request. */
export interface ScriptedServer {
  readonly url: string;
  /** PEM. */
  readonly certificateAuthority: string;
  /** Issues a client certificate that this server knows. */
  issueClient(name: string): Promise<KeyPair>;
  readonly arrived: readonly Arrived[];
  /** Connections that were made so far. */
  connections(): number;
  /** Sockets that are open now. */
  openSockets(): number;
  /** Sends GOAWAY on all connections and lets open streams finish. */
  goAway(): void;
  close(): Promise<void>;
}

/** Starts the server; `script` is called once for each request, in order of arrival. */
export async function startScriptedServer(
  script: (arrived: Arrived, number: number) => Act,
  options: { readonly settings?: http2.Settings; readonly host?: string } = {},
): Promise<ScriptedServer> {
  const certificates = await issued();
  const host = options.host ?? "127.0.0.1";
  const server = http2.createSecureServer({
    cert: certificates.server.certificate,
    key: certificates.server.key,
    ca: certificates.authority.certificate,
    requestCert: true,
    // As in kube-apiserver: a client without a valid certificate may still have a token.
    rejectUnauthorized: false,
    settings: options.settings ?? {},
  });
  const sessions: http2.ServerHttp2Session[] = [];
  const sockets = new Set<Socket>();
  const arrived: Arrived[] = [];
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    sessions.push(session);
    session.on("error", () => {});
    const connection = sessions.length;
    session.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      void textOf(stream).then((body) => {
        const request = {
          method: headers[":method"] ?? "",
          path: headers[":path"] ?? "",
          headers,
          body,
          connection,
          user: userOf(session),
        };
        arrived.push(request);
        perform(script(request, arrived.length), stream, session);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `https://${host}:${(server.address() as AddressInfo).port}`,
    certificateAuthority: certificates.authority.certificate,
    issueClient: (name) => certificates.authority.issueClient({ name, groups: [] }),
    arrived,
    connections: () => sessions.length,
    openSockets: () => sockets.size,
    goAway: () => {
      for (const session of sessions) if (!session.closed) session.close();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function userOf(session: http2.ServerHttp2Session): string | undefined {
  const { socket } = session;
  const subject = socket instanceof TLSSocket ? socket.getPeerCertificate()?.subject : undefined;
  return subject?.CN === undefined ? undefined : String(subject.CN);
}

interface Issued {
  readonly authority: CertificateAuthority;
  readonly server: KeyPair;
}

let certificatesIssued: Promise<Issued> | undefined;

function issued(): Promise<Issued> {
  certificatesIssued ??= createCertificateAuthority().then(async (authority) => ({
    authority,
    server: await authority.issueServer(),
  }));
  return certificatesIssued;
}

function perform(act: Act, stream: http2.ServerHttp2Stream, session: http2.ServerHttp2Session): void {
  if (stream.destroyed) return;
  switch (act) {
    case "hang":
      return;
    case "stall":
    case "cut":
    case "break-midway":
      stream.respond({ ":status": 200, "content-type": "application/json" });
      stream.write('{"kind":');
      if (act === "cut") setImmediate(() => stream.destroy(new Error("cut")));
      // The client answers a PING once it has what was sent before.
      if (act === "break-midway") session.ping(() => session.socket.destroy());
      return;
    case "refuse":
      stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      return;
    case "break":
      session.socket.destroy();
      return;
    case "go-away":
      session.goaway(http2.constants.NGHTTP2_NO_ERROR, (stream.id ?? 0) - 2);
      return;
    default:
      if ("piece" in act) {
        writePieces(act, stream);
        return;
      }
      void (act.when ?? Promise.resolve()).then(() => {
        if (stream.destroyed) return;
        stream.respond({ ":status": act.answer, "content-type": "application/json", ...act.headers });
        stream.end(act.body ?? "");
      });
  }
}

/** What is written in one turn of the loop gets into one frame. */
function writePieces(
  { piece, pieces }: { readonly piece: string; readonly pieces: number },
  stream: http2.ServerHttp2Stream,
): void {
  stream.respond({ ":status": 200, "content-type": "application/json" });
  let written = 0;
  const write = (): void => {
    if (stream.destroyed || stream.closed) return;
    written += 1;
    if (written > pieces) stream.end();
    else if (stream.write(piece)) setImmediate(write);
    else stream.once("drain", write);
  };
  write();
}

async function textOf(stream: http2.ServerHttp2Stream): Promise<string> {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece: string) => {
    text += piece;
  });
  await new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
  return text;
}

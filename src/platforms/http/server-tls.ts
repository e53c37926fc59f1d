import { randomBytes } from "node:crypto";
import type { Server } from "node:http";
import { Server as TlsServer } from "node:https";
import { sanitizeText } from "#core/sanitize-text.ts";

/** The server's certificate, as PEM. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  /** The authority of client certificates; without it none is requested. */
  readonly ca?: string | undefined;
}

/** Reads the files anew; rejects if one cannot be used. */
export type ReadServerTls = () => Promise<ServerTls>;

/** How often the files are read. */
const READ_EVERY_MS = 10_000;

/**
 * Reads certificate, key and authority again at an interval, and uses changed ones for new connections. What cannot
 * be used changes nothing and is logged once. Returns a function that ends this.
 */
export function keepTlsFresh(
  server: Server,
  first: ServerTls,
  readTls: ReadServerTls,
  log: (line: Readonly<Record<string, unknown>>) => void,
  everyMs = READ_EVERY_MS,
): () => void {
  if (!(server instanceof TlsServer)) return () => undefined;
  let used = JSON.stringify(first);
  let failure: string | undefined;
  async function look(tlsServer: TlsServer): Promise<void> {
    try {
      const tls = await readTls();
      const text = JSON.stringify(tls);
      if (text !== used) {
        tlsServer.setSecureContext({ ...tls, minVersion: "TLSv1.2" });
        // A resumed session would not be verified by the new authority.
        tlsServer.setTicketKeys(randomBytes(48));
        used = text;
        log({
          level: "info",
          event: "CertificateRead",
          message: "new connections use the changed certificate",
        });
      }
      failure = undefined;
    } catch (error) {
      const message = sanitizeText(error instanceof Error ? error.message : String(error), 500);
      if (message !== failure) log({ level: "error", event: "CertificateUnusable", message });
      failure = message;
    }
  }
  const timer = setInterval(() => void look(server), everyMs).unref();
  return () => clearInterval(timer);
}

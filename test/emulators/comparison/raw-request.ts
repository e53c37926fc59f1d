import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";

/** A request as a client without our transport may send it: any method, any bytes. */
export interface RawRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string | undefined;
  readonly accept?: string | undefined;
}

/** The whole answer; of a watch, once the server has ended it. */
export interface RawAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

/** A client of one API server, signed in as admin. */
export interface RawClient {
  send(request: RawRequest): Promise<RawAnswer>;
  close(): void;
}

const ANSWER_TIMEOUT_MS = 60_000;

/** Creates a client over HTTP/1.1. */
export async function createRawClient(plane: ControlPlane): Promise<RawClient> {
  const agent = new Agent({ keepAlive: true, ca: await readFile(plane.certificateAuthorityFile) });
  const token = (await readFile(plane.tokenFile("admin"), "utf8")).trim();
  return {
    send: ({ method, path, body, contentType, accept }) =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${token}`,
          "user-agent": "comparison/1",
          ...(contentType === undefined ? {} : { "content-type": contentType }),
          ...(accept === undefined ? {} : { accept }),
          ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
        };
        const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
        const sent = request(`${plane.server}${path}`, { agent, method, headers, signal }, (answer) => {
          const chunks: Buffer[] = [];
          answer.on("data", (chunk: Buffer) => chunks.push(chunk));
          answer.on("error", reject);
          answer.on("end", () => {
            resolve({
              status: answer.statusCode ?? 0,
              contentType: answer.headers["content-type"],
              body: Buffer.concat(chunks).toString(),
            });
          });
        });
        sent.on("error", reject);
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** What a gate does with a request in place of passing it on; `destroy` breaks the connection, `hang` never answers. */
export type GateAnswer = "destroy" | "hang" | { readonly status: number; readonly body: string };

/** A proxy before an EC2 endpoint that counts what passes, and answers by itself while told to. */
export interface Gate {
  readonly url: string;
  /** Applies to the actions named, or to all; undefined passes everything on. */
  answer(how: GateAnswer | undefined, actions?: readonly string[]): void;
  /** Requests so far by action, those that were not passed on among them. */
  readonly counts: ReadonlyMap<string, number>;
  /** The last request. */
  lastHeaders(): Readonly<Record<string, string | string[] | undefined>>;
  lastBody(): string;
  close(): Promise<void>;
}

export const THROTTLED = errorAnswer(503, "RequestLimitExceeded");
export const DENIED = errorAnswer(403, "UnauthorizedOperation");
export const FAILED = errorAnswer(500, "InternalError");

/** An error as EC2 words it. */
export function errorAnswer(status: number, code: string): GateAnswer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>${code}</Code><Message>by the gate</Message></Error></Errors><RequestID>1</RequestID></Response>`;
  return { status, body };
}

/** Opens a gate before `target`; without one, everything that is not answered by the gate is 502. */
export async function openGate(target?: string): Promise<Gate> {
  const counts = new Map<string, number>();
  let how: GateAnswer | undefined;
  let only: readonly string[] | undefined;
  let headers = {};
  let lastBody = "";
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    lastBody = body.toString();
    const action = new URLSearchParams(body.toString()).get("Action") ?? "";
    counts.set(action, (counts.get(action) ?? 0) + 1);
    headers = incoming.headers;
    const concerned = only === undefined || only.includes(action);
    const answer = (concerned ? how : undefined) ?? (target === undefined ? NO_TARGET : undefined);
    if (answer === "hang") return;
    if (answer === "destroy") {
      incoming.socket.destroy();
      return;
    }
    if (answer !== undefined) {
      outgoing.writeHead(answer.status, { "content-type": "text/xml" }).end(answer.body);
      return;
    }
    const options = { method: incoming.method, headers: incoming.headers, agent: false } as const;
    const passed = request(new URL(incoming.url ?? "/", target), options, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    passed.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(next, actions) {
      how = next;
      only = actions;
    },
    counts,
    lastHeaders: () => headers,
    lastBody: () => lastBody,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const NO_TARGET: GateAnswer = { status: 502, body: "" };

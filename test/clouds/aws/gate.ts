import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What a gate does with a request in place of passing it on: `destroy` breaks the connection, `hang` never
 * answers. A body may depend on the request's action.
 */
export type GateAnswer =
  | "destroy"
  | "hang"
  | { readonly status: number; readonly body: string | ((action: string) => string) };

/** A proxy before an EC2 endpoint, which counts requests and can answer in place of the endpoint. */
export interface Gate {
  readonly url: string;
  /** Sets the answer of the named actions, or of all; undefined passes everything on. */
  answer(how: GateAnswer | undefined, actions?: readonly string[]): void;
  /** Requests so far by action, including those that were not passed on. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns the headers of the last request. */
  lastHeaders(): Readonly<Record<string, string | string[] | undefined>>;
  lastBody(): string;
  close(): Promise<void>;
}

export const THROTTLED = buildErrorAnswer(503, "RequestLimitExceeded");
export const DENIED = buildErrorAnswer(403, "UnauthorizedOperation");
export const FAILED = buildErrorAnswer(500, "InternalError");

/** Builds a successful answer of EC2 to any action: with one of these elements, such as an empty list, or none. */
export function buildEc2Answer(contentByAction: Readonly<Record<string, string>>): GateAnswer {
  return {
    status: 200,
    body: (action) =>
      `<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId>${contentByAction[action] ?? ""}</${action}Response>`,
  };
}

/** Builds an error in STS's format. */
export function buildStsErrorAnswer(status: number, code: string): GateAnswer {
  const type = status < 500 ? "Sender" : "Receiver";
  const body = `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>${type}</Type><Code>${code}</Code><Message>by the gate</Message></Error><RequestId>1</RequestId></ErrorResponse>`;
  return { status, body };
}

/** Builds an error in EC2's format. */
export function buildErrorAnswer(status: number, code: string): GateAnswer {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>${code}</Code><Message>by the gate</Message></Error></Errors><RequestID>1</RequestID></Response>`;
  return { status, body };
}

/** Opens a gate before `target`. Without a target, every request without a set answer gets status 502. */
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
      outgoing
        .writeHead(answer.status, { "content-type": "text/xml" })
        .end(typeof answer.body === "string" ? answer.body : answer.body(action));
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

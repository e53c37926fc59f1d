import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { Disturbance, RunningPlatform } from "#test/platforms/contract/platform.ts";

/** A request at the gate, read to its end. */
export interface GatedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** An answer by the gate, or by the server behind it. */
export interface GateAnswer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/**
 * What becomes of a request: it goes on to the server; it never gets there and is never answered; it is
 * carried out and the connection is cut; it is carried out twice at the same time; or the gate answers it.
 */
export type GateVerdict = "pass" | "drop" | "lose" | "twice" | GateAnswer;

/** An HTTP/1.1 proxy that judges each request. It keeps its port over `turnOff`. */
export interface HttpGate {
  readonly url: string;
  /** Returns the requests that are with the server. */
  listForwarded(): readonly GatedRequest[];
  /** Refuses connections and cuts open ones; the server behind finishes what it has begun. */
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  close(): Promise<void>;
}

export interface HttpGateOptions {
  /** Returns the URL of the server behind, when a request needs it. */
  readonly target: (request: GatedRequest) => Promise<string>;
  readonly judge: (request: GatedRequest) => GateVerdict | Promise<GateVerdict>;
}

/** Starts it on a free port of 127.0.0.1. */
export async function startHttpGate({ target, judge }: HttpGateOptions): Promise<HttpGate> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  const forwarded = new Set<GatedRequest>();
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  let port = 0;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url = "/", headers } = incoming;
    const request: GatedRequest = { method, path: url, headers, body: await buffer(incoming) };
    const verdict = await judge(request);
    if (verdict === "drop") return;
    if (typeof verdict === "object") return answer(response, verdict);
    const forward = async (copy: GatedRequest): Promise<GateAnswer> => {
      const url = await target(copy);
      forwarded.add(copy);
      return forwardRequest(url, copy, agent).finally(() => forwarded.delete(copy));
    };
    const twin = verdict === "twice" ? forward({ ...request }).catch(() => undefined) : undefined;
    const answered = await forward(request);
    await twin;
    if (verdict === "lose") incoming.socket.destroy();
    else answer(response, answered);
  }

  const turnOn = async (): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  };
  const turnOff = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await turnOn();
  return {
    url: `http://127.0.0.1:${port}`,
    listForwarded: () => [...forwarded],
    turnOff,
    turnOn,
    close: async () => {
      await turnOff();
      agent.destroy();
    },
  };
}

/** A gate between relay and platform. */
export interface InvocationGate extends HttpGate, Pick<RunningPlatform, "disturb" | "left"> {
  /** Returns how many invocations the gate has passed on. */
  countInvocations(): number;
}

/** Whether a request starts a function: checks beforehand do not. */
function isInvocation({ method, headers }: GatedRequest): boolean {
  return method === "POST" && headers["x-amz-invocation-type"] !== "DryRun";
}

/**
 * Starts a gate that disturbs invocations. `check` answers requests that must not get to the platform, and
 * `refusal` is the platform's own answer while it cannot start a function.
 */
export async function startInvocationGate(options: {
  readonly target: () => Promise<string>;
  readonly refusal: GateAnswer;
  readonly check?: (request: GatedRequest) => GateAnswer | undefined;
}): Promise<InvocationGate> {
  const disturbances: Disturbance[] = [];
  let invocations = 0;
  const gate = await startHttpGate({
    target: async (request) => {
      const url = await options.target();
      if (isInvocation(request)) invocations += 1;
      return url;
    },
    judge: (request) => {
      const checked = options.check?.(request);
      if (checked !== undefined) return checked;
      switch (isInvocation(request) ? disturbances.shift() : undefined) {
        case undefined:
          return "pass";
        case "refuse":
          return options.refusal;
        case "lose the answer":
          return "lose";
        case "deliver twice":
          return "twice";
      }
    },
  });
  return {
    ...gate,
    disturb: (how, count) => void disturbances.push(...Array.from({ length: count }, () => how)),
    left: () => disturbances.length,
    countInvocations: () => invocations,
  };
}

function answer(response: ServerResponse, { status, headers, body }: GateAnswer): void {
  const { "transfer-encoding": _, connection: __, ...kept } = headers;
  response.writeHead(status, { ...kept, "content-length": body.length }).end(body);
}

/** Rejects if the server behind ends before its answer is complete. */
function forwardRequest(target: string, request: GatedRequest, agent: Agent): Promise<GateAnswer> {
  const { method, path, headers, body } = request;
  return new Promise((resolve, reject) => {
    const outgoing = send(new URL(path, target), { method, headers, agent }, (incoming) => {
      buffer(incoming).then(
        (read) => resolve({ status: incoming.statusCode ?? 502, headers: incoming.headers, body: read }),
        reject,
      );
    });
    outgoing.once("error", reject).end(body);
  });
}

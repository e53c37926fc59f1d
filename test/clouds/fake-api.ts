import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer in place of the real one; `destroy` breaks the connection, `hang` never answers. */
export type FakeAnswer = "destroy" | "hang" | WholeAnswer;

/** A complete answer. */
export interface WholeAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that arrived. */
export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Records a request that the real API would reject as invalid, and answers with the rejection. */
export type Refuse = (answer: WholeAnswer) => WholeAnswer;

/** An HTTP server of a fake cloud, with controls for tests. */
export interface FakeApi {
  readonly url: string;
  readonly requests: FakeRequest[];
  /** Called for each request first; undefined lets it through. */
  fault: ((request: FakeRequest) => FakeAnswer | undefined) | undefined;
  /** Called before each answer, to change the world meanwhile or to wait. */
  before: ((request: FakeRequest) => Promise<void> | void) | undefined;
  /** The headers of every answer without its own. */
  headers: Readonly<Record<string, string>>;
  /** The number of requests that hang now. */
  hanging: number;
  /** Throws if a request came that the real API would have rejected as invalid. */
  close(): Promise<void>;
}

/** Starts a server on a free port of this machine, which answers as `buildAdmissionResponse` does. */
export async function startFakeApi(
  answerTo: (request: FakeRequest, refuse: Refuse) => WholeAnswer,
): Promise<FakeApi> {
  const violations: string[] = [];
  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing));

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://fake");
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const request: FakeRequest = {
      method: incoming.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString("utf8"),
    };
    fake.requests.push(request);
    await fake.before?.(request);
    const refuse: Refuse = (answer) => {
      violations.push(`${request.method} ${url.pathname}${url.search}: ${answer.status}`);
      return answer;
    };
    const answer = fake.fault?.(request) ?? answerTo(request, refuse);
    if (answer === "hang") {
      fake.hanging += 1;
      outgoing.once("close", () => {
        fake.hanging -= 1;
      });
      return;
    }
    if (answer === "destroy") {
      incoming.socket.destroy();
      return;
    }
    const headers = { "content-type": "application/json", ...fake.headers, ...answer.headers };
    outgoing.writeHead(answer.status, headers).end(answer.body);
  }

  const fake: FakeApi = {
    url: "",
    requests: [],
    fault: undefined,
    before: undefined,
    headers: {},
    hanging: 0,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      if (violations.length > 0) throw new Error(`the API knows no such requests: ${violations.join("; ")}`);
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(fake, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

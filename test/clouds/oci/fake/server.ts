import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { API_KEY, type ApiKey, TENANCY, USER } from "#test/clouds/oci/fake/credentials.ts";
import { createFakeInstances, type FakeInstances } from "#test/clouds/oci/fake/instances.ts";
import { createFakeNetwork, type FakeNetwork } from "#test/clouds/oci/fake/network.ts";
import {
  buildRefusal,
  type FakeReply,
  type FakeRequest,
  type FakeRoute,
  findPage,
  type Paging,
} from "#test/clouds/oci/fake/reply.ts";
import { checkSignature } from "#test/clouds/oci/fake/signature.ts";

/**
 * Oracle's API as far as it is used, and strict: it verifies each signature, and `close` reports unknown
 * requests, which get the real error. One server replaces all hosts; the path determines the service.
 */
export interface FakeOci extends Paging {
  readonly url: string;
  readonly network: FakeNetwork;
  readonly compute: FakeInstances;
  readonly requests: FakeRequest[];
  /** Milliseconds by which its clock is ahead of this machine's. */
  clockAheadMs: number;
  /** Called for each request first; undefined lets it through. */
  fault: ((request: FakeRequest) => FakeReply | undefined) | undefined;
  /** Called after a request was carried out; undefined lets the answer through. */
  lost: ((request: FakeRequest) => FakeReply | undefined) | undefined;
  /** Called before a request is answered, to change the world meanwhile or to wait. */
  before: ((request: FakeRequest) => Promise<void> | void) | undefined;
  /** The number of requests that hang now. */
  hanging: number;
  /** From now on only this key is accepted; undefined accepts none. */
  acceptKey(key: ApiKey | undefined): void;
  /** Throws if a request came that the real API would have rejected as invalid. */
  close(): Promise<void>;
}

/** Starts the fake, with a VCN and a subnet, on a free port of this machine. */
export async function startFakeOci(more: readonly FakeRoute[] = []): Promise<FakeOci> {
  const violations: string[] = [];
  const keys = new Map<string, ApiKey>();
  const network = createFakeNetwork();
  const compute = createFakeInstances(network);
  const routes = [...compute.routes, ...network.routes, ...more];
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing);
  });
  const fake: FakeOci = {
    url: "",
    network,
    compute,
    requests: [],
    pageLimit: 500,
    emptyPages: false,
    clockAheadMs: 0,
    fault: undefined,
    lost: undefined,
    before: undefined,
    hanging: 0,
    acceptKey(key) {
      keys.clear();
      if (key !== undefined) keys.set(`${TENANCY}/${USER}/${key.fingerprint}`, key);
    },
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      if (violations.length > 0) throw new Error(`the API knows no such requests: ${violations.join("; ")}`);
    },
  };
  fake.acceptKey(API_KEY);

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const url = new URL(incoming.url ?? "/", "http://fake");
    const request: FakeRequest = {
      method: incoming.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
    fake.requests.push(request);
    await fake.before?.(request);
    const refused = fake.fault?.(request) ?? unsigned(incoming, text);
    const answer = refused ?? answerTo(request, url);
    const reply = refused ?? fake.lost?.(request) ?? answer;
    if (reply === "hang") {
      fake.hanging += 1;
      outgoing.once("close", () => {
        fake.hanging -= 1;
      });
      return;
    }
    if (reply === "destroy") {
      incoming.socket.destroy();
      return;
    }
    const { status, body, headers } = reply;
    outgoing.sendDate = false;
    outgoing.writeHead(status, {
      "content-type": "application/json",
      date: new Date(Date.now() + fake.clockAheadMs).toUTCString(),
      "opc-request-id": `req-${fake.requests.length}`,
      ...headers,
    });
    outgoing.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  }

  function unsigned(incoming: IncomingMessage, body: string): FakeReply | undefined {
    const { method = "", url: target = "", headers } = incoming;
    const verdict = checkSignature({ method, target, headers, body }, keys, Date.now() + fake.clockAheadMs);
    if (verdict.kind === "accepted") return undefined;
    if (verdict.kind === "wrong") violations.push(`${method} ${target}: ${verdict.why}`);
    return buildRefusal(
      401,
      "NotAuthenticated",
      "The required information to complete authentication was not provided or was incorrect.",
    );
  }

  function answerTo(request: FakeRequest, url: URL): FakeReply {
    const { method, path } = request;
    const refuse = (status: number, code: string): FakeReply => {
      violations.push(`${method} ${path}${url.search}: ${code}`);
      return buildRefusal(status, code);
    };
    for (const route of routes) {
      const match = route.path.exec(path);
      if (match === null || route.method !== method) continue;
      const paging = route.paged === true ? ["limit", "page"] : [];
      const known = [...(route.required ?? []), ...(route.allowed ?? []), ...paging];
      const given = [...url.searchParams.keys()];
      const isTwice = new Set(given).size !== given.length;
      if (isTwice || given.some((each) => !known.includes(each))) return refuse(400, "InvalidParameter");
      if (route.required?.some((each) => !given.includes(each))) return refuse(400, "MissingParameter");
      const answer = route.answer(request, ...match.slice(1));
      if (!isList(answer)) return answer;
      if (route.paged !== true) return { status: 200, body: answer };
      return findPage(answer, request, fake) ?? refuse(400, "InvalidParameter");
    }
    return refuse(404, "NotFound");
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(fake, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function isList(answer: FakeReply | readonly unknown[]): answer is readonly unknown[] {
  return Array.isArray(answer);
}

import { once } from "node:events";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Event } from "#core/event.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { createHttpInvoker } from "#platforms/http/invoker.ts";
import { isRefusal, readPlatformSign } from "#platforms/invoker.ts";
import type { FunctionAccess, PlatformInvoker } from "#platforms/platform.ts";
import {
  createUnknownHostEndpoint,
  type DeadEndpoint,
  startClosingEndpoint,
  startRefusingEndpoint,
  startUnacceptingEndpoint,
} from "#test/platforms/dead-endpoints.ts";
import { NODE_EVENT as event } from "#test/platforms/node-event.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0).reverse()) await close();
});

const { signal } = new AbortController();

/** A server, and its requests. */
interface Answering {
  readonly url: string;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: NodeJS.Dict<string | string[]>;
  }[];
  connections(): number;
}

async function start(listener: RequestListener, server: Server = createServer()): Promise<Answering> {
  const requests: Answering["requests"] = [];
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  server.on("request", (request, response) => {
    const { method = "", url = "", headers } = request;
    requests.push({ method, url, headers });
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const scheme = "setSecureContext" in server ? "https" : "http";
  const { port } = server.address() as AddressInfo;
  return { url: `${scheme}://127.0.0.1:${port}`, requests, connections: () => connections };
}

const answer =
  (status: number, body = "", headers = {}): RequestListener =>
  (request, response) => {
    request.resume();
    request.once("end", () => response.writeHead(status, headers).end(body));
  };

const reporting: RequestListener = async (request, response) => {
  response.end(JSON.stringify(buildReport(JSON.parse(await text(request)) as Event)));
};

function invoker(url: string, access?: Partial<FunctionAccess>, functionTimeoutMs = 5_000): PlatformInvoker {
  const created = createHttpInvoker({
    functionUrl: () => `${url}/node`,
    functionTimeoutMs,
    maxInFlight: 20,
    access: { authorization: async () => undefined, readTls: async () => ({}), ...access },
  });
  closing.push(() => created.close());
  return created;
}

describe("createHttpInvoker", () => {
  test("posts the event with its headers, and returns the report", async () => {
    const server = await start(reporting);
    const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const traced = { ...event, trace };
    const authorization = async (): Promise<string> => "Bearer a-token";
    const invocation = await invoker(server.url, { authorization }).invoke(traced, signal);
    expect(invocation).toEqual({ kind: "report", report: buildReport(traced) });
    expect(server.requests).toMatchObject([
      {
        method: "POST",
        url: "/node",
        headers: {
          authorization: "Bearer a-token",
          "content-type": "application/json",
          "ce-specversion": "1.0",
          "ce-id": event.id,
          "ce-source": "/clusters/one",
          "ce-type": "serverless-ccm.event",
          "serverless-ccm-timeout-ms": "5000",
          traceparent: trace,
        },
      },
    ]);
  });

  test("keeps its connections, and opens as many as there are invocations at once", async () => {
    let running = 0;
    let peak = 0;
    const server = await start(async (request, response) => {
      running += 1;
      peak = Math.max(peak, running);
      await waitUntilTrue("twenty at once", () => peak >= 20);
      running -= 1;
      await reporting(request, response);
    });
    const one = invoker(server.url, {}, 60_000);
    for (let round = 0; round < 2; round += 1) {
      const all = await Promise.all(Array.from({ length: 20 }, () => one.invoke(event, signal)));
      expect(all.map(({ kind }) => kind)).toEqual(Array.from({ length: 20 }, () => "report"));
    }
    expect([peak, server.connections()]).toEqual([20, 20]);
  });

  test.each<[string, RequestListener, string, RegExp]>([
    ["is empty", answer(200), "BadReport", /not a report/],
    ["is not JSON", answer(200, "<html>"), "BadReport", /not a report/],
    ["is another thing", answer(200, '{"ok":true}'), "BadReport", /not a report/],
    [
      "has an incomplete entry",
      answer(200, JSON.stringify({ ...buildReport(event), objects: [{ index: 0, outcome: "changed" }] })),
      "BadReport",
      /objects\.0\.because/,
    ],
    [
      "is about another event",
      answer(200, JSON.stringify({ ...buildReport(event), id: "other" })),
      "BadReport",
      /another event/,
    ],
    ["is larger than the limit", answer(200, " ".repeat(7_000_000)), "BadReport", /more than 6291456 bytes/],
    ["has no end", (_, response) => void pour(response), "BadReport", /more than 6291456 bytes/],
  ])("does not accept an answer that %s", async (_, listener, code, words) => {
    const server = await start(listener);
    const invocation = await invoker(server.url, {}, 60_000).invoke(event, signal);
    expect(invocation).toEqual({ kind: "failed", code, message: expect.stringMatching(words), settleMs: 0 });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[number, string, string, boolean, string | undefined]>([
    [202, "", "BadReport", true, "answers"],
    [400, '{"code":"EventRejected","message":"no"}', "Rejected", false, "answers"],
    [401, '{"code":"Unauthenticated","message":"no"}', "Denied", false, "answers"],
    [404, "<html>", "Denied", false, "answers"],
    [413, "", "Rejected", false, "answers"],
    [429, '{"code":"TooManyInvocations","message":"no"}', "Throttled", false, "refuses"],
    [500, '{"code":"FunctionError","message":"Error: boom"}', "FunctionError", false, "answers"],
    [500, "<html>", "Unreachable", true, "silent"],
    [502, "", "Unreachable", true, "silent"],
    [503, '{"code":"Draining","message":"no"}', "Unreachable", false, "refuses"],
    [504, "", "Unreachable", true, "silent"],
  ])("maps status %i with %s to %s without a second request", async (status, body, code, mayRun, sign) => {
    const server = await start(answer(status, body));
    vi.useFakeTimers({ toFake: ["performance"] });
    const invocation = await invoker(server.url).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code, settleMs: mayRun ? 8_000 : 0 });
    expect(isRefusal(invocation)).toBe(!mayRun && ["Denied", "Throttled", "Unreachable"].includes(code));
    expect([readPlatformSign(invocation), server.requests.length]).toEqual([sign, 1]);
  });

  test("follows no redirect, and sends its token nowhere else", async () => {
    const elsewhere = await start(reporting);
    const server = await start(answer(307, "", { location: `${elsewhere.url}/node` }));
    const authorization = async (): Promise<string> => "Bearer a-token";
    const invocation = await invoker(server.url, { authorization }).invoke(event, signal);
    expect(invocation).toMatchObject({
      code: "Denied",
      message: expect.stringContaining("redirects"),
      settleMs: 0,
    });
    expect(elsewhere.requests).toEqual([]);
  });

  test.each<[string, RequestListener]>([
    ["before the answer", ({ socket }) => void socket.destroy()],
    ["in the middle of its head", ({ socket }) => void socket.end("HTTP/1.1 200 OK\r\ncontent-")],
    [
      "in the middle of its body",
      ({ socket }, response) => {
        response.writeHead(200, { "content-length": 1_000 }).write('{"version"', () => socket.destroy());
      },
    ],
  ])("if the connection is cut %s, the function may still be writing", async (_, listener) => {
    const server = await start(listener);
    vi.useFakeTimers({ toFake: ["performance"] });
    const invocation = await invoker(server.url).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code: "Unreachable", settleMs: 8_000 });
    expect(server.requests).toHaveLength(1);
  });

  test.each<[string, () => Promise<DeadEndpoint>, string]>([
    ["no server listens", startRefusingEndpoint, "http:"],
    ["the host is unknown", createUnknownHostEndpoint, "http:"],
    ["no connection is accepted", startUnacceptingEndpoint, "http:"],
    ["the TLS handshake breaks", startClosingEndpoint, "https:"],
  ])("if %s, no function is writing", async (_, startEndpoint, scheme) => {
    const endpoint = await startEndpoint();
    closing.push(() => endpoint.close());
    const url = endpoint.url.replace("http:", scheme);
    const invocation = await invoker(url).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code: "Unreachable", settleMs: 0 });
    expect(isRefusal(invocation)).toBe(true);
  });

  test("if the certificate is of an unknown authority, nothing is sent", async () => {
    const authority = await createCertificateAuthority();
    const { certificate: cert, key } = await authority.issueServer();
    const server = await start(reporting, createTlsServer({ cert, key }));
    expect(await invoker(server.url).invoke(event, signal)).toMatchObject({
      code: "Unreachable",
      settleMs: 0,
    });
    expect(server.requests).toEqual([]);
    const readTls = async () => ({ ca: authority.certificate });
    expect(await invoker(server.url, { readTls }).invoke(event, signal)).toMatchObject({ kind: "report" });
  });

  test("uses a new client certificate for new connections", async () => {
    const authority = await createCertificateAuthority();
    const { certificate: cert, key } = await authority.issueServer();
    const names: unknown[] = [];
    const server = await start(
      async (request, response) => {
        const { socket } = request;
        names.push("getPeerCertificate" in socket && (socket as TLSSocket).getPeerCertificate().subject.CN);
        response.setHeader("connection", "close");
        await reporting(request, response);
      },
      createTlsServer({ cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: true }),
    );
    let name = "one";
    const readTls = async () => {
      const pair = await authority.issueClient({ name, groups: [] });
      return { ca: authority.certificate, cert: pair.certificate, key: pair.key };
    };
    const caller = invoker(server.url, { readTls });
    expect(await caller.invoke(event, signal)).toMatchObject({ kind: "report" });
    name = "two";
    expect(await caller.invoke(event, signal)).toMatchObject({ kind: "report" });
    expect(names).toEqual(["one", "two"]);
  });

  test("reads its credential anew after it was refused", async () => {
    const server = await start((request, response) => {
      if (request.headers.authorization === "Bearer new") void reporting(request, response);
      else answer(401)(request, response);
    });
    const asked: unknown[] = [];
    const authorization: FunctionAccess["authorization"] = async (options) => {
      asked.push(options?.fresh);
      return options?.fresh === true ? "Bearer new" : "Bearer old";
    };
    const caller = invoker(server.url, { authorization });
    expect(await caller.invoke(event, signal)).toMatchObject({ code: "Denied", settleMs: 0 });
    expect(await caller.invoke(event, signal)).toMatchObject({ kind: "report" });
    expect(asked).toEqual([false, true]);
  });

  test.each<[string, Partial<FunctionAccess>]>([
    ["token", { authorization: () => Promise.reject(new Error("the file cannot be read")) }],
    ["certificate", { readTls: () => Promise.reject(new Error("the file cannot be read")) }],
  ])("is denied by its own %s that cannot be read, and sends nothing", async (_, access) => {
    const server = await start(reporting);
    const invocation = await invoker(server.url, access).invoke(event, signal);
    expect(invocation).toMatchObject({ code: "Denied", message: "the file cannot be read", settleMs: 0 });
    expect(server.requests).toEqual([]);
  });

  test("gives up after a little more than the function's time, and says how long it may still be writing", async () => {
    const server = await start(() => undefined);
    const caller = invoker(server.url, {}, 50);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const invoking = caller.invoke(event, signal);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(2_050);
    expect(await invoking).toMatchObject({ code: "TimedOut", settleMs: 1_000 });
  });

  test("ends on its signal, and the server sees that the caller is gone", async () => {
    let isGone = false;
    const server = await start((_, response) => {
      response.once("close", () => {
        isGone = true;
      });
    });
    const stopping = new AbortController();
    const invoking = invoker(server.url, {}, 60_000).invoke(event, stopping.signal);
    await waitUntilTrue("the invocation", () => server.requests.length === 1);
    stopping.abort();
    expect(await invoking).toMatchObject({ kind: "failed", code: "Unreachable" });
    await waitUntilTrue("the server to see it", () => isGone);
  });
});

describe("the dry run", () => {
  test.each<[number, string | undefined, RegExp]>([
    [204, undefined, /^$/],
    [200, undefined, /^$/],
    [429, undefined, /^$/],
    [401, "CredentialsRefused", /token/],
    [403, "Denied", /token/],
    [404, "FunctionMissing", /URL template/],
    [307, "Unreachable", /redirects/],
    [503, "Unreachable", /network/],
  ])("of an answer with status %i is %s", async (status, code, words) => {
    const server = await start(answer(status));
    const reason = await invoker(server.url).dryRun("cloud-node-controller", signal);
    expect(reason?.code).toBe(code);
    expect(reason?.message ?? "").toMatch(words);
    expect(server.requests).toMatchObject([{ method: "HEAD", url: "/node" }]);
  });

  test("names what cannot be reached, and a token that cannot be read", async () => {
    const { url } = await startRefusingEndpoint();
    const dryRun = (access?: Partial<FunctionAccess>) =>
      invoker(url, access).dryRun("cloud-node-controller", signal);
    expect(await dryRun()).toEqual({
      code: "Unreachable",
      message: expect.stringMatching(/ECONNREFUSED.*network/),
    });
    const authorization = () => Promise.reject(new Error("the file is empty"));
    expect(await dryRun({ authorization })).toEqual({
      code: "CredentialsMissing",
      message: `function ${url}/node: the file is empty`,
    });
  });
});

/** Writes without an end, as fast as the client reads. */
async function pour(response: ServerResponse): Promise<void> {
  const endless = Readable.from(
    (function* () {
      for (;;) yield " ".repeat(65_536);
    })(),
  );
  await pipeline(endless, response).catch(() => undefined);
}

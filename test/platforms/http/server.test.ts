import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectSocket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { Event } from "#core/event.ts";
import { createCertificateAuthority } from "#emulators/harness/certificates.ts";
import { createAuthentication } from "#platforms/http/authentication.ts";
import type { InvocationContext, ServedFunction } from "#platforms/http/function-runner.ts";
import { createHttpInvoker } from "#platforms/http/invoker.ts";
import {
  type FunctionServer,
  type FunctionServerOptions,
  startFunctionServer,
} from "#platforms/http/server.ts";
import type { Webhook } from "#platforms/http/webhook-runner.ts";
import type { CallerTls, PlatformInvoker } from "#platforms/platform.ts";
import { NODE_EVENT as event } from "#test/platforms/node-event.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const { signal } = new AbortController();
const reporting: ServedFunction = async (received) => buildReport(received as Event);
const JSON_HEADERS = { "content-type": "application/json" };

let lines: Readonly<Record<string, unknown>>[] = [];

async function start(
  functions: Readonly<Record<string, ServedFunction>> = { node: reporting },
  options: Partial<FunctionServerOptions> = {},
): Promise<FunctionServer> {
  lines = [];
  const server = await startFunctionServer({
    functions: new Map(Object.entries(functions)),
    ...{ bindAddress: "127.0.0.1", port: 0, concurrency: 10, functionTimeoutMs: 30_000 },
    log: (line) => void lines.push(line),
    ...options,
  });
  closing.push(() => server.close());
  return server;
}

function invoker(url: string, tls: CallerTls = {}, authorization?: string): PlatformInvoker {
  const created = createHttpInvoker({
    functionUrl: () => `${url}/node`,
    functionTimeoutMs: 5_000,
    maxInFlight: 20,
    access: { authorization: async () => authorization, readTls: async () => tls },
  });
  closing.push(() => created.close());
  return created;
}

async function post(url: string, body: unknown = event, headers: Record<string, string> = JSON_HEADERS) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(url, { method: "POST", body: text, headers });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as Record<string, unknown>,
  };
}

/** A function that waits until it is told to end, or its signal fires. */
function waiting() {
  const contexts: InvocationContext[] = [];
  const ends: (() => void)[] = [];
  const run: ServedFunction = async (received, context) => {
    contexts.push(context);
    await new Promise<void>((resolve) => {
      ends.push(resolve);
      context.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    return buildReport(received as Event);
  };
  return { run, contexts, end: () => ends.splice(0).forEach((each) => void each()) };
}

describe("a request", () => {
  test("is answered with the report and its headers", async () => {
    const { url } = await start();
    const { status, headers, body } = await post(`${url}/node`);
    expect([status, body]).toEqual([200, buildReport(event)]);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "application/json",
      "ce-specversion": "1.0",
      "ce-id": event.id,
      "ce-source": "/functions/node",
      "ce-type": "serverless-ccm.report",
    });
  });

  test("is a relay's, and its report arrives", async () => {
    const { url } = await start();
    expect(await invoker(url).invoke(event, signal)).toEqual({ kind: "report", report: buildReport(event) });
    expect(await invoker(url).dryRun("cloud-node-controller", signal)).toBeUndefined();
  });

  test.each([
    ["/node", "node"],
    ["/ccm/prod/node", "node"],
    ["/node?x=1", "node"],
    ["/service", "service"],
  ])("to %s is for the function %s", async (path, name) => {
    const functions = Object.fromEntries(
      ["node", "service"].map((each) => [each, async () => ({ id: "x", name: each })]),
    );
    const { url } = await start(functions);
    expect((await post(url + path)).body["name"]).toBe(name);
  });

  test("to / is for the function of a server with one alone", async () => {
    expect((await post((await start()).url)).status).toBe(200);
    expect((await post((await start({ node: reporting, service: reporting })).url)).status).toBe(404);
  });

  test.each<[string, number, string, () => Promise<{ status: number; body: Record<string, unknown> }>]>([
    [
      "to an unknown function",
      404,
      "FunctionMissing",
      async () => post(`${(await start({ a: reporting, b: reporting })).url}/nodes`),
    ],
    [
      "with another type",
      415,
      "UnsupportedMediaType",
      async () => post(`${(await start()).url}/node`, event, { "content-type": "text/plain" }),
    ],
    [
      "in CloudEvents' structured mode",
      415,
      "UnsupportedMediaType",
      async () =>
        post(`${(await start()).url}/node`, event, { "content-type": "application/cloudevents+json" }),
    ],
    [
      "in another character set",
      415,
      "UnsupportedMediaType",
      async () =>
        post(`${(await start()).url}/node`, event, { "content-type": "application/json; charset=latin1" }),
    ],
    [
      "that is compressed",
      415,
      "UnsupportedMediaType",
      async () => post(`${(await start()).url}/node`, event, { ...JSON_HEADERS, "content-encoding": "gzip" }),
    ],
    ["that is not JSON", 400, "EventRejected", async () => post(`${(await start()).url}/node`, "{")],
    ["without a body", 400, "EventRejected", async () => post(`${(await start()).url}/node`, "")],
    [
      "with an invalid time",
      400,
      "EventRejected",
      async () =>
        post(`${(await start()).url}/node`, event, { ...JSON_HEADERS, "serverless-ccm-timeout-ms": "soon" }),
    ],
    [
      "that is too large",
      413,
      "TooLarge",
      async () => post(`${(await start()).url}/node`, " ".repeat(5_000_001)),
    ],
  ])("%s is answered %i %s", async (_, status, code, ask) => {
    expect(await ask()).toMatchObject({ status, body: { code, message: expect.any(String) } });
  });

  test("that is too large and does not say so is answered 413", async () => {
    const { url } = await start();
    const sent = httpRequest(`${url}/node`, { method: "POST", headers: JSON_HEADERS });
    for (let megabytes = 0; megabytes < 6; megabytes += 1) sent.write(" ".repeat(1_000_000));
    sent.end();
    const [answer] = await once(sent, "response");
    expect(answer.statusCode).toBe(413);
    answer.resume();
  });

  test("without an end costs its connection", async () => {
    const { url } = await start();
    const sent = httpRequest(`${url}/node`, { method: "POST", headers: JSON_HEADERS });
    let bytes = 0;
    const ended = new Promise<void>((resolve) => {
      sent.on("error", () => resolve());
      sent.on("response", (answer) => {
        answer.resume();
        answer.once("close", () => resolve());
      });
    });
    const pour = (): void => {
      while (!sent.destroyed && bytes < 100_000_000) {
        bytes += 65_536;
        if (!sent.write(Buffer.alloc(65_536, 32))) return;
      }
    };
    sent.on("drain", pour);
    pour();
    await ended;
    expect(bytes).toBeLessThan(50_000_000);
  });

  test.each(["GET", "PUT", "DELETE", "OPTIONS"])("by %s is answered 405", async (method) => {
    const { url } = await start();
    const answer = await fetch(`${url}/node`, { method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, HEAD"]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("believes the body, and not what CloudEvents headers say of it", async () => {
    const { url } = await start();
    const said = { "ce-specversion": "0.3", "ce-id": "forged", "ce-type": "other", "ce-source": "/x" };
    const { status, body } = await post(`${url}/node`, event, { ...JSON_HEADERS, ...said });
    expect([status, body["id"]]).toEqual([200, event.id]);
  });
});

describe("a function", () => {
  test.each<[string, ServedFunction, number, string, RegExp]>([
    ["throws", () => Promise.reject(new Error("boom")), 500, "FunctionError", /boom/],
    [
      "throws at once",
      () => {
        throw new Error("boom");
      },
      500,
      "FunctionError",
      /boom/,
    ],
    [
      "rejects its event",
      () => Promise.reject(Object.assign(new Error("version: 9"), { code: "EventRejected" })),
      400,
      "EventRejected",
      /version: 9/,
    ],
    [
      "rejects what is no sweep's payload",
      () => Promise.reject(Object.assign(new Error("no"), { code: "SweepRejected" })),
      400,
      "EventRejected",
      /no/,
    ],
    [
      "answers more than the limit",
      async () => "x".repeat(7_000_000),
      500,
      "FunctionError",
      /more than 6291456 bytes/,
    ],
  ])("that %s is answered so", async (_, run, status, code, words) => {
    const { url } = await start({ node: run });
    expect(await post(`${url}/node`)).toMatchObject({
      status,
      body: { code, message: expect.stringMatching(words) },
    });
  });

  test.each([
    [undefined, 30_000],
    ["5000", 5_000],
    ["600000", 30_000],
  ])("has the smaller of the caller's time %s and the server's own: %i ms", async (header, ms) => {
    let leftMs = Number.NaN;
    const { url } = await start({
      async node(received, context) {
        leftMs = context.getRemainingTimeInMillis();
        return buildReport(received as Event);
      },
    });
    await post(`${url}/node`, event, {
      ...JSON_HEADERS,
      ...(header === undefined ? {} : { "serverless-ccm-timeout-ms": header }),
    });
    expect(leftMs).toBeLessThanOrEqual(ms);
    expect(leftMs).toBeGreaterThan(0);
    if (ms === 30_000) expect(leftMs).toBeGreaterThan(5_000);
  });

  test("that exceeds its time is told to start nothing new, and the answer says that it may run", async () => {
    const { run, contexts } = waiting();
    const { url } = await start({
      node: async (received, context) => {
        await run(received, context);
        return new Promise(() => undefined);
      },
    });
    const { status, body } = await post(`${url}/node`, event, {
      ...JSON_HEADERS,
      "serverless-ccm-timeout-ms": "20",
    });
    expect([status, body["code"]]).toEqual([504, "TimedOut"]);
    expect(contexts[0]?.signal.aborted).toBe(true);
  });

  test("whose caller is gone is told to start nothing new", async () => {
    const { run, contexts } = waiting();
    const { url } = await start({ node: run });
    const stopping = new AbortController();
    const invoking = fetch(`${url}/node`, {
      ...{ method: "POST", headers: JSON_HEADERS, body: JSON.stringify(event), signal: stopping.signal },
    }).catch(() => "gone");
    await waitUntilTrue("the function to run", () => contexts.length === 1);
    const [context] = contexts;
    expect(context?.signal.aborted).toBe(false);
    let leftMs = 0;
    context?.signal.addEventListener("abort", () => {
      leftMs = context.getRemainingTimeInMillis();
    });
    stopping.abort();
    expect(await invoking).toBe("gone");
    await waitUntilTrue("the signal", () => context?.signal.aborted === true);
    // It was not the end of its time.
    expect(leftMs).toBeGreaterThan(1_000);
  });

  test("is refused beyond the limit with 429, until one has ended", async () => {
    const { run, contexts, end } = waiting();
    const { url } = await start({ node: run }, { concurrency: 2 });
    const both = [post(`${url}/node`), post(`${url}/node`)];
    await waitUntilTrue("two to run", () => contexts.length === 2);
    const refused = await post(`${url}/node`);
    expect([refused.status, refused.headers.get("retry-after"), refused.body["code"]]).toEqual([
      429,
      "1",
      "TooManyInvocations",
    ]);
    expect(await invoker(url).invoke(event, signal)).toMatchObject({ code: "Throttled", settleMs: 0 });
    end();
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
    const next = post(`${url}/node`);
    await waitUntilTrue("a third to run", () => contexts.length === 3);
    end();
    expect((await next).status).toBe(200);
  });

  test("that was given up counts until it has ended", async () => {
    let end = (): void => undefined;
    const { url } = await start(
      {
        node: () =>
          new Promise<void>((resolve) => {
            end = resolve;
          }),
      },
      { concurrency: 1 },
    );
    const hurried = { ...JSON_HEADERS, "serverless-ccm-timeout-ms": "10" };
    expect((await post(`${url}/node`, event, hurried)).status).toBe(504);
    expect((await post(`${url}/node`, event, hurried)).status).toBe(429);
    end();
    await waitUntilTrue(
      "its place to be free",
      async () => (await post(`${url}/node`, event, hurried)).status === 504,
    );
  });
});

describe("a webhook", () => {
  const webhook = (answer: Webhook["answer"]): Webhook => ({
    pathPrefix: "/hook/",
    identify: (path) => (path.startsWith("/hook/known") ? path : undefined),
    answer,
  });
  const echoing = webhook(async ({ method, path, headers, body }) => ({
    statusCode: 202,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ method, path, authorization: headers["authorization"], body }),
  }));
  const authenticate = createAuthentication({ readTokens: async () => ["right"] });

  test("has its own authentication, its own paths and the whole request", async () => {
    const { url } = await start({ node: reporting }, { authenticate, webhooks: [echoing] });
    const headers = { "content-type": "text/plain", authorization: "Bearer its-own" };
    const { status, body } = await post(`${url}/hook/known?x=1`, "text", headers);
    const path = "/hook/known";
    expect([status, body]).toEqual([
      202,
      { method: "POST", path, authorization: "Bearer its-own", body: "text" },
    ]);
    expect((await post(`${url}/hookless`, "text", headers)).status).toBe(401);
  });

  test("reads no body from strangers", async () => {
    const { url } = await start({ node: reporting }, { authenticate, webhooks: [echoing] });
    expect((await post(`${url}/hook/unknown`, "text")).body["body"]).toBe("");
    expect((await post(`${url}/hook/known`, " ".repeat(5_000_001))).status).toBe(413);
  });

  test("takes no places of functions, and is refused beyond its own", async () => {
    const ends: (() => void)[] = [];
    const slow = webhook(async () => {
      await new Promise<void>((resolve) => void ends.push(resolve));
      return { statusCode: 200, headers: {}, body: "{}" };
    });
    const { url } = await start({ node: reporting }, { concurrency: 1, webhooks: [slow] });
    const all = Array.from({ length: 5 }, () => post(`${url}/hook/known`));
    await waitUntilTrue("five requests", () => ends.length === 5);
    expect((await post(`${url}/hook/known-too`)).status).toBe(429);
    expect((await post(`${url}/node`)).status).toBe(200);
    for (const end of ends) end();
    expect((await Promise.all(all)).every(({ status }) => status === 200)).toBe(true);
  });

  test("leaves places to other callers, however much one asks", async () => {
    const ends: (() => void)[] = [];
    const slow = webhook(async () => {
      await new Promise<void>((resolve) => void ends.push(resolve));
      return { statusCode: 200, headers: {}, body: "{}" };
    });
    const { url } = await start({ node: reporting }, { concurrency: 10, webhooks: [slow] });
    const all = Array.from({ length: 8 }, () => post(`${url}/hook/known`));
    await waitUntilTrue("eight requests", () => ends.length === 8);
    expect((await post(`${url}/hook/known`)).status).toBe(429);
    const other = post(`${url}/hook/known-too`);
    await waitUntilTrue("the other caller's request", () => ends.length === 9);
    for (const end of ends) end();
    expect((await Promise.all([...all, other])).every(({ status }) => status === 200)).toBe(true);
  });

  test("is refused with the functions at the end, and a fault of it ends its connection alone", async () => {
    const failing = webhook(() => Promise.reject(new Error("boom")));
    const server = await start({ node: reporting }, { webhooks: [failing] });
    await expect(post(`${server.url}/hook/known`)).rejects.toThrow();
    expect(lines).toEqual([{ level: "error", event: "RequestFailed", message: "Error: boom" }]);
    await server.drain(AbortSignal.abort());
    expect((await post(`${server.url}/hook/known`)).status).toBe(503);
  });
});

describe("the end", () => {
  test("lets invocations finish and starts no other one", async () => {
    const { run, contexts, end } = waiting();
    const server = await start({ node: run });
    const probe = async (path: string) => (await fetch(server.url + path)).status;
    expect([await probe("/healthz"), await probe("/readyz")]).toEqual([200, 200]);
    const running = post(`${server.url}/node`);
    await waitUntilTrue("the function to run", () => contexts.length === 1);
    const draining = server.drain(new AbortController().signal);
    expect([await probe("/healthz"), await probe("/readyz")]).toEqual([200, 503]);
    const refused = await post(`${server.url}/node`);
    expect([refused.status, refused.body["code"], refused.headers.get("connection")]).toEqual([
      503,
      "Draining",
      "close",
    ]);
    expect(await invoker(server.url).invoke(event, signal)).toMatchObject({
      code: "Unreachable",
      settleMs: 0,
    });
    end();
    expect((await running).status).toBe(200);
    expect([await draining, contexts.length]).toEqual([true, 1]);
  });

  test("tells invocations that take too long to start nothing new, and has their reports answered", async () => {
    const { run, contexts } = waiting();
    const server = await start({ node: run });
    const running = post(`${server.url}/node`);
    await waitUntilTrue("the function to run", () => contexts.length === 1);
    expect(await server.drain(AbortSignal.abort())).toBe(true);
    expect([(await running).status, contexts[0]?.signal.aborted]).toEqual([200, true]);
  });

  test("waits until an answer is read", async () => {
    const server = await start({ node: async () => ({ text: "x".repeat(5_000_000) }) });
    const sent = httpRequest(`${server.url}/node`, { method: "POST", headers: JSON_HEADERS });
    sent.end(JSON.stringify(event));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const closed = server.drain(new AbortController().signal).then(() => server.close());
    // Time in which a server that does not wait would end the connection.
    await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 200))]);
    let bytes = 0;
    for await (const chunk of answer as AsyncIterable<Buffer>) bytes += chunk.length;
    expect(bytes).toBeGreaterThan(5_000_000);
    await closed;
  });

  test("does not wait for one that never ends", async () => {
    let runs = 0;
    const server = await start({
      node() {
        runs += 1;
        return new Promise(() => undefined);
      },
    });
    const running = post(`${server.url}/node`).catch(() => "cut");
    await waitUntilTrue("the function to run", () => runs === 1);
    expect(await server.drain(AbortSignal.abort())).toBe(false);
    await server.close();
    expect(await running).toBe("cut");
  });
});

describe("callers", () => {
  test("are not served on another address than loopback without authentication", async () => {
    await expect(start({ node: reporting }, { bindAddress: "0.0.0.0" })).rejects.toThrow(
      "not a loopback address",
    );
  });

  test("without authentication cannot be pages of other sites", async () => {
    const { port } = await start();
    const sent = httpRequest({
      port,
      host: "127.0.0.1",
      path: "/node",
      method: "POST",
      headers: { ...JSON_HEADERS, host: `evil.example.com:${port}` },
    });
    sent.end(JSON.stringify(event));
    const [answer] = await once(sent, "response");
    answer.resume();
    expect(answer.statusCode).toBe(421);
  });

  test("learn nothing of functions before they are known, and are counted in the log without their tokens", async () => {
    const authenticate = createAuthentication({ readTokens: async () => ["right"] });
    let runs = 0;
    const { url } = await start(
      {
        node: async () => {
          runs += 1;
        },
        csr: reporting,
      },
      { authenticate },
    );
    for (const path of ["/node", "/none", "/"]) {
      const { status, headers, body } = await post(url + path, event, {
        ...JSON_HEADERS,
        authorization: "Bearer wrong",
      });
      expect([status, headers.get("www-authenticate"), body["code"]]).toEqual([
        401,
        "Bearer",
        "Unauthenticated",
      ]);
    }
    expect([(await fetch(`${url}/healthz`)).status, runs]).toEqual([200, 0]);
    expect(lines).toEqual([
      { level: "warn", event: "CallersRefused", count: 1, message: "the bearer token is not valid" },
    ]);
    expect(
      (await post(`${url}/none`, event, { ...JSON_HEADERS, authorization: "Bearer right" })).status,
    ).toBe(404);
  });

  test("are known by their client certificates, and probes need none", async () => {
    const [authority, foreign] = await Promise.all([
      createCertificateAuthority(),
      createCertificateAuthority(),
    ]);
    const { certificate: cert, key } = await authority.issueServer();
    const ca = authority.certificate;
    const { url } = await start(
      { node: reporting },
      {
        readTls: async () => ({ cert, key, ca }),
        authenticate: createAuthentication({ clientSubjects: ["relay"] }),
      },
    );
    const as = async (name: string, issuer = authority) => {
      const pair = await issuer.issueClient({ name, groups: [] });
      return invoker(url, { ca, cert: pair.certificate, key: pair.key }).invoke(event, signal);
    };
    expect(await as("relay")).toMatchObject({ kind: "report" });
    expect(await as("other")).toMatchObject({
      code: "Denied",
      message: expect.stringContaining("status 403"),
    });
    expect(await as("relay", foreign)).toMatchObject({
      code: "Denied",
      message: expect.stringContaining("status 401"),
    });
    expect(await invoker(url, { ca }).invoke(event, signal)).toMatchObject({
      code: "Denied",
      message: expect.stringContaining("status 401"),
    });
  });

  test("that hold connections without a request leave room for others", async () => {
    const { port, url } = await start({ node: reporting }, { concurrency: 1 });
    const sockets = Array.from({ length: 250 }, () =>
      connectSocket(port, "127.0.0.1").on("error", () => undefined),
    );
    closing.push(async () => sockets.forEach((socket) => void socket.destroy()));
    await Promise.all(sockets.map((socket) => once(socket, "connect").catch(() => undefined)));
    expect((await post(`${url}/node`)).status).toBe(200);
  });
});

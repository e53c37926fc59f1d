import * as net from "node:net";
import * as tls from "node:tls";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createCertificateAuthority, type KeyPair } from "#emulators/harness/certificates.ts";
import { type ConnectOptions, connect } from "#kube/client/connect.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { type FreezingProxy, startFreezingProxy } from "#test/kube/client/freezing-proxy.ts";
import {
  type Act,
  type Arrived,
  type ScriptedServer,
  startScriptedServer,
} from "#test/kube/client/scripted-server.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const OK: Act = { answer: 200, body: '{"ok":true}' };
const GET: ApiRequest = { method: "GET", path: "/api/v1/nodes/a" };
const PATCH: ApiRequest = { method: "PATCH", path: "/api/v1/nodes/a", body: [] };
const POST: ApiRequest = { method: "POST", path: "/api/v1/namespaces/default/events", body: {} };
/** Limits that no loaded machine reaches. */
const PATIENT = { connectTimeoutMs: 120_000, requestTimeoutMs: 120_000 };

let server: ScriptedServer;
let transport: Transport;

/** A server that acts by a list, its last entry for ever (but answers `/ok` always), and a transport to it. */
async function given(
  acts: readonly [Act, ...Act[]],
  options: Partial<ConnectOptions> = {},
  settings: { maxConcurrentStreams?: number } = {},
): Promise<void> {
  let number = 0;
  const script = ({ path }: Arrived): Act => {
    if (path === "/ok") return OK;
    number += 1;
    return acts[number - 1] ?? acts.at(-1) ?? OK;
  };
  server = await startScriptedServer(script, { settings });
  const { url, certificateAuthority } = server;
  transport = connect({ server: url, certificateAuthority, ...PATIENT, ...options });
}

afterEach(async () => {
  await transport?.close();
  await server?.close();
});

/** What became of a request, in a word. */
async function outcomeOf(request: ApiRequest): Promise<unknown> {
  return transport.send(request).then(
    ({ status }) => status,
    ({ code }: { code: string }) => code,
  );
}

describe("a request that meets trouble", () => {
  it.each<{ given: string; acts: [Act, ...Act[]]; request: ApiRequest; outcome: unknown; arrivals: number }>([
    { given: "an answer", acts: [OK], request: GET, outcome: 200, arrivals: 1 },
    { given: "an error status", acts: [{ answer: 503 }], request: GET, outcome: 503, arrivals: 1 },
    { given: "a broken connection, GET", acts: ["break", OK], request: GET, outcome: 200, arrivals: 2 },
    { given: "a broken connection, PATCH", acts: ["break", OK], request: PATCH, outcome: 200, arrivals: 2 },
    {
      given: "a broken connection, POST",
      acts: ["break", OK],
      request: POST,
      outcome: "ConnectionLost",
      arrivals: 1,
    },
    {
      given: "two broken connections",
      acts: ["break", "break", OK],
      request: GET,
      outcome: "ConnectionLost",
      arrivals: 2,
    },
    { given: "a cut answer, GET", acts: ["cut", OK], request: GET, outcome: 200, arrivals: 2 },
    { given: "a cut answer, POST", acts: ["cut", OK], request: POST, outcome: "ConnectionLost", arrivals: 1 },
    {
      given: "a connection broken in an answer",
      acts: ["break-midway", OK],
      request: GET,
      outcome: 200,
      arrivals: 2,
    },
    { given: "a refused stream, POST", acts: ["refuse", OK], request: POST, outcome: 200, arrivals: 2 },
    { given: "GOAWAY before it, POST", acts: ["go-away", OK], request: POST, outcome: 200, arrivals: 2 },
  ])("$given", async ({ acts, request, outcome, arrivals }) => {
    await given(acts);
    await transport.send({ ...GET, path: "/ok" });
    expect(await outcomeOf(request)).toBe(outcome);
    expect(server.arrived).toHaveLength(1 + arrivals);
  });

  it.each<{
    given: string;
    act: Act;
    request?: Partial<ApiRequest>;
    options?: Partial<ConnectOptions>;
    code: string;
  }>([
    { given: "no answer", act: "hang", request: { timeoutMs: 50 }, code: "TimedOut" },
    { given: "an answer without an end", act: "stall", request: { timeoutMs: 50 }, code: "TimedOut" },
    { given: "an aborted signal", act: "hang", request: { signal: AbortSignal.abort() }, code: "Aborted" },
    {
      given: "a signal that aborts later",
      act: "hang",
      request: { signal: AbortSignal.timeout(50) },
      code: "Aborted",
    },
    {
      given: "an answer beyond the limit",
      act: { answer: 200, body: "x".repeat(2_000) },
      options: { maxBodyBytes: 1_000 },
      code: "AnswerTooLarge",
    },
    {
      given: "an answer of more values than asked for",
      act: { answer: 200, body: `[${"{},".repeat(2_000)}{}]` },
      request: { maxValues: 1_000 },
      code: "AnswerTooLarge",
    },
    {
      given: "an answer beyond the request's own limit",
      act: { answer: 200, body: "x".repeat(2_000) },
      request: { maxBytes: 1_000 },
      code: "AnswerTooLarge",
    },
    {
      given: "an answer to a write beyond the limit of these",
      act: { answer: 200, body: "x".repeat(2 * 1024 * 1024 + 1) },
      request: { method: "PATCH" },
      code: "AnswerTooLarge",
    },
    {
      given: "an answer to a write that is nested deeply",
      act: { answer: 200, body: `${"[".repeat(200_000)}${"]".repeat(200_000)}` },
      request: { method: "PATCH" },
      code: "AnswerTooLarge",
    },
  ])("$given is $code and leaves the connection usable", async ({ act, request, options, code }) => {
    await given([act], options);
    expect(await outcomeOf({ ...GET, path: "/ok" })).toBe(200);
    expect(await outcomeOf({ ...GET, ...request })).toBe(code);
    expect(await outcomeOf({ ...GET, path: "/ok" })).toBe(200);
    expect(server.connections()).toBe(1);
  });
});

describe("an answer in absurdly small pieces", () => {
  const DUST: Act = { piece: " ", pieces: Number.POSITIVE_INFINITY };

  it("is not read on, and its connection is ended", async () => {
    await given([DUST]);
    const answer = transport.send(GET);
    await expect(answer).rejects.toMatchObject({ code: "AnswerTooLarge", excess: "pieces" });
    expect(await outcomeOf({ ...GET, path: "/ok" })).toBe(200);
    await waitUntilTrue("the end of the first connection", () => server.openSockets() === 1);
    expect(server.connections()).toBe(2);
  });

  it.each([
    { given: "is read", takes: Number.POSITIVE_INFINITY },
    // Node keeps unread data chunk by chunk.
    { given: "is left unread", takes: 1 },
  ])("that is streamed and $given", async ({ takes }) => {
    await given([DUST]);
    const stream = await transport.stream(GET);
    let taken = 0;
    const read = async (): Promise<void> => {
      for await (const _ of stream.body) {
        taken += 1;
        if (taken >= takes)
          await waitUntilTrue("the end of the connection", () => server.openSockets() === 0);
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "AnswerTooLarge", excess: "pieces" });
    await waitUntilTrue("the end of the connection", () => server.openSockets() === 0);
    expect(await outcomeOf({ ...GET, path: "/ok" })).toBe(200);
    expect(server.connections()).toBe(2);
  });

  it("is read where it is a small one", async () => {
    await given([{ piece: "x", pieces: 900 }]);
    expect((await transport.send(GET)).body).toBe("x".repeat(900));
  });

  it("comes whole where its pieces are small, and not absurdly so", async () => {
    await given([{ piece: "x".repeat(100), pieces: 5_000 }]);
    expect((await transport.send(GET)).body).toBe("x".repeat(500_000));
  });
});

describe("connections", () => {
  it("serves everything over one connection, opened with the first request", async () => {
    await given([OK]);
    expect(server.connections()).toBe(0);
    await Promise.all(Array.from({ length: 50 }, () => transport.send(GET)));
    await transport.send(GET);
    expect(server.connections()).toBe(1);
  });

  it("moves to a new one after GOAWAY, and what is open on the old one finishes", async () => {
    let finish: (value: unknown) => void = () => {};
    await given([{ answer: 200, body: "late", when: new Promise((resolve) => (finish = resolve)) }]);
    const late = transport.send(GET);
    await until(async () => server.arrived.length === 1);
    server.goAway();
    await until(async () => (await outcomeOf({ ...GET, path: "/ok" })) === 200 && server.connections() === 2);
    finish(undefined);
    expect(await late).toMatchObject({ status: 200, body: "late" });
  });

  it("fails the streams of a connection that does not answer a PING, and reads continue on a new one", async () => {
    const proxy = await givenProxy(["stall", OK]);
    const stream = await transport.stream(GET);
    proxy.freeze();
    let isOver = false;
    const watched = failureOf(bodyOf(stream.body)).finally(() => (isOver = true));
    const asked = outcomeOf(GET);
    await passTime(() => isOver);
    expect(await watched).toMatchObject({ code: "ConnectionLost" });
    expect([await asked, server.connections()]).toEqual([200, 2]);
  });

  it("waits for a PING's answer that is late behind much else, as long as that arrives", async () => {
    const length = 1024 * 1024;
    const proxy = await givenProxy([{ answer: 200, body: "x".repeat(length) }]);
    proxy.hold();
    const opening = transport.stream(GET);
    let isOpen = false;
    void opening.then(() => (isOpen = true));
    await passPieces(proxy, () => isOpen);
    const { body } = await opening;
    let [taken, isOver] = [0, false];
    const read = async (): Promise<void> => {
      for await (const piece of body) taken += piece.byteLength;
    };
    const reading = read().finally(() => (isOver = true));
    // Nothing arrives for two intervals, so that a PING is on its way.
    for (let intervals = 0; intervals < 2; intervals += 1)
      await vi.advanceTimersByTimeAsync(PING.pingIntervalMs);
    while (!isOver) {
      const before = taken;
      await passPieces(proxy, () => taken > before || isOver);
      await vi.advanceTimersByTimeAsync(PING.pingTimeoutMs);
      await nextTurn();
    }
    await reading;
    expect([taken, server.connections()]).toEqual([length, 1]);
  });

  it("replaces a connection that was silent for long", async () => {
    let now = 0;
    await given([OK], { maxIdleMs: 1_000, now: () => now });
    await transport.send(GET);
    now = 900;
    await transport.send(GET);
    now = 2_000;
    await transport.send(GET);
    expect(server.arrived.map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  it("keeps to the server's limit of streams, and does them all", async () => {
    await given([OK], {}, { maxConcurrentStreams: 3 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => outcomeOf(GET)));
    expect(new Set(answers)).toEqual(new Set([200]));
  });

  it("refuses what would wait behind a full queue", async () => {
    await given(["hang"], { maxInFlight: 1, maxQueued: 1 });
    const requests = [1, 2, 3].map(() => outcomeOf({ ...GET, timeoutMs: 100 }));
    expect(await Promise.all(requests)).toEqual(["TimedOut", "TimedOut", "QueueFull"]);
  });

  it("leaves no socket, and fails what was open", async () => {
    await given(["hang"]);
    const open = outcomeOf(GET);
    await until(async () => server.arrived.length === 1);
    await transport.close();
    await until(async () => server.openSockets() === 0);
    expect([await open, await outcomeOf(GET)]).toEqual(["Closed", "Closed"]);
  });

  it.each<Act>(["cut", "break-midway"])(
    "throws out of a body after %s, instead of ending it",
    async (act) => {
      await given([act]);
      const { body, status } = await transport.stream(GET);
      expect(status).toBe(200);
      expect(await failureOf(bodyOf(body))).toMatchObject({ code: "ConnectionLost" });
    },
  );

  it("gives a stream up, on close and on its signal", async () => {
    await given(["stall"]);
    const controller = new AbortController();
    const closed = await transport.stream(GET);
    const aborted = await transport.stream({ ...GET, signal: controller.signal });
    closed.close();
    controller.abort();
    expect(await failureOf(bodyOf(closed.body))).toMatchObject({ code: "Aborted" });
    expect(await failureOf(bodyOf(aborted.body))).toMatchObject({ code: "Aborted" });
  });
});

describe("a sign-in that is over", () => {
  /** The server accepts one user, and after a change no earlier one. */
  async function givenUser(name: () => string, options: (names: Names) => Partial<ConnectOptions>) {
    server = await startScriptedServer(({ user }) => (user === name() ? OK : { answer: 401 }));
    const { url, certificateAuthority } = server;
    const pairs = { old: await server.issueClient("old"), renewed: await server.issueClient("renewed") };
    transport = connect({ server: url, certificateAuthority, ...options(pairs) });
  }
  const tls = (clientCertificate: () => Promise<KeyPair>) => async () => ({
    certificateAuthority: server.certificateAuthority,
    clientCertificate: await clientCertificate(),
  });
  type Names = { readonly old: KeyPair; readonly renewed: KeyPair };

  it("is renewed on a new connection, once for all requests in flight, and serves those that follow", async () => {
    let user = "old";
    await givenUser(
      () => user,
      (pairs) => ({ tls: tls(async () => pairs[user as keyof Names]) }),
    );
    expect(await outcomeOf(GET)).toBe(200);
    user = "renewed";
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcomeOf(POST)));
    expect([new Set(outcomes), server.connections()]).toEqual([new Set([200]), 2]);
    expect([await outcomeOf(GET), server.arrived.at(-1)?.connection]).toEqual([200, 2]);
  });

  it("leaves what is open on the old connection, and sends what follows on the new one", async () => {
    await given(["stall", { answer: 401 }, OK], { authorization: async () => "Bearer t" });
    const open = await transport.stream(GET);
    expect(await outcomeOf(GET)).toBe(200);
    expect(server.arrived.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    open.close();
  });

  it("that is about to end is left for a new connection, before anything is refused", async () => {
    let now = 0;
    await given([OK], {
      now: () => now,
      maxIdleMs: Number.MAX_SAFE_INTEGER,
      tls: async () => ({ certificateAuthority: server.certificateAuthority, renewAtMs: now + 60_000 }),
    });
    for (now of [0, 59_999]) await Promise.all([outcomeOf(GET), outcomeOf(GET)]);
    expect(server.connections()).toBe(1);
    for (now of [60_000, 60_001]) await Promise.all([outcomeOf(GET), outcomeOf(GET)]);
    expect(server.connections()).toBe(2);
  });

  it("for ever costs a connection and a reading of the credential now and then, not for each request", async () => {
    let now = 0;
    let read = 0;
    const authorization = async (_signal?: AbortSignal, options?: { fresh?: boolean }) => {
      if (options?.fresh) read += 1;
      return `Bearer ${read}`;
    };
    await given([{ answer: 401 }], { authorization, now: () => now, maxIdleMs: Number.MAX_SAFE_INTEGER });
    for (let request = 0; request < 20; request += 1) await outcomeOf(GET);
    expect([server.connections(), read]).toEqual([2, 1]);
    await Promise.all(Array.from({ length: 20 }, () => outcomeOf(GET)));
    expect([server.connections(), read]).toEqual([2, 1]);
    now = 60_000;
    await Promise.all(Array.from({ length: 20 }, () => outcomeOf(GET)));
    expect([server.connections(), read]).toEqual([3, 2]);
  });

  it("with a mismatched pair is not a credential, and is reread for the next connection", async () => {
    let whole = false;
    await givenUser(
      () => "renewed",
      ({ old, renewed }) => ({
        tls: tls(async () => (whole ? renewed : { ...renewed, key: old.key })),
      }),
    );
    expect(await outcomeOf(GET)).toBe("CredentialUnavailable");
    whole = true;
    expect(await outcomeOf(GET)).toBe(200);
  });
});

describe("an answer in gzip", () => {
  const gzipped = (body: string | Buffer): Act => ({
    answer: 200,
    headers: { "content-encoding": "gzip" },
    body: gzipSync(body),
  });

  it.each<{ given: string; act: Act; outcome: unknown }>([
    { given: "asked for, and compressed", act: gzipped("{}"), outcome: "{}" },
    { given: "asked for, and not compressed", act: { answer: 200, body: "{}" }, outcome: "{}" },
    { given: "of characters beyond ASCII", act: gzipped("knöten"), outcome: "knöten" },
    { given: "of nothing", act: { answer: 200, headers: { "content-encoding": "gzip" } }, outcome: "" },
    { given: "that unfolds beyond the limit", act: gzipped("x".repeat(50_000)), outcome: "AnswerTooLarge" },
    {
      given: "that is no PEM",
      act: { answer: 200, headers: { "content-encoding": "gzip" }, body: "{}" },
      outcome: "ConnectionLost",
    },
    {
      given: "that is cut",
      act: {
        answer: 200,
        headers: { "content-encoding": "gzip" },
        body: gzipSync("x".repeat(900)).subarray(0, -9),
      },
      outcome: "ConnectionLost",
    },
  ])("$given", async ({ act, outcome }) => {
    await given([act], { maxBodyBytes: 10_000 });
    const answer = transport.send({ ...GET, compressed: true }).then(
      ({ body }) => body,
      ({ code }: { code: string }) => code,
    );
    expect(await answer).toBe(outcome);
    expect(server.arrived[0]?.headers["accept-encoding"]).toBe("gzip");
    expect(await outcomeOf({ ...GET, path: "/ok" })).toBe(200);
  });

  it("is not requested otherwise", async () => {
    await given([OK]);
    await transport.send(GET);
    await (await transport.stream(GET)).close();
    expect(server.arrived.map(({ headers }) => headers["accept-encoding"])).toEqual([undefined, undefined]);
  });
});

describe("signing in", () => {
  it.each([
    { given: "a fresh credential helps", tokens: ["old", "new"], answers: [401, 200], status: 200 },
    { given: "a fresh credential is refused too", tokens: ["old", "new"], answers: [401, 401], status: 401 },
    { given: "there is no other credential", tokens: ["old", "old"], answers: [401, 401], status: 401 },
  ])("after a 401, $given", async ({ tokens, answers, status }) => {
    const authorization = async (_signal?: AbortSignal, options?: { fresh?: boolean }) =>
      `Bearer ${tokens[options?.fresh === true ? 1 : 0]}`;
    await given([{ answer: 401 }, { answer: answers[1] ?? 599 }], { authorization });
    expect(await outcomeOf(POST)).toBe(status);
    expect(server.arrived.map(({ headers }) => headers.authorization)).toEqual(
      answers.map((_answer, place) => `Bearer ${tokens[place]}`),
    );
  });

  it("says that no credential could be had, and never what it was", async () => {
    const cause = new Error("file t is empty");
    await given([OK], { authorization: () => Promise.reject(cause) });
    expect(await failureOf(transport.send(GET))).toMatchObject({ code: "CredentialUnavailable", cause });
    expect(server.arrived).toHaveLength(0);
  });

  it("says what an error of signing in says, which names what could not be had", async () => {
    const cause = Object.assign(new Error("cluster blue: the secret a is not there"), {
      name: "SignInError",
    });
    await given([OK], { authorization: () => Promise.reject(cause) });
    expect(await failureOf(transport.send(GET))).toMatchObject({
      code: "CredentialUnavailable",
      message: expect.stringContaining(": cluster blue: the secret a is not there"),
    });
  });

  it("never puts the token into an error, not even one that HTTP cannot carry", async () => {
    await given([OK], { authorization: async () => "Bearer se\ncret" });
    const error = await failureOf(transport.send(GET));
    expect(String(error)).toContain("GET /api/v1/nodes/a");
    expect(String(error) + String((error as Error).cause)).not.toContain("cret");
  });
});

describe("no connection", () => {
  it.each([
    { given: "a closed port", at: closedPort, code: "ConnectionRefused", says: /refused/ },
    {
      given: "an unknown host",
      at: async () => "https://api.invalid",
      code: "UnknownHost",
      says: /resolved/,
    },
    {
      given: "another authority",
      at: () => scripted(),
      authority: "",
      code: "NotTrusted",
      says: /not trusted/,
    },
    { given: "another name", at: () => scripted("127.0.0.2"), code: "WrongName", says: /another name/ },
    { given: "a server without HTTP/2", at: http1Port, code: "NotHttp2", says: /does not speak HTTP\/2/ },
    { given: "a port that never speaks", at: silentPort, code: "ConnectTimedOut", says: /in time/ },
  ])("$given is $code", async ({ at, authority, code, says }) => {
    const url = await at();
    const certificateAuthority = authority === undefined ? server?.certificateAuthority : undefined;
    const connectTimeoutMs = code === "ConnectTimedOut" ? 100 : PATIENT.connectTimeoutMs;
    transport = connect({ server: url, certificateAuthority, connectTimeoutMs });
    const error = await failureOf(transport.send(GET));
    expect(error).toMatchObject({
      name: "ApiUnreachable",
      code,
      server: url,
      message: expect.stringMatching(says),
    });
  });
});

it("requests that wait for a connection share one attempt, and its end", async () => {
  const url = await silentPort();
  let attempts = 0;
  listeners[0]?.on("connection", () => {
    attempts += 1;
  });
  transport = connect({ server: url, connectTimeoutMs: 100 });
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => outcomeOf(PATCH)));
  // The listener may learn of an attempt after its end.
  await waitUntilTrue("an attempt", () => attempts > 0);
  expect([new Set(outcomes), attempts]).toEqual([new Set(["ConnectTimedOut"]), 1]);
});

const PING = { pingIntervalMs: 20, pingTimeoutMs: 60 };

/**
 * A server that acts by a list, and a transport to it through a proxy. From here on the test passes the time
 * of timers.
 */
async function givenProxy(acts: readonly [Act, ...Act[]]): Promise<FreezingProxy> {
  await given(acts);
  const proxy = await startFreezingProxy(Number(new URL(server.url).port));
  onTestFinished(() => proxy.close());
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const url = `https://127.0.0.1:${proxy.port}`;
  transport = connect({
    server: url,
    certificateAuthority: server.certificateAuthority,
    ...PATIENT,
    ...PING,
  });
  return proxy;
}

/** Passes the time of timers, a little in each turn of the event loop, until the condition holds. */
async function passTime(isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    await vi.advanceTimersByTimeAsync(PING.pingIntervalMs);
    await nextTurn();
  }
}

/** Lets the proxy pass on what it holds, piece by piece, until the condition holds. */
async function passPieces(proxy: FreezingProxy, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    proxy.passPiece();
    await nextTurn();
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function scripted(host = "127.0.0.1"): Promise<string> {
  server = await startScriptedServer(() => OK, { host });
  return server.url;
}

async function closedPort(): Promise<string> {
  const url = await silentPort();
  await closeAll();
  return url;
}

const listeners: net.Server[] = [];

async function silentPort(): Promise<string> {
  const listener = net.createServer((socket) => void socket.on("error", () => {}).resume());
  listeners.push(listener);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(closeAll);
  return `https://127.0.0.1:${(listener.address() as net.AddressInfo).port}`;
}

/** As of a proxy that ends TLS and speaks HTTP/1.1 alone. */
async function http1Port(): Promise<string> {
  const { certificate, key } = await (await createCertificateAuthority()).issueServer();
  const listener = tls.createServer({ cert: certificate, key, ALPNProtocols: ["http/1.1"] });
  listener.on("tlsClientError", () => {});
  listeners.push(listener);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  onTestFinished(closeAll);
  return `https://127.0.0.1:${(listener.address() as net.AddressInfo).port}`;
}

async function closeAll(): Promise<void> {
  for (const listener of listeners.splice(0)) await new Promise((resolve) => listener.close(resolve));
}

async function bodyOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => ({ unexpected: value }),
    (error: unknown) => error,
  );
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

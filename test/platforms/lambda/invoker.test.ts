import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Event } from "#core/event.ts";
import { type LambdaHandler, type LambdaServer, startLambda } from "#emulators/lambda/server.ts";
import type { Invoker } from "#platforms/invoker.ts";
import { createLambdaInvoker } from "#platforms/lambda/invoker.ts";
import { startClosingEndpoint } from "#test/platforms/dead-endpoints.ts";
import { NODE_EVENT as event } from "#test/platforms/node-event.ts";
import { buildReport } from "#test/relay/report-builders.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closing.splice(0)) await close();
});

async function lambda(handler: LambdaHandler, timeoutMs = 5_000, concurrency = 10): Promise<LambdaServer> {
  const server = await startLambda({ functions: { node: handler }, timeoutMs, concurrency });
  closing.push(() => server.close());
  return server;
}

function invoker(endpoint: string, functionTimeoutMs = 5_000, functionName = "node"): Invoker {
  const created = createLambdaInvoker({
    functionName: () => functionName,
    functionTimeoutMs,
    maxInFlight: 20,
    client: {
      endpoint,
      region: "eu-central-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    },
  });
  closing.push(() => created.close());
  return created;
}

const signal = new AbortController().signal;
const never = (): Promise<never> => new Promise(() => {});

/** A Lambda whose function never ends, and the number of its invocations. */
async function startSilentLambda(): Promise<{ url: string; invocations: () => number }> {
  let invocations = 0;
  const { url } = await lambda(() => {
    invocations += 1;
    return never();
  }, 600_000);
  return { url, invocations: () => invocations };
}

/** An HTTP server that gives every request the same answer. */
async function answering(
  status: number,
  headers: Record<string, string>,
  body: string,
): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    request.once("end", () => {
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
}

describe("createLambdaInvoker", () => {
  test("carries the event to the function and its report back", async () => {
    const seen: unknown[] = [];
    const server = await lambda(async (received) => {
      seen.push(received);
      return buildReport(received as Event);
    });
    const invocation = await invoker(server.url).invoke(event, signal);
    expect(seen).toEqual([event]);
    expect(invocation).toEqual({ kind: "report", report: buildReport(event) });
  });

  test("opens as many connections as there may be invocations at once", async () => {
    let running = 0;
    let peak = 0;
    const server = await lambda(
      async (received) => {
        running += 1;
        peak = Math.max(peak, running);
        while (peak < 20) await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        return buildReport(received as Event);
      },
      20_000,
      50,
    );
    const one = invoker(server.url, 20_000);
    const all = await Promise.all(Array.from({ length: 20 }, () => one.invoke(event, signal)));
    expect(all.every((each) => each.kind === "report")).toBe(true);
    expect(peak).toBe(20);
  });

  test.each([
    {
      given: "the function throws",
      handler: async () => {
        throw new Error("boom");
      },
      code: "FunctionError",
      message: /boom/,
    },
    { given: "the function runs out of time", handler: never, code: "FunctionError", message: /timed out/ },
    { given: "the payload is empty", handler: async () => null, code: "BadReport", message: /not a report/ },
    {
      given: "the payload is another thing",
      handler: async () => ({ ok: true }),
      code: "BadReport",
      message: /not a report/,
    },
    {
      given: "an entry of the report is incomplete",
      handler: async () => ({ ...buildReport(event), objects: [{ index: 0, outcome: "changed" }] }),
      code: "BadReport",
      message: /objects\.0\.because/,
    },
    {
      given: "the report is another event's",
      handler: async () => ({ ...buildReport(event), id: "other" }),
      code: "BadReport",
      message: /another event/,
    },
  ] satisfies readonly { given: string; handler: LambdaHandler; code: string; message: RegExp }[])(
    "fails where $given",
    async ({ handler, code, message }) => {
      const server = await lambda(handler, handler === never ? 200 : 60_000);
      const invocation = await invoker(server.url).invoke(event, signal);
      expect(invocation).toEqual({
        kind: "failed",
        code,
        message: expect.stringMatching(message),
        settleMs: 0,
      });
      expect(server.record()).toHaveLength(1);
    },
  );

  test.each([
    { status: 429, type: "TooManyRequestsException", code: "Throttled" },
    { status: 403, type: "AccessDeniedException", code: "Denied" },
    { status: 404, type: "ResourceNotFoundException", code: "Denied" },
    { status: 403, type: "ExpiredTokenException", code: "Denied" },
    { status: 500, type: "ServiceException", code: "Unreachable" },
    { status: 503, type: "ServiceUnavailableException", code: "Unreachable" },
    { status: 502, type: "", code: "Unreachable" },
    { status: 502, type: "EC2ThrottledException", code: "Throttled" },
    // A fault of one function does not stop another.
    { status: 502, type: "KMSAccessDeniedException", code: "Denied" },
    { status: 409, type: "ResourceConflictException", code: "Denied" },
    // A fault of one event stops nothing.
    { status: 400, type: "InvalidRequestContentException", code: "Rejected" },
    { status: 413, type: "RequestTooLargeException", code: "Rejected" },
  ])("maps $status $type to $code without a second request", async ({ status, type, code }) => {
    const server = await answering(status, { "x-amzn-errortype": type }, JSON.stringify({ Message: "no" }));
    const invocation = await invoker(server.url).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code, settleMs: 0 });
    expect(server.requests()).toBe(1);
  });

  test.each([
    { given: "the connection breaks", status: 0 },
    { given: "a gateway gave up", status: 504 },
  ])("if $given, the function may still be writing", async ({ status }) => {
    const server = await answering(status, {}, "");
    vi.useFakeTimers({ toFake: ["performance"] });
    const invocation = await invoker(server.url, 5_000).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code: "Unreachable", settleMs: 8_000 });
    expect(server.requests()).toBe(1);
  });

  test("if no server listens, no function is writing", async () => {
    const server = await lambda(never);
    const one = invoker(server.url);
    await server.turnOff();
    expect(await one.invoke(event, signal)).toMatchObject({
      kind: "failed",
      code: "Unreachable",
      settleMs: 0,
    });
  });

  test("if the TLS handshake fails, no function is writing", async () => {
    const endpoint = await startClosingEndpoint();
    closing.push(() => endpoint.close());
    const invocation = await invoker(endpoint.url.replace("http:", "https:")).invoke(event, signal);
    expect(invocation).toMatchObject({ kind: "failed", code: "Unreachable", settleMs: 0 });
  });

  test("gives up after a little more than the function's time, and says how long it may still be writing", async () => {
    const server = await startSilentLambda();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const invoking = invoker(server.url, 50).invoke(event, signal);
    while (server.invocations() === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(2_050);
    expect(await invoking).toMatchObject({ kind: "failed", code: "TimedOut", settleMs: 1_000 });
  });

  test("ends on its signal", async () => {
    const server = await startSilentLambda();
    const stopping = new AbortController();
    const invoking = invoker(server.url, 60_000).invoke(event, stopping.signal);
    await waitUntilTrue("the invocation", () => server.invocations() === 1);
    stopping.abort();
    expect(await invoking).toMatchObject({ kind: "failed", code: "Unreachable" });
  });

  test("honours AWS_ENDPOINT_URL_LAMBDA", async () => {
    const server = await lambda(async (received) => buildReport(received as Event));
    const before = process.env["AWS_ENDPOINT_URL_LAMBDA"];
    process.env["AWS_ENDPOINT_URL_LAMBDA"] = server.url;
    try {
      const created = createLambdaInvoker({
        functionName: () => "node",
        functionTimeoutMs: 5_000,
        maxInFlight: 4,
        client: { region: "eu-central-1", credentials: { accessKeyId: "test", secretAccessKey: "test" } },
      });
      closing.push(() => created.close());
      expect(await created.invoke(event, signal)).toMatchObject({ kind: "report" });
    } finally {
      if (before === undefined) delete process.env["AWS_ENDPOINT_URL_LAMBDA"];
      else process.env["AWS_ENDPOINT_URL_LAMBDA"] = before;
    }
  });
});

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Event } from "#core/event.ts";
import { Report } from "#core/report.ts";
import type { Random } from "#test/faults/random.ts";

/** How the next invocations fail; each begins as one of Lambda's does. */
export const INVOCATION_FAULTS = [
  "throttled",
  "service-error",
  "timed-out",
  "exited",
  "rubbish",
  "half-a-report",
  "cut-report",
  "answer-lost",
  "twice",
  "reversed",
] as const;
export type InvocationFault = (typeof INVOCATION_FAULTS)[number];

/** A function's answer, as in Lambda's Invoke API. */
export interface FunctionAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Runs a function; rejects if it ended before its answer. */
export type RunFunction = (functionName: string, payload: string) => Promise<FunctionAnswer>;

/**
 * One run of a function, with any fate of its answer; `report` is undefined if the function ended without
 * one.
 */
export interface Exchange {
  readonly event: Event;
  readonly report: Report | undefined;
}

/** A Lambda Invoke API in front of functions, which fails on request. */
export interface FaultyPlatform {
  /** For AWS_ENDPOINT_URL_LAMBDA. */
  readonly url: string;
  /** Plans this failure for the next invocations, after those planned before. */
  fail(fault: InvocationFault, count: number): void;
  /** Returns how many planned failures are left. */
  left(): number;
  /** Sets what runs functions from now on. */
  runWith(run: RunFunction): void;
  exchanges(): readonly Exchange[];
  /** Resolves when no function runs any more. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

const INVOKE_PATH = /^\/2015-03-31\/functions\/([A-Za-z0-9_.:%-]+)\/invocations$/;

/**
 * The number of invocations that are held back and then delivered in reverse order, and the maximum wait for
 * so many.
 */
const HELD = 4;
const HELD_MS = 150;

/** Starts the platform on 127.0.0.1; `runWith` sets the functions. */
export async function startFaultyPlatform(random: Random): Promise<FaultyPlatform> {
  const faults: InvocationFault[] = [];
  const exchanges: Exchange[] = [];
  const running = new Set<Promise<unknown>>();
  let held: (() => void)[] = [];
  let late: (() => Promise<unknown>) | undefined;
  let run: RunFunction = () => Promise.reject(new Error("no function is there yet"));

  function release(): void {
    for (const go of held.splice(0).reverse()) go();
  }

  function turn(): Promise<void> {
    return new Promise((resolve) => {
      held.push(resolve);
      if (held.length >= HELD) release();
      else setTimeout(release, HELD_MS).unref();
    });
  }

  async function carryOut(functionName: string, payload: string): Promise<FunctionAnswer | undefined> {
    const event = Event.parse(JSON.parse(payload));
    const answering = run(functionName, payload).catch(() => undefined);
    running.add(answering);
    const answer = await answering;
    running.delete(answering);
    const report = answer === undefined ? undefined : Report.safeParse(parsed(answer.body)).data;
    exchanges.push({ event, report });
    return answer;
  }

  async function answerTo(functionName: string, payload: string): Promise<FunctionAnswer | "hang-up"> {
    const fault = faults.shift();
    const go = async (): Promise<FunctionAnswer | "hang-up"> =>
      (await carryOut(functionName, payload)) ?? functionError("Runtime.ExitError", EXITED);
    const isRun = random.next() < 0.5;
    const duplicate = late;
    late = undefined;
    // The second delivery of an earlier one comes with, or after, a later one.
    if (duplicate !== undefined) void duplicate();
    switch (fault) {
      case undefined:
        return go();
      case "throttled":
        return refusal(429, "TooManyRequestsException", "Rate Exceeded.");
      case "service-error":
        return (
          SERVICE_ERRORS[random.whole(0, SERVICE_ERRORS.length - 1)] ?? refusal(500, "ServiceException", "")
        );
      case "timed-out":
        if (isRun) await go();
        return functionError("Sandbox.Timedout", "RequestId: 00 Error: Task timed out after 30.00 seconds");
      case "exited":
        if (isRun) await go();
        return functionError("Runtime.ExitError", EXITED);
      case "rubbish":
        await go();
        return { ...OK, body: RUBBISH[random.whole(0, RUBBISH.length - 1)] ?? "" };
      case "half-a-report":
        return halved(await go());
      case "cut-report": {
        const answer = await go();
        return answer === "hang-up" ? answer : { ...OK, body: answer.body.slice(0, answer.body.length / 2) };
      }
      case "answer-lost":
        await go();
        return "hang-up";
      case "twice":
        if (isRun) late = () => carryOut(functionName, payload);
        else void carryOut(functionName, payload);
        return go();
      case "reversed":
        await turn();
        return go();
    }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = INVOKE_PATH.exec(request.url ?? "")?.[1];
    if (name === undefined)
      return send(response, refusal(404, "ResourceNotFoundException", "no such function"));
    const payload = await buffer(request);
    if (request.headers["x-amz-invocation-type"] === "DryRun")
      return send(response, { ...OK, status: 204, body: "" });
    const answer = await answerTo(decodeURIComponent(name), payload.toString("utf8"));
    if (answer === "hang-up") request.socket.destroy();
    else send(response, answer);
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fail: (fault, count) => void faults.push(...Array.from({ length: count }, () => fault)),
    left: () => faults.length,
    runWith: (next) => {
      run = next;
    },
    exchanges: () => exchanges,
    idle: async () => {
      await late?.();
      late = undefined;
      release();
      while (running.size > 0) await Promise.allSettled(running);
      held = [];
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const OK = { status: 200, headers: {} } as const;

const EXITED = "RequestId: 00 Error: Runtime exited with error: signal: killed";

const SERVICE_ERRORS: readonly FunctionAnswer[] = [
  refusal(500, "ServiceException", "An error occurred and the request cannot be processed."),
  refusal(502, "", "Bad Gateway"),
  refusal(503, "", "Service Unavailable"),
];

/** Invalid reports, of different depths. */
const RUBBISH: readonly string[] = [
  "",
  "null",
  "[]",
  "{}",
  '"done"',
  "<!DOCTYPE html><title>Welcome</title>",
  '{"version":1,"id":"another","cluster":"faults","controller":"cloud-node-controller","objects":[],"durations":{"cloudMs":0,"clusterMs":0,"totalMs":0},"usage":{"cloud":{"calls":{},"throttled":0,"waitedMs":0},"cluster":{"writes":0,"reads":0,"conflicts":0,"throttled":0,"events":0,"eventsDropped":0}}}',
];

/** Returns the answer without every second entry. */
function halved(answer: FunctionAnswer | "hang-up"): FunctionAnswer | "hang-up" {
  const report = answer === "hang-up" ? undefined : Report.safeParse(parsed(answer.body)).data;
  if (report === undefined) return answer;
  const objects = report.objects.filter((_, index) => index % 2 === 0);
  return { ...OK, body: JSON.stringify({ ...report, objects }) };
}

function functionError(errorType: string, errorMessage: string): FunctionAnswer {
  const body = JSON.stringify({ errorType, errorMessage });
  return { status: 200, headers: { "x-amz-function-error": "Unhandled" }, body };
}

function refusal(status: number, type: string, Message: string): FunctionAnswer {
  return { status, headers: { "x-amzn-errortype": type }, body: JSON.stringify({ Type: "User", Message }) };
}

function send(response: ServerResponse, { status, headers, body }: FunctionAnswer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

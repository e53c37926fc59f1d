import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { readBody } from "#emulators/ec2/read-body.ts";
import { MENDED_MOTO } from "#test/aws-models/aws-calls.ts";
import { startMoto } from "#test/setup/moto.ts";
import type { MotoProgram } from "#test/setup/moto-program.ts";
import {
  type Answer,
  type Call,
  formatBody,
  formatCallName,
  getFaultCode,
  getResult,
  hasSucceeded,
  parseCall,
  VERSIONS,
} from "./call.ts";
import { buildRefusal, createFailures, type Failures, isChange } from "./failures.ts";
import { createInvisibility } from "./invisible.ts";
import { createMemory, hashText, type Memory, NO_MEMORY, removeTimes } from "./memory.ts";
import { type Behind, type Mend, type Next, saveKept } from "./mend.ts";
import { ACCOUNT_LIMITS } from "./mends/account-limits.ts";
import { createClassicMends } from "./mends/classic.ts";
import { createForwards } from "./mends/forwards.ts";
import { createListenerMends } from "./mends/listeners.ts";
import { createNetworkMends } from "./mends/network-load-balancers.ts";
import { createPagingMends, type PageSize, USUAL_PAGE_SIZE } from "./mends/paging.ts";
import { createRouteMends, type RouteQuota } from "./mends/routes.ts";
import { SECURITY_GROUPS } from "./mends/security-groups.ts";
import { SUBNETS } from "./mends/subnets.ts";
import { createTagMends } from "./mends/tags.ts";
import { createTargetGroupMends } from "./mends/target-groups.ts";
import { TOPOLOGY } from "./mends/topology.ts";
import { buildPointsEnvironment, createPoints } from "./points.ts";
import { parseXml, renderXml } from "./xml.ts";

/** A received call, and its answer. */
export interface RecordedCall {
  /** Such as `elbv2:CreateListener`. */
  readonly name: string;
  readonly form: Readonly<Record<string, string>>;
  /** The code of a fault; undefined where it succeeded. */
  readonly code: string | undefined;
  /** When it was answered, by `performance.now()`. */
  readonly atMs: number;
}

/** Whether a call may land; `false` resets its connection, `stalled` never answers it. */
export type Admission = boolean | "stalled" | Parameters<typeof buildRefusal>[1];

/** Decides on each call before it lands and again before its answer; `false` resets its connection. */
export interface Gate {
  enter(call: Call): Admission;
  leave(call: Call): boolean;
}

/** Returns why a call that has passed the gate is rejected; undefined if it may land. */
export type Authorization = (call: Call) => Promise<Parameters<typeof buildRefusal>[1] | undefined>;

/** Moto behind a proxy that answers as AWS documents it, counts, and fails on demand. */
export interface MendedMoto {
  /** For AWS_ENDPOINT_URL. */
  readonly url: string;
  /** Moto's own URL, without mends. */
  readonly motoUrl: string;
  /** How often each operation was called since the last `forget`, including failed calls. */
  counts(): Readonly<Record<string, number>>;
  /** Returns all calls since then. */
  calls(): readonly RecordedCall[];
  /** Forgets only counts and calls. */
  forgetCalls(): void;
  readonly failures: Pick<Failures, "plan" | "left" | "drop" | "limit">;
  /** From now on hides new resources from so many describes that would show them. */
  hideNew(describes: number): void;
  /** Delays each call by so much. */
  setLatency(latencyMs: number): void;
  /** Limits the routes of a table, of each family. */
  limitRoutes(most: number): void;
  /** Limits the page size of both ELBs' describes. */
  limitPages(most: number): void;
  setGate(gate: Gate | undefined): void;
  /** Sets the check of each call, in place of AWS's IAM. */
  setAuthorization(authorization: Authorization | undefined): void;
  /** Returns a value for all changes and their answers: equal values mean equal states. */
  history(): string;
  /** Saves the current state; requires a start with points. */
  point(): Promise<Point>;
  /** Forgets everything made in moto, and all of the above. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export interface MendedMotoOptions {
  /**
   * Whether the state can be set back; also faster. Moto's answers are then cached until something changes,
   * and no client may change moto by its own URL.
   */
  readonly hasPoints?: boolean;
  /** Rules of each security group, in place of the 60 of AWS and moto; only with points. */
  readonly rulesPerSecurityGroup?: number;
}

/** A saved state. */
export interface Point {
  /** Goes back to it, any number of times until `back` to an earlier one. */
  back(): Promise<void>;
}

/** Starts moto_server and the proxy before it, on free ports of 127.0.0.1. */
export async function startMendedMoto(
  program: MotoProgram,
  { hasPoints = false, rulesPerSecurityGroup }: MendedMotoOptions = {},
): Promise<MendedMoto> {
  const moto = await startMoto(program, hasPoints ? buildPointsEnvironment(rulesPerSecurityGroup) : {});
  const points = createPoints(moto.url);
  const failures = createFailures(() => performance.now());
  const invisibility = createInvisibility();
  const pageSize: PageSize = { most: USUAL_PAGE_SIZE };
  const routeQuota: RouteQuota = { routesPerTable: Number.POSITIVE_INFINITY };
  const forwards = createForwards();
  const memory = hasPoints ? createMemory() : NO_MEMORY;
  // The first is the outermost.
  const mends = [
    createPagingMends(pageSize),
    createTagMends(),
    createNetworkMends(),
    createTargetGroupMends(forwards),
    createListenerMends(forwards),
    createClassicMends(),
    SECURITY_GROUPS,
    createRouteMends(routeQuota),
    ACCOUNT_LIMITS,
    SUBNETS,
    TOPOLOGY,
  ];
  const calls: RecordedCall[] = [];
  const sockets = new Set<Socket>();
  let latencyMs = 0;
  let gate: Gate | undefined;
  let authorization: Authorization | undefined;
  let changes: Promise<unknown> = Promise.resolve();
  let history = "";
  let resets = 0;

  async function mended(call: Call, headers: IncomingMessage["headers"]): Promise<Answer> {
    const send: Next = (each) => ask(moto.url, each, headers, memory);
    const behind: Behind = {
      async ask(service, operation, form = {}) {
        const asked = { ...form, Action: operation, Version: VERSIONS[service] };
        const answer = await send(callOf(asked, call, service, operation));
        if (hasSucceeded(answer)) return getResult(answer);
        throw new Error(`moto answered ${service}:${operation} with ${getFaultCode(answer)}`);
      },
    };
    const applied = mends.flatMap(({ byOperation }): readonly Mend[] => {
      const mend = byOperation[formatCallName(call)];
      return mend === undefined ? [] : [mend];
    });
    const chain = applied.reduceRight<Next>((next, mend) => (each) => mend(each, next, behind), send);
    return chain(call);
  }

  /** Changes go one at a time: what a mend has read still holds when its call lands. */
  function inTurn(call: Call, work: () => Promise<Answer>): Promise<Answer> {
    if (!isChange(call)) return work();
    const done = changes.then(async () => {
      const answer = await work();
      history = hashText(`${history} ${JSON.stringify(call.form)} ${removeTimes(renderXml(answer.body))}`);
      return answer;
    });
    changes = done.catch(() => undefined);
    return done;
  }

  async function answered(call: Call, headers: IncomingMessage["headers"]): Promise<Answer | "reset"> {
    const failure = failures.take(call);
    if (failure?.kind === "throttle" || failure?.kind === "refuse") return buildRefusal(call, failure);
    if (failure?.kind === "reset") return "reset";
    if (failure?.kind === "delay") await delay(failure.delayMs);
    const answer = invisibility.pass(call, await inTurn(call, () => mended(call, headers)));
    return failure?.kind === "lose-answer" ? "reset" : answer;
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body.kind !== "body") return void request.socket.destroy();
    const call = parseCall(body.text, request.headers);
    if (call === undefined) return passThrough(moto.url, request, body.text, response);
    const asked = gate;
    const entered = asked?.enter(call) ?? true;
    const admission = entered === true ? ((await authorization?.(call)) ?? true) : entered;
    if (admission === "stalled") return;
    if (admission === false) return void request.socket.destroy();
    if (latencyMs > 0) await delay(latencyMs);
    const answer = admission === true ? await answered(call, request.headers) : buildRefusal(call, admission);
    calls.push({
      name: formatCallName(call),
      form: call.form,
      code: answer === "reset" ? "reset" : getFaultCode(answer),
      atMs: performance.now(),
    });
    const hasLanded = admission === true && answer !== "reset";
    if (answer === "reset" || (hasLanded && asked?.leave(call) === false))
      return void request.socket.destroy();
    response.writeHead(answer.status, {
      "content-type": "text/xml",
      server: MENDED_MOTO,
      "x-amzn-requestid": "00000000-0000-4000-8000-000000000000",
    });
    response.end(renderXml(answer.body));
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      response.writeHead(500, { "content-type": "text/plain" });
      response.end(String(error instanceof Error ? error.stack : error));
    });
  });
  // A client that was idle for a while must not meet the end of its connection in place of an answer.
  server.keepAliveTimeout = 600_000;
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    motoUrl: moto.url,
    counts: () => {
      const counts: Record<string, number> = {};
      for (const { name } of calls) counts[name] = (counts[name] ?? 0) + 1;
      return counts;
    },
    calls: () => [...calls],
    forgetCalls: () => void calls.splice(0),
    failures,
    hideNew: invisibility.hideNew,
    setLatency: (next) => {
      latencyMs = next;
    },
    limitRoutes: (most) => {
      routeQuota.routesPerTable = most;
    },
    limitPages: (most) => {
      pageSize.most = most;
    },
    setGate: (next) => {
      gate = next;
    },
    setAuthorization: (next) => {
      authorization = next;
    },
    history: () => history,
    point: async () => {
      await points.enter();
      const depth = points.depth();
      const then = history;
      const setBack = [saveKept(mends.flatMap(({ kept = [] }) => kept)), memory.save()];
      return {
        back: async () => {
          if (points.depth() < depth) throw new Error("it was set back to an earlier point since");
          while (points.depth() >= depth) await points.leave();
          for (const each of setBack) each();
          history = then;
          failures.forget();
          invisibility.forget();
          gate = undefined;
          await points.enter();
        },
      };
    },
    reset: async () => {
      while (points.depth() > 0) await points.leave();
      await moto.reset();
      for (const { forget } of mends) forget?.();
      memory.forget();
      resets += 1;
      history = `reset ${resets}`;
      failures.forget();
      invisibility.forget();
      calls.splice(0);
      latencyMs = 0;
      gate = undefined;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await moto.close();
    },
  };
}

function callOf(
  form: Readonly<Record<string, string>>,
  { region, parameters }: Call,
  service: Call["service"],
  operation: string,
): Call {
  return { service, operation, region, form, parameters };
}

async function ask(
  url: string,
  call: Call,
  headers: IncomingMessage["headers"],
  memory: Memory,
): Promise<Answer> {
  const { status, text } = await memory.recall(call, async () => {
    const answer = await fetch(url, {
      method: "POST",
      body: formatBody(call.form),
      headers: {
        "content-type": "application/x-www-form-urlencoded; charset=utf-8",
        authorization: authorizationFor(call, headers.authorization ?? ""),
      },
    });
    return { status: answer.status, text: await answer.text() };
  });
  if (text.startsWith("<") && !text.startsWith("<!doctype")) return { status, body: parseXml(text) };
  throw new Error(`moto answered ${formatCallName(call)} with ${status}: ${text.slice(0, 500)}`);
}

// A mend may ask another service than its call's; moto finds service and region in a request's signature.
function authorizationFor({ service }: Call, authorization: string): string {
  const signed = service === "elb" || service === "elbv2" ? "elasticloadbalancing" : service;
  return authorization.replace(/\/[a-z0-9]+\/aws4_request/, `/${signed}/aws4_request`);
}

async function passThrough(
  url: string,
  request: IncomingMessage,
  body: string,
  response: ServerResponse,
): Promise<void> {
  const { method = "GET", url: path = "/", headers } = request;
  const passed = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
  ) as Record<string, string>;
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: passed,
    ...(method === "GET" || method === "HEAD" ? {} : { body }),
  });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
  response.end(await answer.text());
}

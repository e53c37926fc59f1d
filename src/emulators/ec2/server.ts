import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { AssumedRole } from "#emulators/ec2/credentials.ts";
import { type ApiState, answerRequest, createRequestIds, type Reply } from "./api.ts";
import { applyBehaviour, Behaviour, USUAL_SETTINGS } from "./behaviour.ts";
import { type CallRecord, createCallLog } from "./call-record.ts";
import { type Clock, systemClock } from "./clock.ts";
import { answerControl, CONTROL_PREFIX } from "./control.ts";
import { createFault } from "./fault.ts";
import type { Ec2Instance, InstanceStateName } from "./instance.ts";
import { InstanceSpec } from "./instance-spec.ts";
import { createInventory } from "./inventory.ts";
import { renderFault } from "./protocol.ts";
import { createQuotaMeter } from "./quotas.ts";
import { MAX_BODY_BYTES, readBody } from "./read-body.ts";
import { createSecurityTokens } from "./security-tokens.ts";
import { listZones, type Zone } from "./zone.ts";

/** The options of an endpoint, each with a default. */
export interface Ec2Options {
  /** Default: eu-central-1. */
  readonly region?: string;
  /** Default: three zones. */
  readonly zones?: readonly Zone[];
  /** The default account of callers and instances: 123456789012 if missing. */
  readonly account?: string;
  /** Accounts of further static access keys. */
  readonly accounts?: Readonly<Record<string, string>>;
  /** Default: EC2's quotas and no latency. */
  readonly behaviour?: Behaviour;
  readonly instances?: readonly InstanceSpec[];
  /** 0 for any free one. */
  readonly port?: number;
  readonly clock?: Clock;
}

/**
 * A running endpoint that answers EC2 and STS for AWS's SDKs. As at EC2, a caller sees only the instances of
 * its own account, and a terminated instance has neither network nor addresses.
 */
export interface Ec2Server {
  /** `http://127.0.0.1:port`, for AWS_ENDPOINT_URL_EC2 and AWS_ENDPOINT_URL_STS. */
  readonly url: string;
  readonly region: string;
  /** The default account of callers and instances. */
  readonly account: string;
  readonly zones: readonly Zone[];
  addInstance(spec?: InstanceSpec): Ec2Instance;
  addInstances(specs: readonly InstanceSpec[]): readonly Ec2Instance[];
  terminate(id: string): void;
  setState(id: string, state: InstanceStateName): void;
  /** Forgets an instance, as EC2 does about an hour after its end. */
  remove(id: string): void;
  /** Shows an instance at once. */
  reveal(id: string): void;
  /** Hides an instance until `reveal`. */
  hide(id: string): void;
  /** Changes behaviours from now on; missing keys stay unchanged. */
  set(behaviour: Behaviour): void;
  /** Returns the calls so far, oldest first. */
  record(): readonly CallRecord[];
  /** Returns the calls so far, by action. */
  counts(): Readonly<Record<string, number>>;
  /** Ends all sessions of roles at once, regardless of the announced end. */
  expireSessions(): void;
  /** Returns all uses of AssumeRole, oldest first. */
  assumedRoles(): readonly AssumedRole[];
  /** Ends everything, including hanging calls; no socket is left. */
  close(): Promise<void>;
}

/** Longer than clients keep their connections, so that no request meets a closing connection. */
const KEEP_ALIVE_MS = 120_000;

/** Starts an endpoint on 127.0.0.1 that speaks the EC2 query protocol over plain HTTP. */
export async function startEc2(options: Ec2Options = {}): Promise<Ec2Server> {
  const region = options.region ?? "eu-central-1";
  const account = options.account ?? "123456789012";
  const zones = options.zones ?? listZones(region);
  const clock = options.clock ?? systemClock;
  const stopping = new AbortController();
  const nextRequestId = createRequestIds();
  const state: ApiState = {
    region,
    zones,
    inventory: createInventory({ region, zones, account }),
    tokens: createSecurityTokens(account, options.accounts ?? {}),
    quotas: createQuotaMeter(),
    log: createCallLog(),
    settings: applyBehaviour(USUAL_SETTINGS, Behaviour.parse(options.behaviour ?? {})),
  };

  const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void serve(request, response);
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    if (body.kind === "broken-off") return void request.destroy();
    const requestId = nextRequestId();
    response.setHeader("x-amzn-requestid", requestId);
    const path = request.url ?? "/";
    if (body.kind === "too-large") {
      const tooLarge = createFault(
        "RequestEntityTooLarge",
        `The request is over ${MAX_BODY_BYTES} bytes`,
        413,
      );
      send(response, 413, "text/xml;charset=UTF-8", renderFault("ec2", tooLarge, requestId));
    } else if (path.startsWith(CONTROL_PREFIX)) {
      const contentType = request.headers["content-type"];
      const control = { method: request.method ?? "", path, contentType, body: body.text };
      const reply = answerControl(server, control);
      send(response, reply.status, "application/json", JSON.stringify(reply.body));
    } else {
      const { headers } = request;
      const reply = answerRequest(state, { headers, body: body.text, at: clock.now(), requestId });
      const delayMs = state.settings.latencyMs + (reply.kind === "document" ? (reply.delayMs ?? 0) : 0);
      if (delayMs > 0) await clock.sleep(delayMs, stopping.signal);
      sendReply(response, reply);
    }
  }

  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = http.address() as AddressInfo;

  function add(spec: InstanceSpec): Ec2Instance {
    return state.inventory.add(InstanceSpec.parse(spec), state.settings.visibleAfterMs, clock.now());
  }

  const server: Ec2Server = {
    url: `http://127.0.0.1:${port}`,
    region,
    account,
    zones,
    addInstance: (spec = {}) => add(spec),
    addInstances: (specs) => specs.map(add),
    terminate: (id) => state.inventory.setState(id, "terminated"),
    setState: (id, to) => state.inventory.setState(id, to),
    remove: (id) => state.inventory.remove(id),
    reveal: (id) => state.inventory.reveal(id),
    hide: (id) => state.inventory.hide(id),
    set(behaviour) {
      state.settings = applyBehaviour(state.settings, Behaviour.parse(behaviour));
    },
    record: () => state.log.all(),
    counts: () => state.log.counts(),
    expireSessions: () => state.tokens.expire(),
    assumedRoles: () => state.tokens.assumed(),
    async close() {
      stopping.abort();
      if (!http.listening) return;
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
  server.addInstances(options.instances ?? []);
  return server;
}

function sendReply(response: ServerResponse, reply: Reply): void {
  switch (reply.kind) {
    case "document":
      send(response, reply.status, reply.contentType, reply.body);
      return;
    case "truncated":
      // The end of the body is announced, so that the document is broken and not the connection.
      send(response, 200, "text/xml;charset=UTF-8", reply.body.slice(0, reply.body.length / 2));
      return;
    case "reset":
      response.writeHead(200, {
        "content-type": "text/xml;charset=UTF-8",
        "content-length": Buffer.byteLength(reply.body),
      });
      response.write(reply.body.slice(0, reply.body.length / 2), () => response.socket?.resetAndDestroy());
      return;
    case "hang-up":
      response.destroy();
      return;
    case "hang":
      return;
  }
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

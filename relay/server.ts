import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { messageOf } from "#core/message-of.ts";
import { shown } from "#core/shown-text.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import { createPage } from "#relay/page/create-page.ts";
import { CONTENT_SECURITY_POLICY } from "#relay/page/parts.ts";
import { RUNBOOKS, readRunbook } from "#relay/page/runbooks.ts";
import type { Relay } from "#relay/relay.ts";
import type { ServedMetrics } from "#relay/report/process-metrics.ts";
import { clustersPage, type Page, readinessOf, readinessOfAll } from "#relay/report/readiness.ts";
import { servedHosts } from "#relay/served-hosts.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

export interface RelayServerOptions {
  readonly relay: Pick<Relay, "status">;
  readonly metrics: ServedMetrics;
  /** Those of the clusters as plain data, of which the page is made. */
  readonly values: () => Promise<Metrics>;
  /** How the platform is reached that carries out the work; not asked for where there is nothing to reach. */
  readonly platform?: (() => PlatformState | undefined) | undefined;
  /** How its shard stands, where it shares the clusters with other replicas. */
  readonly shard?: (() => ShardStatus) | undefined;
  /** Whether the home of its clusters says that there are none. */
  readonly hasNoClusters?: (() => boolean) | undefined;
  readonly clock?: Clock | undefined;
  readonly bindAddress: string;
  /** 0 for any free one. */
  readonly port: number;
  /** DNS names under which it answers, besides the bind address, IP addresses, localhost and names of Services. */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The endpoints that operators and probes ask. */
export interface RelayServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves a page of all clusters at /, and /healthz, /readyz, /readyz/clusters, /readyz/clusters/NAME, /metrics and /runbooks/NAME; rejects where the address or port cannot be had. */
export async function startRelayServer(options: RelayServerOptions): Promise<RelayServer> {
  const { relay, platform, shard, values, clock = systemClock } = options;
  const page = createPage({ status: relay.status, values, platform, shard, clock });
  const isServed = servedHosts([options.bindAddress, ...(options.allowedHosts ?? [])]);
  const server = createServer(LIMITS, (request, response) => {
    const { host } = request.headers;
    if (!isServed(host)) return answer(response, 421, misdirected(host));
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "only GET is answered\n");
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path === "/metrics") return void serve(response, options.metrics.text, options.metrics.contentType);
    if (path === "/") return void serve(response, page, "text/html; charset=utf-8");
    if (path.startsWith(RUNBOOKS)) return void serveRunbook(response, path.slice(RUNBOOKS.length));
    const { status, text } = pageOf(path, options);
    answer(response, status, text);
  });
  server.timeout = IDLE_TIMEOUT_MS;
  boundConnections(server, MAX_CONNECTIONS);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.bindAddress, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  const host = options.bindAddress.includes(":") ? `[${options.bindAddress}]` : options.bindAddress;
  return {
    port,
    url: `http://${host}:${port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Probes ask in milliseconds; whoever takes longer is not one. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
/** Nobody who reads an answer pauses for so long. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 200;

/**
 * Keeps at most so many connections, and takes every new one: for it the one is ended that has been without a request for longest, or,
 * where all others have one, the oldest. So nobody keeps a probe out by holding connections, as they could if new ones were refused.
 */
function boundConnections(server: Server, limit: number): void {
  // Sets remember the order of insertion, so the first is the oldest.
  const waiting = new Set<Socket>();
  const answering = new Set<Socket>();
  server.on("connection", (socket) => {
    if (waiting.size + answering.size >= limit) {
      const [oldest] = waiting.size > 0 ? waiting : answering;
      if (oldest !== undefined) forget(oldest).destroy();
    }
    waiting.add(socket);
    socket.once("close", () => forget(socket));
  });
  server.on("request", ({ socket }, response) => {
    if (waiting.delete(socket)) answering.add(socket);
    response.once("close", () => {
      if (answering.delete(socket)) waiting.add(socket);
    });
  });

  function forget(socket: Socket): Socket {
    waiting.delete(socket);
    answering.delete(socket);
    return socket;
  }
}

function misdirected(host: string | undefined): string {
  const name = JSON.stringify(shown(host ?? "", 256));
  return `the relay does not answer as ${name}: ask by its IP address or as localhost, or list the name in --allowed-hosts\n`;
}

const CLUSTER_PATH = /^\/readyz\/clusters\/([^/]+)$/;

function pageOf(path: string, { relay, platform, shard, hasNoClusters }: RelayServerOptions): Page {
  if (path === "/healthz") return { status: 200, text: "ok" };
  if (path === "/readyz") return readinessOfAll(relay.status(), platform?.(), shard?.(), hasNoClusters?.());
  if (path === "/readyz/clusters") return clustersPage(relay.status());
  const name = CLUSTER_PATH.exec(path)?.[1];
  if (name === undefined) return { status: 404, text: "not found\n" };
  const cluster = relay.status().find((each) => each.name === name);
  return cluster === undefined ? { status: 404, text: "no such cluster\n" } : readinessOf(cluster);
}

async function serve(
  response: ServerResponse,
  make: () => Promise<string>,
  contentType: string,
): Promise<void> {
  try {
    answer(response, 200, await make(), contentType);
  } catch (error) {
    answer(response, 500, `${shown(messageOf(error), 1_024)}\n`);
  }
}

async function serveRunbook(response: ServerResponse, name: string): Promise<void> {
  const page = await readRunbook(name);
  if (page === undefined) answer(response, 404, "no such runbook\n");
  else answer(response, 200, page, "text/html; charset=utf-8");
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { ...SAFE, "content-type": contentType });
  response.end(text);
}

/** Some of what is answered are words out of clusters: a browser is to take nothing for what it is not, and to keep nothing. */
const SAFE = {
  "cache-control": "no-store",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

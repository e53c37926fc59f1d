import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getErrorMessage, sanitizeText } from "#core/sanitize-text.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { boundConnections } from "#platforms/http/bound-connections.ts";
import type { PlatformState } from "#relay/delivery/check-platform.ts";
import { createPage } from "#relay/page/create-page.ts";
import { CONTENT_SECURITY_POLICY } from "#relay/page/parts.ts";
import { RUNBOOKS, readRunbook } from "#relay/page/runbooks.ts";
import type { Relay } from "#relay/relay.ts";
import type { ServedMetrics } from "#relay/report/metric.ts";
import {
  buildClustersPage,
  describeProcessReadiness,
  describeReadiness,
  type Page,
} from "#relay/report/readiness.ts";
import { createHostCheck } from "#relay/served-hosts.ts";
import type { ShardStatus } from "#relay/sharding/shard.ts";
import type { Metrics } from "#relay/workers/messages.ts";

export interface RelayServerOptions {
  readonly relay: Pick<Relay, "status">;
  readonly metrics: ServedMetrics;
  /** Returns the clusters' metrics as plain data, from which the page is made. */
  readonly values: () => Promise<Metrics>;
  /**
   * Returns whether the platform that runs the functions can be reached; missing if there is no platform to
   * reach.
   */
  readonly platform?: (() => PlatformState | undefined) | undefined;
  /** Returns the state of its shard, if it shares the clusters with other replicas. */
  readonly shard?: (() => ShardStatus) | undefined;
  /** Returns whether the cluster registry lists no clusters. */
  readonly hasNoClusters?: (() => boolean) | undefined;
  readonly clock?: Clock | undefined;
  readonly bindAddress: string;
  /** 0 for any free port. */
  readonly port: number;
  /**
   * DNS names that it accepts, in addition to the bind address, IP addresses, localhost and names of
   * Services.
   */
  readonly allowedHosts?: readonly string[] | undefined;
}

/** The HTTP endpoints for operators and probes. */
export interface RelayServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves a page of all clusters at /, and /healthz, /readyz, /readyz/clusters, /readyz/clusters/NAME,
 * /metrics and /runbooks/NAME. Rejects if it cannot bind the address or port.
 */
export async function startRelayServer(options: RelayServerOptions): Promise<RelayServer> {
  const { relay, platform, shard, values, clock = systemClock } = options;
  const page = createPage({ status: relay.status, values, platform, shard, clock });
  const isServed = createHostCheck([options.bindAddress, ...(options.allowedHosts ?? [])]);
  const server = createServer(LIMITS, (request, response) => {
    const { host } = request.headers;
    if (!isServed(host)) return answer(response, 421, formatMisdirected(host));
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "only GET is answered\n");
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path === "/metrics") return void serve(response, options.metrics.text, options.metrics.contentType);
    if (path === "/") return void serve(response, page, "text/html; charset=utf-8");
    if (path.startsWith(RUNBOOKS)) return void serveRunbook(response, path.slice(RUNBOOKS.length));
    const { status, text } = buildPage(path, options);
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

/** Probes send their requests within milliseconds; a slower client is not one. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, connectionsCheckingInterval: 1_000 };
/** No client that reads an answer pauses for this long. */
const IDLE_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 200;

function formatMisdirected(host: string | undefined): string {
  const name = JSON.stringify(sanitizeText(host ?? "", 256));
  return `the relay does not answer as ${name}: ask by its IP address or as localhost, or list the name in --allowed-hosts\n`;
}

const CLUSTER_PATH = /^\/readyz\/clusters\/([^/]+)$/;

function buildPage(path: string, { relay, platform, shard, hasNoClusters }: RelayServerOptions): Page {
  if (path === "/healthz") return { status: 200, text: "ok" };
  if (path === "/readyz")
    return describeProcessReadiness(relay.status(), platform?.(), shard?.(), hasNoClusters?.());
  if (path === "/readyz/clusters") return buildClustersPage(relay.status());
  const name = CLUSTER_PATH.exec(path)?.[1];
  if (name === undefined) return { status: 404, text: "not found\n" };
  const cluster = relay.status().find((each) => each.name === name);
  return cluster === undefined ? { status: 404, text: "no such cluster\n" } : describeReadiness(cluster);
}

async function serve(
  response: ServerResponse,
  make: () => Promise<string>,
  contentType: string,
): Promise<void> {
  try {
    answer(response, 200, await make(), contentType);
  } catch (error) {
    answer(response, 500, `${sanitizeText(getErrorMessage(error), 1_024)}\n`);
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

/** Answers may contain text from clusters: a browser must not guess their type or store them. */
const SAFE = {
  "cache-control": "no-store",
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
} as const;

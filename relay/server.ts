import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { messageOf } from "#core/message-of.ts";
import type { Relay } from "#relay/relay.ts";
import type { RelayMetrics } from "#relay/report/metrics.ts";

export interface RelayServerOptions {
  readonly relay: Pick<Relay, "ready" | "status">;
  readonly metrics: RelayMetrics;
  readonly bindAddress: string;
  /** 0 for any free one. */
  readonly port: number;
}

/** The endpoints that operators and probes ask. */
export interface RelayServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Serves /healthz, /readyz, /readyz/clusters/NAME and /metrics; rejects where the address or port cannot be had. */
export async function startRelayServer(options: RelayServerOptions): Promise<RelayServer> {
  const server = createServer((request, response) => {
    if (request.method !== "GET" && request.method !== "HEAD")
      return answer(response, 405, "only GET is answered\n");
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path === "/metrics") return void serveMetrics(options.metrics, response);
    const { status, text } = pageOf(path, options.relay);
    answer(response, status, text);
  });
  // Probes ask in milliseconds; whoever takes longer is not one.
  server.requestTimeout = 10_000;
  server.headersTimeout = 5_000;
  server.maxConnections = 200;
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

interface Page {
  readonly status: number;
  readonly text: string;
}

const CLUSTER_PATH = /^\/readyz\/clusters\/([^/]+)$/;

function pageOf(path: string, relay: Pick<Relay, "ready" | "status">): Page {
  if (path === "/healthz") return { status: 200, text: "ok" };
  if (path === "/readyz") {
    const clusters = relay.status();
    // With more than one, a cluster's trouble is its own: this process goes on serving the others.
    return clusters.length === 1 ? readiness(clusters[0]) : { status: 200, text: "ok" };
  }
  const name = CLUSTER_PATH.exec(path)?.[1];
  return name === undefined
    ? { status: 404, text: "not found\n" }
    : readiness(relay.status().find((each) => each.name === name));
}

function readiness(cluster: ReturnType<Relay["status"]>[number] | undefined): Page {
  if (cluster === undefined) return { status: 404, text: "no such cluster\n" };
  const fault = cluster.configurationFault;
  if (cluster.ready && fault === undefined) return { status: 200, text: "ok" };
  if (cluster.ready) {
    const text = `ok, as it was configured before: ${fault?.code}: ${fault?.message}\n`;
    return { status: 200, text };
  }
  const why =
    cluster.failure === undefined ? "listing" : `${cluster.failure.code}: ${cluster.failure.message}`;
  return { status: 503, text: `cluster ${cluster.name} is not ready: ${why}\n` };
}

async function serveMetrics(metrics: RelayMetrics, response: ServerResponse): Promise<void> {
  try {
    answer(response, 200, await metrics.text(), metrics.contentType);
  } catch (error) {
    answer(response, 500, `${messageOf(error)}\n`);
  }
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
  response.end(text);
}

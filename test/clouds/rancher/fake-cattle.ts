import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Breakage } from "#test/clouds/conformance.ts";
import type { ArrivedRequest, Gate } from "#test/clouds/load-balancer-world.ts";
import {
  answerToServices,
  createServices,
  type FakeServices,
} from "#test/clouds/rancher/fake-cattle-services.ts";

/** A host of the environment. */
export interface FakeHost {
  readonly id: string;
  uuid: string;
  hostname: string | null;
  state: string;
  addresses: (string | null)[];
}

export type CattleAnswer =
  | "hang"
  | { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

/** A request as received. */
export interface CattleRequest {
  readonly method: string;
  /** The path below the project. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** An environment of Rancher 1.x, as far as its API v2-beta is used. */
export interface FakeCattle {
  /** The URL of the configuration, in the form of CATTLE_URL. */
  readonly url: string;
  readonly hosts: Map<string, FakeHost>;
  readonly services: FakeServices;
  readonly requests: CattleRequest[];
  /** The beginning of links; it may be wrong for an environment behind a proxy. */
  linksAt: string;
  /** The maximum items of a page. */
  pageSize: number;
  fault: ((request: CattleRequest) => CattleAnswer | undefined) | undefined;
  /** The gate of the API, if any. */
  gate: Gate | undefined;
  add(traits?: Partial<Omit<FakeHost, "id">>): FakeHost;
  close(): Promise<void>;
}

export const ACCESS_KEY = "0A1B2C3D4E5F";
export const SECRET_KEY = "s3cretKeyOfTheEnvironment";

const PROJECTS = "/v2-beta/projects";
const ROOT = `${PROJECTS}/1a5`;

/**
 * Starts the fake, which is strict: an undocumented request, or one with a made-up link, gets an error that
 * no test expects.
 */
export async function startFakeCattle(): Promise<FakeCattle> {
  const hosts = new Map<string, FakeHost>();
  const requests: CattleRequest[] = [];
  const services = createServices();
  let count = 0;

  const answerTo = (request: CattleRequest): CattleAnswer => {
    const { method, path, query, headers } = request;
    const expected = `Basic ${Buffer.from(`${ACCESS_KEY}:${SECRET_KEY}`).toString("base64")}`;
    if (headers.authorization !== expected) return buildCattleError(401, "Unauthorized");
    const base = fake.linksAt;
    if (method === "GET" && path === `outside ${PROJECTS}`)
      return page([{ id: "1a5", type: "project", name: "Default" }], query);
    if (method === "GET" && path === "") {
      return { status: 200, body: { type: "apiRoot" }, headers: { "x-api-schemas": `${base}/schemas` } };
    }
    if (method === "GET" && path === "/schemas")
      return page(
        SCHEMAS.map((schema) => schema(base)),
        query,
        path,
      );
    if (method === "GET" && path === "/hosts") {
      if (query["removed_null"] !== "1") return buildCattleError(422, "InvalidOption");
      return page(
        [...hosts.values()].map((host) => shown(host, base)),
        query,
        "/hosts",
      );
    }
    const host = hosts.get(/^\/hosts\/([^/]+)\/ipaddresses$/.exec(path)?.[1] ?? "");
    if (method === "GET" && host !== undefined) {
      const items = host.addresses.map((address, index) => ({
        id: `1ia${index + 1}`,
        type: "ipAddress",
        address,
      }));
      return page(items, query);
    }
    const answer = answerToServices(services, { ...request, base, hosts });
    return answer === undefined
      ? buildCattleError(404, "NotFound")
      : Array.isArray(answer)
        ? page(answer, query, path)
        : answer;
  };

  const page = (items: readonly unknown[], query: CattleRequest["query"], path = ""): CattleAnswer => {
    const limit = Math.min(Number(query["limit"]), fake.pageSize);
    if (!Number.isInteger(limit) || limit < 1) return buildCattleError(422, "InvalidOption");
    const from = Number(query["marker"] ?? 0);
    const to = from + limit;
    const rest = new URLSearchParams({ ...query, marker: String(to) });
    const next = to < items.length ? `${fake.linksAt}${path}?${rest}` : null;
    return {
      status: 200,
      body: { type: "collection", data: items.slice(from, to), pagination: { next, limit } },
    };
  };

  const server = createServer((incoming, outgoing) => {
    readBody(incoming)
      .then((text) => {
        const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://fake");
        const isOurs = pathname === ROOT || pathname.startsWith(`${ROOT}/`);
        const request: CattleRequest = {
          method: incoming.method ?? "",
          path: isOurs ? pathname.slice(ROOT.length) : `outside ${pathname}`,
          query: Object.fromEntries(searchParams),
          headers: incoming.headers,
          body: text === "" ? undefined : JSON.parse(text),
        };
        requests.push(request);
        const arrived = arrivedAs(request);
        const verdict = fake.gate?.enter(arrived) ?? "pass";
        if (verdict === "reset") return outgoing.destroy();
        if (verdict !== "pass") return respond(outgoing, IN_TROUBLE[verdict]);
        const answer = fake.fault?.(request) ?? answerTo(request);
        if (fake.gate?.leave(arrived) === false) return outgoing.destroy();
        return respond(outgoing, answer);
      })
      .catch((error: Error) => outgoing.destroy(error));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const fake: FakeCattle = {
    url: `${origin}/v1/projects/1a5`,
    hosts,
    services,
    requests,
    linksAt: `${origin}${ROOT}`,
    pageSize: 1_000,
    fault: undefined,
    gate: undefined,
    add(traits = {}) {
      count += 1;
      const host = {
        id: `1h${count}`,
        uuid: randomUUID(),
        hostname: `web-${count}.example.com`,
        state: "active",
        addresses: [`10.1.${count >> 8}.${count & 255}`],
        ...traits,
      };
      hosts.set(host.id, host);
      return host;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}

/** The answers of a failing API. */
export const IN_TROUBLE: Readonly<Record<Breakage, CattleAnswer>> = {
  Throttled: buildCattleError(429, "TooManyRequests", { "retry-after": "1" }),
  Denied: buildCattleError(403, "Forbidden"),
  Unavailable: buildCattleError(500, "ServerError"),
  stalled: "hang",
};

function arrivedAs({ method, path, query }: CattleRequest): ArrivedRequest {
  const action = query["action"] === undefined ? "" : `?action=${query["action"]}`;
  return {
    what: `${method} ${path.replaceAll(/\/1[a-z]+\d+/g, "/{id}")}${action}`,
    isChange: method !== "GET",
  };
}

export function buildCattleError(
  status: number,
  code: string,
  headers: Record<string, string> = {},
): CattleAnswer {
  return { status, headers, body: { type: "error", status, code, message: `${code} of the fake` } };
}

function shown({ id, uuid, hostname, state }: FakeHost, base: string) {
  const links = { self: `${base}/hosts/${id}`, ipAddresses: `${base}/hosts/${id}/ipaddresses` };
  return { id, type: "host", uuid, hostname, state, links };
}

/** By their names in the API, and the path of each list. */
const SCHEMAS = (
  [
    ["host", "hosts"],
    ["stack", "stacks"],
    ["setting", "settings"],
    ["loadBalancerService", "loadbalancerservices"],
    ["externalService", "externalservices"],
  ] as const
).map(([id, folder]) => (base: string) => ({
  id,
  type: "schema",
  links: { collection: `${base}/${folder}` },
}));

function respond(outgoing: ServerResponse, answer: CattleAnswer): void {
  if (answer === "hang") return;
  const { status, body, headers = {} } = answer;
  outgoing.writeHead(status, { "content-type": "application/json", ...headers });
  outgoing.end(typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body));
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

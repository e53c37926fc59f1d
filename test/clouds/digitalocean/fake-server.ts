import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A droplet as the fake keeps it. */
export interface FakeDroplet {
  /** Digits; written into JSON bare, as many as there are. */
  id: string;
  name: string;
  status: string;
  size_slug: string;
  region: string;
  vpc_uuid: string | null;
  tags: string[];
  networks: { v4: unknown[]; v6: unknown[] } | undefined;
  /** In lists of type gpus, and in no others. */
  gpu: boolean;
  /** Neither listed nor read. */
  hidden: boolean;
}

/** What a request is answered with in place of the truth; `destroy` breaks the connection, `hang` never answers. */
export type FakeAnswer =
  | "destroy"
  | "hang"
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** A request that arrived. */
export interface FakeRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
}

/** DigitalOcean's API as far as it is in use, and strict: what the API does not know is answered as there and told at the end. */
export interface FakeDigitalOcean {
  readonly url: string;
  readonly droplets: Map<string, FakeDroplet>;
  /** Tokens that are accepted. */
  readonly tokens: Set<string>;
  /** Scopes of all tokens; without vpc:read and tag:read droplets lack these fields. */
  readonly scopes: Set<string>;
  readonly requests: FakeRequest[];
  /** Headers of every answer, instead of those of a quota that is hardly touched. */
  rateLimit: Readonly<Record<string, string>>;
  /** Asked for each request, before anything else; undefined lets it through. */
  fault: ((request: FakeRequest) => FakeAnswer | undefined) | undefined;
  /** Called before a page or droplet is answered, to change the world meanwhile or to wait. */
  before: ((request: FakeRequest) => Promise<void> | void) | undefined;
  /** How many requests are kept waiting now. */
  hanging: number;
  add(traits?: Partial<FakeDroplet>): FakeDroplet;
  /** Throws if anything was asked that the real API would have refused as wrong. */
  close(): Promise<void>;
}

export const REGION = "fra1";
export const VPC = "760e09ef-dc84-11e8-981e-3cfdfeaae000";
export const TAG = "k8s-workers";
export const TOKEN = "dop_v1_0123456789abcdef";

/** An error as DigitalOcean words it. */
export function errorAnswer(
  status: number,
  id: string,
  headers: Readonly<Record<string, string>> = {},
): FakeAnswer {
  const body = JSON.stringify({ id, message: `${id}, says the fake`, request_id: "req-1" });
  return { status, body, headers: { "content-type": "application/json", ...headers } };
}

/** Starts the fake, empty, on a free port of this machine. */
export async function startFakeDigitalOcean(): Promise<FakeDigitalOcean> {
  const violations: string[] = [];
  let nextId = 3_164_444;
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing);
  });
  const fake: FakeDigitalOcean = {
    url: "",
    droplets: new Map(),
    tokens: new Set([TOKEN]),
    scopes: new Set(["droplet:read", "vpc:read", "tag:read"]),
    requests: [],
    rateLimit: {},
    fault: undefined,
    before: undefined,
    hanging: 0,
    add(traits = {}) {
      const id = traits.id ?? String(nextId++);
      const droplet: FakeDroplet = { ...aDroplet(id, fake.droplets.size), ...traits };
      fake.droplets.set(id, droplet);
      return droplet;
    },
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      if (violations.length > 0) throw new Error(`the API knows no such requests: ${violations.join("; ")}`);
    },
  };

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", "http://fake");
    const request = {
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
    };
    fake.requests.push(request);
    await fake.before?.(request);
    const answer = fake.fault?.(request) ?? answerTo(incoming.method ?? "", url);
    if (answer === "hang") {
      fake.hanging += 1;
      outgoing.once("close", () => {
        fake.hanging -= 1;
      });
      return;
    }
    if (answer === "destroy") {
      incoming.socket.destroy();
      return;
    }
    const quota = {
      "ratelimit-limit": "5000",
      "ratelimit-remaining": "4900",
      "ratelimit-reset": String(Math.ceil(Date.now() / 1000) + 3600),
    };
    const headers = { "content-type": "application/json", ...quota, ...fake.rateLimit, ...answer.headers };
    outgoing.writeHead(answer.status, headers).end(answer.body);
  }

  function answerTo(method: string, url: URL): Exclude<FakeAnswer, string> {
    const refuse = (status: number, id: string): Exclude<FakeAnswer, string> => {
      violations.push(`${method} ${url.pathname}${url.search}: ${status}`);
      return errorAnswer(status, id) as Exclude<FakeAnswer, string>;
    };
    const { authorization = "" } = fake.requests.at(-1)?.headers ?? {};
    const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
    if (token === undefined) return refuse(401, "unauthorized");
    if (!fake.tokens.has(token)) return errorAnswer(401, "unauthorized") as Exclude<FakeAnswer, string>;
    if (!fake.scopes.has("droplet:read")) return errorAnswer(403, "forbidden") as Exclude<FakeAnswer, string>;
    if (method !== "GET") return refuse(405, "method_not_allowed");
    const one = /^\/v2\/droplets\/([^/]+)$/.exec(url.pathname)?.[1];
    if (one !== undefined) {
      if (!/^[1-9]\d*$/.test(one) || url.search !== "") return refuse(404, "not_found");
      const droplet = fake.droplets.get(one);
      if (droplet === undefined || droplet.hidden)
        return errorAnswer(404, "not_found") as Exclude<FakeAnswer, string>;
      return { status: 200, body: JSON.stringify({ droplet: rendered(droplet, fake.scopes) }) };
    }
    if (url.pathname !== "/v2/droplets") return refuse(404, "not_found");
    return listPage(url, refuse);
  }

  function listPage(
    url: URL,
    refuse: (status: number, id: string) => Exclude<FakeAnswer, string>,
  ): Exclude<FakeAnswer, string> {
    const {
      page = "1",
      per_page: size = "20",
      tag_name: tag,
      type,
      name,
      ...unknown
    } = Object.fromEntries(url.searchParams);
    const isTwice = new Set(url.searchParams.keys()).size !== url.searchParams.size;
    if (Object.keys(unknown).length > 0 || isTwice) return refuse(422, "unprocessable_entity");
    if (tag !== undefined && (type !== undefined || name !== undefined))
      return refuse(422, "unprocessable_entity");
    if (type !== undefined && type !== "gpus" && type !== "droplets")
      return refuse(422, "unprocessable_entity");
    if (!isWithin(page, 1, 10_000) || !isWithin(size, 1, 200)) return refuse(422, "unprocessable_entity");
    const all = [...fake.droplets.values()].filter(
      (droplet) =>
        !droplet.hidden &&
        droplet.gpu === (type === "gpus") &&
        (tag === undefined || droplet.tags.includes(tag)) &&
        (name === undefined || droplet.name.toLowerCase() === name.toLowerCase()),
    );
    const [number, perPage] = [Number(page), Number(size)];
    const last = Math.max(1, Math.ceil(all.length / perPage));
    const link = (to: number): string =>
      `https://api.digitalocean.com/v2/droplets?page=${to}&per_page=${perPage}`;
    const forward = number < last ? { next: link(number + 1), last: link(last) } : {};
    const back = number > 1 ? { first: link(1), prev: link(number - 1) } : {};
    const body = {
      droplets: all
        .slice((number - 1) * perPage, number * perPage)
        .map((droplet) => rendered(droplet, fake.scopes)),
      links: last === 1 ? {} : { pages: { ...back, ...forward } },
      meta: { total: all.length },
    };
    return { status: 200, body: JSON.stringify(body) };
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(fake, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function isWithin(text: string, from: number, to: number): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= from && Number(text) <= to;
}

function aDroplet(id: string, index: number): FakeDroplet {
  const [high, low] = [Math.floor(index / 250), (index % 250) + 1];
  return {
    id,
    name: `pool-a-${id}`,
    status: "active",
    size_slug: "s-4vcpu-8gb",
    region: REGION,
    vpc_uuid: VPC,
    tags: [TAG],
    networks: {
      v4: [
        {
          ip_address: `203.0.${high}.${low}`,
          netmask: "255.255.240.0",
          gateway: "203.0.0.1",
          type: "public",
        },
        { ip_address: `10.114.${high}.${low}`, netmask: "255.255.240.0", type: "private" },
      ],
      v6: [],
    },
    gpu: false,
    hidden: false,
  };
}

/** As the API describes it, with a little of what nobody here reads. */
function rendered(
  { id, gpu, hidden, region, networks, vpc_uuid, tags, ...rest }: FakeDroplet,
  scopes: ReadonlySet<string>,
) {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  return {
    id: rawJSON(id),
    ...rest,
    memory: 8192,
    vcpus: 4,
    locked: false,
    created_at: "2026-01-01T00:00:00Z",
    features: ["private_networking", ...(gpu ? ["gpu"] : [])],
    region: { slug: region, name: "Frankfurt 1", available: !hidden, features: [], sizes: [] },
    ...(networks === undefined ? {} : { networks }),
    ...(scopes.has("vpc:read") ? { vpc_uuid } : {}),
    ...(scopes.has("tag:read") ? { tags } : {}),
  };
}

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buildAccount, createAccount, type FakeAccount } from "#emulators/digitalocean/account.ts";
import { createActions } from "#emulators/digitalocean/actions.ts";
import {
  type Answer,
  buildErrorAnswer,
  type FakeAnswer,
  type FakeRequest,
  type Refuse,
  type Resource,
} from "#emulators/digitalocean/answer.ts";
import {
  buildCertificate,
  createCertificates,
  type FakeCertificate,
} from "#emulators/digitalocean/certificates.ts";
import { buildDroplet, createDroplets, type FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { createFirewalls, type FakeFirewall } from "#emulators/digitalocean/firewalls.ts";
import {
  buildLoadBalancer,
  createLoadBalancers,
  type FakeLoadBalancer,
} from "#emulators/digitalocean/load-balancers.ts";
import { REGION, TOKEN } from "#emulators/digitalocean/names.ts";
import { readBody } from "#emulators/digitalocean/read-body.ts";
import { createTags } from "#emulators/digitalocean/tags.ts";

/**
 * DigitalOcean's API as far as it is used, and strict: an unknown request gets the real error, and `close`
 * reports it.
 */
export interface FakeDigitalOcean {
  readonly url: string;
  readonly account: FakeAccount;
  readonly droplets: Map<string, FakeDroplet>;
  /** IDs of droplets whose deletion is among the account's actions, in their order. */
  readonly destroyed: Set<string>;
  readonly loadBalancers: Map<string, FakeLoadBalancer>;
  readonly certificates: Map<string, FakeCertificate>;
  readonly firewalls: Map<string, FakeFirewall>;
  /** Slugs. */
  readonly regions: Set<string>;
  /** All tags of the account. */
  readonly tags: Set<string>;
  /** Accepted tokens. */
  readonly tokens: Set<string>;
  /** Scopes of all tokens; without vpc:read and tag:read droplets lack these fields. */
  readonly scopes: Set<string>;
  readonly requests: FakeRequest[];
  /** The number of reads that show a new load balancer before it is active. */
  newFor: number;
  /** The number of reads and lists that hide a new load balancer. */
  hideNew: number;
  /** Headers of every answer, in place of those of a nearly unused quota. */
  rateLimit: Readonly<Record<string, string>>;
  /** Called for each request first; undefined lets it through. */
  fault: ((request: FakeRequest) => FakeAnswer | undefined) | undefined;
  /** Called for each request that has taken effect; its result replaces the answer. */
  lost: ((request: FakeRequest) => FakeAnswer | undefined) | undefined;
  /** Called before a page or droplet is answered, to change the world meanwhile or to wait. */
  before: ((request: FakeRequest) => Promise<void> | void) | undefined;
  /** The number of requests that hang now. */
  hanging: number;
  add(traits?: Partial<FakeDroplet>): FakeDroplet;
  addLoadBalancer(traits?: Partial<FakeLoadBalancer>): FakeLoadBalancer;
  addCertificate(traits?: Partial<FakeCertificate>): FakeCertificate;
  /** Throws if a request came that the real API would have rejected as invalid. */
  close(): Promise<void>;
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
    account: buildAccount(),
    droplets: new Map(),
    destroyed: new Set(),
    loadBalancers: new Map(),
    certificates: new Map(),
    firewalls: new Map(),
    regions: new Set([REGION, "ams3", "nyc1"]),
    tags: new Set(),
    tokens: new Set([TOKEN]),
    scopes: new Set(ALL_SCOPES),
    requests: [],
    newFor: 1,
    hideNew: 0,
    rateLimit: {},
    fault: undefined,
    lost: undefined,
    before: undefined,
    hanging: 0,
    add(traits = {}) {
      const id = traits.id ?? String(nextId++);
      return storeItem(fake.droplets, { ...buildDroplet(id, fake.droplets.size), ...traits });
    },
    addLoadBalancer: (traits) => storeItem(fake.loadBalancers, buildLoadBalancer(traits)),
    addCertificate(traits = {}) {
      return storeItem(fake.certificates, {
        ...buildCertificate(traits.id ?? crypto.randomUUID()),
        ...traits,
      });
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
    const body = await readBody(incoming);
    const request: FakeRequest = {
      method: incoming.method ?? "",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      ...(body === undefined ? {} : { body }),
    };
    fake.requests.push(request);
    await fake.before?.(request);
    const answer = fake.fault?.(request) ?? answered(request, url);
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

  function answered(request: FakeRequest, url: URL): FakeAnswer {
    const answer = answerTo(request, url);
    return fake.lost?.(request) ?? answer;
  }

  function answerTo(request: FakeRequest, url: URL): Answer {
    const refuse: Refuse = (status, id, because = "") => {
      violations.push(`${request.method} ${url.pathname}${url.search}: ${status} ${because}`.trimEnd());
      return buildErrorAnswer(status, id);
    };
    const { authorization = "" } = request.headers;
    const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
    if (token === undefined) return refuse(401, "unauthorized");
    if (!fake.tokens.has(token)) return buildErrorAnswer(401, "unauthorized");
    if (new Set(url.searchParams.keys()).size !== url.searchParams.size)
      return refuse(422, "unprocessable_entity", "a parameter twice");
    for (const resource of resources) {
      const answer = resource(request, refuse);
      if (answer !== undefined) return answer;
    }
    return refuse(404, "not_found");
  }

  const resources: readonly Resource[] = [
    createAccount(fake),
    createActions(fake.destroyed, fake.scopes),
    createCertificates(fake.certificates, fake.scopes),
    createDroplets(fake.droplets, fake.scopes),
    createLoadBalancers(fake),
    createFirewalls(fake),
    createTags(fake),
  ];

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(fake, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const ALL_SCOPES = [
  "account:read",
  "actions:read",
  "regions:read",
  "droplet:read",
  "vpc:read",
  "tag:read",
  "tag:create",
  "tag:delete",
  "certificate:read",
  "load_balancer:read",
  "load_balancer:create",
  "load_balancer:update",
  "load_balancer:delete",
  "firewall:read",
  "firewall:create",
  "firewall:update",
];

function storeItem<Item extends { readonly id: string }>(all: Map<string, Item>, item: Item): Item {
  all.set(item.id, item);
  return item;
}

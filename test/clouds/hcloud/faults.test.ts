import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import {
  buildErrorAnswer,
  buildQuotaHeaders,
  type FakeHcloudServer,
  NETWORK,
  SELECTOR,
  TOKEN,
} from "#test/clouds/hcloud/fake-server.ts";
import {
  buildIdentifiedNode,
  countRequests,
  createNodeWorld,
  type HcloudWorld,
} from "#test/clouds/hcloud/world.ts";

let world: HcloudWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const HTML = { "content-type": "text/html" };
const shown = (body: unknown): FakeAnswer => ({ status: 200, body: JSON.stringify(body) });
const page = (servers: unknown[], next: unknown = null): FakeAnswer =>
  shown({ servers, meta: { pagination: { page: 1, next_page: next, last_page: 1 } } });

describe("an answer to the read of one server", () => {
  test.each<[string, FakeAnswer, string, string, number]>([
    ["400", buildErrorAnswer(400, "json_error"), "Denied", "400, json_error", 1],
    ["401", buildErrorAnswer(401, "unauthorized"), "Denied", "401, unauthorized", 1],
    ["403", buildErrorAnswer(403, "forbidden"), "Denied", "403, forbidden: forbidden, says the fake", 1],
    ["404", buildErrorAnswer(404, "not_found"), "not-found", "Hetzner has no such server", 1],
    [
      "a proxy's 404",
      { status: 404, body: "<h1>Not found</h1>", headers: HTML },
      "Unavailable",
      "text/html",
      1,
    ],
    [
      "404 with another error code",
      buildErrorAnswer(404, "no_such_route"),
      "Unavailable",
      "no_such_route",
      1,
    ],
    ["408", buildErrorAnswer(408, "timeout"), "Unavailable", "408", 3],
    ["409", buildErrorAnswer(409, "conflict"), "Unavailable", "409, conflict", 1],
    ["422", buildErrorAnswer(422, "invalid_input"), "Denied", "422", 1],
    ["423", buildErrorAnswer(423, "locked"), "Unavailable", "423, locked", 1],
    ["429", buildErrorAnswer(429, "rate_limit_exceeded"), "Throttled", "429, rate_limit_exceeded", 1],
    ["500", buildErrorAnswer(500, "service_error"), "Unavailable", "500, service_error", 3],
    [
      "503 with retry-after",
      buildErrorAnswer(503, "unavailable", { "retry-after": "30" }),
      "Unavailable",
      "503, unavailable",
      1,
    ],
    ["503 in HTML", { status: 503, body: "<h1>Sorry</h1>", headers: HTML }, "Unavailable", "503", 3],
    [
      "a redirect",
      { status: 302, body: "", headers: { location: "/elsewhere" } },
      "Unavailable",
      "not followed",
      1,
    ],
    ["a broken connection", "destroy", "Unavailable", "GET /servers/{id}", 3],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable", "text/html", 1],
    ["200 without a body", { status: 200, body: "" }, "Unavailable", "an empty body", 1],
    ["200 with another schema", shown({ servers: [] }), "Unavailable", "not a server", 1],
    [
      "200 with a truncated body",
      { status: 200, body: '{"server":{"id":52' },
      "Unavailable",
      "not the API's JSON",
      1,
    ],
    [
      "another server",
      shown({ server: { id: 1, name: "other" } }),
      "Unavailable",
      "the answer is server 1",
      1,
    ],
  ])("%s", async (_, answer, expected, message, requests) => {
    const server = world.fake.add();
    world.fake.fault = () => answer;
    const { answers, usage } = await world.cloud().instances([buildIdentifiedNode(server)], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(usage.calls).toEqual({ servers_get: requests });
  });
});

describe("an answer to a list", () => {
  test.each<[string, FakeAnswer, string]>([
    ["401", buildErrorAnswer(401, "unauthorized"), "Denied"],
    ["403", buildErrorAnswer(403, "forbidden"), "Denied"],
    ["404", buildErrorAnswer(404, "not_found"), "Unavailable"],
    ["429", buildErrorAnswer(429, "rate_limit_exceeded"), "Throttled"],
    ["500", buildErrorAnswer(500, "service_error"), "Unavailable"],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable"],
    ["200 without pages", shown({ servers: [] }), "Unavailable"],
    ["200 with null", { status: 200, body: "null" }, "Unavailable"],
  ])("%s is an error for all", async (_, answer, expected) => {
    const servers = [world.fake.add(), world.fake.add(), world.fake.add()];
    world.fake.fault = () => answer;
    const nodes = [...servers.map(buildIdentifiedNode), buildNode({ name: "unknown" })];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected, expected, expected, expected]);
  });

  test("whose next page has an unexpected number is invalid, because it might never end", async () => {
    world.fake.fault = ({ path }) => (path === "/v1/servers" ? page([], 7) : undefined);
    const { answers } = await world.cloud().instances([buildNode({ name: "unknown" })], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("after page 1 the answer names page 7") },
    ]);
    expect(countRequests(world.fake)).toEqual({ list: 1 });
  });

  test("with an entry that is not a server does not affect the others, and proves no name absent", async () => {
    const whole = world.fake.add();
    world.fake.fault = ({ path }) =>
      path === "/v1/servers"
        ? page([{ id: Number(whole.id), name: whole.name }, { id: 17 }, null])
        : undefined;
    const nodes = [buildNode({ name: "unknown" }), buildNode({ name: "no-17", providerID: "hcloud://17" })];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", "not-found"]);
    expect(answers).toMatchObject([{ message: expect.stringContaining("2 servers without id or name") }, {}]);
  });
});

describe("a network that is configured by name", () => {
  test.each<[string, FakeAnswer | undefined, string, string]>([
    ["is missing", undefined, "Denied", "no network red; it has blue (4711)"],
    ["is denied", buildErrorAnswer(403, "forbidden"), "Denied", "GET /networks: 403"],
    ["cannot be parsed", shown({ networks: [{}] }), "Unavailable", "not a list of networks"],
    [
      "has an invalid entry",
      shown({ networks: [{}], meta: { pagination: { next_page: null } } }),
      "Unavailable",
      "1 networks without id or name",
    ],
    ["fails", buildErrorAnswer(500, "service_error"), "Unavailable", "GET /networks: 500"],
  ])("and whose lookup %s is an error of all nodes that need a request", async (_, answer, code, message) => {
    world.fake.fault = ({ path }) => (path === "/v1/networks" ? answer : undefined);
    const nodes = [
      buildIdentifiedNode(world.fake.add()),
      buildNode({ name: "unknown" }),
      buildNode({ name: "elsewhere", providerID: "aws:///eu/i-1" }),
    ];
    const { answers } = await world.cloud({ network: "red" }).instances(nodes, buildCall({ control: true }));
    expect(answers.map(formatAnswer)).toEqual([code, code, "ForeignProviderID"]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }, {}, {}]);
    expect(new Set(Object.keys(countRequests(world.fake)))).toEqual(new Set(["networks"]));
  });

  test("is read again after ten minutes", async () => {
    const server = world.fake.add({ private_net: [{ network: "4712", ip: "10.0.0.9" }] });
    const cloud = world.cloud({ network: "blue", labelSelector: undefined });
    const ask = async () =>
      (await cloud.instances([buildIdentifiedNode(server)], buildCall())).answers.map(formatAnswer);
    expect(await ask()).toEqual(["Foreign"]);
    world.fake.networks.set("blue", "4712");
    expect(await ask()).toEqual(["Foreign"]);
    world.pass(600_000);
    expect(await ask()).toEqual([server.id]);
    expect(countRequests(world.fake)).toMatchObject({ networks: 2 });
  });
});

describe("a server without", () => {
  test.each<[string, Partial<FakeHcloudServer>, string, string]>([
    ["a status", { status: "" }, "Unavailable", "status"],
    ["a type", { server_type: null }, "Unavailable", "server type"],
    ["a location", { location: undefined }, "Unavailable", "location"],
    ["networks", { public_net: undefined }, "Unavailable", "public network"],
    ["a valid address", { public_net: { ipv4: { ip: "203.0" }, ipv6: null } }, "Unavailable", '"203.0"'],
    [
      "a valid address in the network",
      { private_net: [{ network: NETWORK, ip: "ten" }] },
      "Unavailable",
      '"ten" is invalid',
    ],
    ["a list of networks", { private_net: undefined as never }, "Unavailable", "lacks networks or labels"],
    [
      "valid networks",
      { private_net: [{ network: "none", ip: "10.0.0.1" }] },
      "Unavailable",
      "lacks networks or labels",
    ],
    ["labels", { labels: undefined }, "Unavailable", "lacks networks or labels"],
    [
      "the network of the configuration",
      { private_net: [] },
      "Foreign",
      `expected network ${NETWORK}, found none`,
    ],
    [
      "the labels of the configuration",
      { labels: { of: "theirs" } },
      "Foreign",
      `expected labels ${SELECTOR}, found of=theirs`,
    ],
  ])("%s is that node's error", async (_, traits, code, message) => {
    const [broken, whole] = [world.fake.add(traits), world.fake.add()];
    const { answers } = await world
      .cloud()
      .instances([buildIdentifiedNode(broken), buildIdentifiedNode(whole)], buildCall());
    expect(answers).toMatchObject([{ code, message: expect.stringContaining(message) }, { kind: "found" }]);
    expect(answers[0]).toMatchObject({ message: expect.stringContaining(`node ${broken.name}`) });
  });

  test("a valid IPv6 network, if the configuration requires it", async () => {
    const server = world.fake.add({ public_net: { ipv4: null, ipv6: { ip: "203.0.113.0/24" } } });
    const cloud = world.cloud({ addressFamily: "ipv6" });
    const { answers } = await cloud.instances([buildIdentifiedNode(server)], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("203.0.113.0/24") },
    ]);
  });
});

test("an unreachable server is named by its error", async () => {
  const cloud = world.cloud({ endpoint: "http://127.0.0.1:1/v1" });
  const { answers } = await cloud.instances([buildIdentifiedNode(world.fake.add())], buildCall());
  expect(answers).toMatchObject([{ code: "Unavailable", message: expect.stringContaining("ECONNREFUSED") }]);
});

test("an API that echoes the token is not quoted", async () => {
  const server = world.fake.add();
  const body = JSON.stringify({ error: { code: "unauthorized", message: `who is Bearer ${TOKEN}?` } });
  world.fake.fault = () => ({ status: 401, body });
  const { answers } = await world.cloud().instances([buildIdentifiedNode(server)], buildCall());
  expect(answers).toMatchObject([{ message: expect.stringContaining("who is Bearer …?") }]);
  expect(JSON.stringify(answers)).not.toContain(TOKEN);
});

describe("the quota", () => {
  test("that is used up pauses calls for at most a minute, and nodes get an answer at once", async () => {
    const server = world.fake.add();
    const cloud = world.cloud();
    const ask = () => cloud.instances([buildIdentifiedNode(server)], buildCall());
    world.fake.fault = () =>
      world.fake.requests.length === 1
        ? buildErrorAnswer(429, "rate_limit_exceeded", buildQuotaHeaders("0", 3_600))
        : undefined;
    expect((await ask()).usage.throttled).toBe(1);
    world.pass(50_000);
    expect(await ask()).toMatchObject({ answers: [{ code: "Throttled" }], usage: { calls: {} } });
    world.pass(11_000);
    expect((await ask()).answers.map(formatAnswer)).toEqual([server.id]);
  });

  test("with little left is kept for nodes that need initialization", async () => {
    const [first, second] = [world.fake.add(), world.fake.add()];
    const cloud = world.cloud();
    const refreshed = buildNode({ name: first.name, providerID: `hcloud://${first.id}`, taints: [] });
    world.fake.headers = buildQuotaHeaders("359", 30);
    const ask = async (node: typeof refreshed) =>
      (await cloud.instances([node], buildCall())).answers.map(formatAnswer);
    expect(await ask(buildIdentifiedNode(second))).toEqual([second.id]);
    expect(await ask(refreshed)).toEqual(["Throttled"]);
    world.pass(31_000);
    expect(await ask(refreshed)).toEqual([first.id]);
  });
});

test("a server whose deletion is among the project's actions differs from a missing one", async () => {
  const [deleted, missing] = [world.fake.add(), world.fake.add()];
  world.fake.add();
  const nodes = [buildIdentifiedNode(deleted), buildIdentifiedNode(missing)];
  for (const { id } of [deleted, missing]) world.fake.servers.delete(id);
  world.fake.deleted.add(deleted.id);
  const ask = async () => (await world.cloud().instances(nodes, buildCall({ control: true }))).answers;
  const [first, second] = await ask();
  expect(first).toMatchObject({ kind: "not-found", deleted: true });
  expect(second).toMatchObject({ kind: "not-found" });
  expect(second).not.toHaveProperty("deleted");
  world.fake.fault = ({ path }) =>
    path.endsWith("/servers/actions") ? buildErrorAnswer(500, "server_error") : undefined;
  const unread = await ask();
  expect(unread).toMatchObject([{ kind: "not-found" }, { kind: "not-found" }]);
  expect(unread[0]).not.toHaveProperty("deleted");
});

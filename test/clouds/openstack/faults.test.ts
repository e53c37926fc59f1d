import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import {
  buildPort,
  errors,
  type FakeOpenStackServer,
  formatUuid,
} from "#test/clouds/openstack/fake-server.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type OpenStackWorld,
} from "#test/clouds/openstack/world.ts";

let world: OpenStackWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const shown = (body: unknown): FakeAnswer => ({ status: 200, body: JSON.stringify(body) });
const HTML = { "content-type": "text/html" };

/** Breaks only one of the services. */
const broken = (part: "compute" | "network", answer: FakeAnswer): void => {
  world.fake.fault = ({ path }) => (path.startsWith(`/${part}/`) ? answer : undefined);
};

describe("Nova's answer to the read of one server", () => {
  test.each<[string, FakeAnswer, string, string, number]>([
    ["400", errors.nova(400, "badRequest"), "Denied", "400, badRequest", 1],
    ["403", errors.nova(403, "forbidden"), "Denied", "403, forbidden: forbidden, says the fake", 1],
    ["404", errors.nova(404, "itemNotFound"), "not-found", "OpenStack has no such server", 1],
    [
      "a proxy's 404",
      { status: 404, body: "<h1>Not found</h1>", headers: HTML },
      "Unavailable",
      "text/html",
      1,
    ],
    ["404 of Keystone", errors.keystone(404, "Not Found"), "Unavailable", "404, Not Found", 1],
    ["406, as from a Nova that is too old", errors.nova(406, "computeFault"), "Unavailable", "406", 1],
    ["409", errors.nova(409, "conflictingRequest"), "Unavailable", "409", 1],
    ["413, the throttle of older releases", errors.nova(413, "overLimit"), "Throttled", "413, overLimit", 1],
    ["429", errors.nova(429, "overLimit"), "Throttled", "429, overLimit", 1],
    ["500", errors.nova(500, "computeFault"), "Unavailable", "500, computeFault", 3],
    ["503 in HTML", { status: 503, body: "<h1>Sorry</h1>", headers: HTML }, "Unavailable", "503", 3],
    ["a redirect", { status: 302, body: "" }, "Unavailable", "not followed", 1],
    ["a broken connection", "destroy", "Unavailable", "GET /servers/{id}", 3],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable", "text/html", 1],
    ["200 without a body", { status: 200, body: "" }, "Unavailable", "an empty body", 1],
    ["200 with another schema", shown({ servers: [] }), "Unavailable", "not a server", 1],
    [
      "another server",
      shown({ server: { id: formatUuid(99), name: "o" } }),
      "Unavailable",
      "the answer is server",
      1,
    ],
  ])("%s", async (_, answer, expected, message, requests) => {
    broken("compute", answer);
    const { answers, usage } = await world
      .cloud()
      .instances([buildIdentifiedNode(world.fake.add())], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(usage.calls).toMatchObject({ servers_get: requests });
  });
});

describe("Neutron's answer", () => {
  const ROWS: [string, FakeAnswer, string, string][] = [
    ["403", errors.neutron(403, "PolicyNotAuthorized"), "Denied", "403, PolicyNotAuthorized"],
    ["404", errors.neutron(404, "HTTPNotFound"), "Unavailable", "404, HTTPNotFound"],
    ["429", errors.neutron(429, "OverQuota"), "Throttled", "429"],
    ["500", errors.neutron(500, "HTTPInternalServerError"), "Unavailable", "500"],
    ["200 with another schema", shown({ ports: [{ id: "x" }] }), "Unavailable", "not a list of ports"],
  ];
  test.each(ROWS)(
    "%s is an error of the server that is read, and no part of it is reported",
    async (_, answer, code, message) => {
      broken("network", answer);
      const { answers } = await world.cloud().instances([buildIdentifiedNode(world.fake.add())], buildCall());
      expect(answers).toMatchObject([{ code, message: expect.stringContaining(message) }]);
    },
  );

  test.each(ROWS)("%s is an error of all that are listed", async (_, answer, code) => {
    broken("network", answer);
    const nodes = [world.fake.add(), world.fake.add(), world.fake.add()].map(buildIdentifiedNode);
    const { answers } = await world.cloud().instances([...nodes, buildNode({ name: "n" })], buildCall());
    expect(answers.map(formatAnswer)).toEqual([code, code, code, code]);
  });
});

describe("Nova's answer to a list", () => {
  test.each<[string, FakeAnswer, string]>([
    ["403", errors.nova(403, "forbidden"), "Denied"],
    ["404", errors.nova(404, "itemNotFound"), "Unavailable"],
    ["429", errors.nova(429, "overLimit"), "Throttled"],
    ["500", errors.nova(500, "computeFault"), "Unavailable"],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable"],
    ["200 with null", { status: 200, body: "null" }, "Unavailable"],
  ])("%s is an error for all", async (_, answer, expected) => {
    broken("compute", answer);
    const nodes = [world.fake.add(), world.fake.add(), world.fake.add()].map(buildIdentifiedNode);
    const { answers } = await world.cloud().instances([...nodes, buildNode({ name: "n" })], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected, expected, expected, expected]);
  });

  test("that repeats a page ends as incomplete", async () => {
    const server = { id: formatUuid(1), name: "one" };
    const page = shown({ servers: [server], servers_links: [{ rel: "next", href: "x" }] });
    world.fake.fault = ({ path }) => (path.endsWith("/servers/detail") ? page : undefined);
    const { answers } = await world.cloud().instances([buildNode({ name: "one" })], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("same page was returned twice") },
    ]);
    expect(countRequests(world.fake)).toMatchObject({ list: 2 });
  });

  test("with a failed page shows what came before, and proves nothing about names", async () => {
    world.fake.maxPage = 3;
    const servers = Array.from({ length: 5 }, () => world.fake.add());
    world.fake.fault = ({ query, path }) =>
      query.has("marker") && path.startsWith("/compute/") ? errors.nova(500, "computeFault") : undefined;
    const [first, , , fourth] = servers as [FakeOpenStackServer, unknown, unknown, FakeOpenStackServer];
    const nodes = [
      ...servers.slice(0, 3).map(buildIdentifiedNode),
      buildIdentifiedNode(fourth),
      buildNamedNode(first),
    ];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual([
      ...servers.slice(0, 3).map(({ id }) => id),
      "Unavailable",
      "Unavailable",
    ]);
  });

  test("with an entry that is not a server does not affect the others, and proves no name absent", async () => {
    const whole = world.fake.add();
    world.fake.fault = ({ path }) =>
      path.endsWith("/servers/detail")
        ? shown({ servers: [{ id: whole.id, name: whole.name, tenant_id: whole.tenant_id }, { id: "x" }] })
        : undefined;
    const { answers } = await world.cloud().instances([buildNode({ name: "unknown" })], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("1 servers whose id or name") },
    ]);
  });
});

describe("a server without", () => {
  test.each<[string, Partial<FakeOpenStackServer>, string]>([
    ["a status", { status: "" }, "status"],
    ["a flavor", { flavor: null }, "lacks a valid flavor"],
    ["a name and an ID of its flavor", { flavor: {} }, "lacks a valid flavor"],
    ["its project", { tenant_id: undefined }, "lacks its project"],
    ["its metadata", { metadata: undefined }, "lacks its metadata"],
    ["a valid address", { ports: [buildPort("a", "10.0.0")] }, '"10.0.0" is invalid'],
  ])("%s is that node's error", async (_, traits, message) => {
    const [lacking, whole] = [world.fake.add(traits), world.fake.add()];
    const { answers } = await world
      .cloud()
      .instances([buildIdentifiedNode(lacking), buildIdentifiedNode(whole)], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining(message) },
      { kind: "found" },
    ]);
  });
});

test("two servers of one name are ambiguous, and a foreign one among them does not count", async () => {
  const [first, second] = [world.fake.add({ name: "n" }), world.fake.add({ name: "n" })];
  const ask = async () => (await world.cloud().instances([buildNode({ name: "n" })], buildCall())).answers;
  expect(await ask()).toMatchObject([
    { code: "Ambiguous", message: expect.stringContaining(`${first.id}, ${second.id}`) },
  ]);
  second.metadata = {};
  expect((await ask()).map(formatAnswer)).toEqual([first.id]);
});

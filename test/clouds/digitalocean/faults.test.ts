import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { TAG, TOKEN, VPC } from "#emulators/digitalocean/names.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildIdentifiedNode,
  buildNamedNode,
  countRequests,
  createNodeWorld,
  type DigitalOceanWorld,
} from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const HTML = { "content-type": "text/html" };
const found = (droplet: Record<string, unknown>): FakeAnswer => ({
  status: 200,
  body: JSON.stringify({ droplet }),
});

describe("an answer to the read of one droplet", () => {
  test.each<[string, FakeAnswer, string, string, number]>([
    ["401", buildErrorAnswer(401, "unauthorized"), "Denied", "401, unauthorized", 1],
    [
      "403",
      buildErrorAnswer(403, "forbidden"),
      "Denied",
      "403, forbidden: forbidden, says the fake (request req-1)",
      1,
    ],
    ["404", buildErrorAnswer(404, "not_found"), "not-found", "DigitalOcean has no such droplet", 1],
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
    ["404 without a body", { status: 404, body: "" }, "Unavailable", "an empty body", 1],
    ["408", buildErrorAnswer(408, "timeout"), "Unavailable", "408", 3],
    ["422", buildErrorAnswer(422, "unprocessable_entity"), "Denied", "422", 1],
    [
      "429",
      buildErrorAnswer(429, "too_many_requests", { "retry-after": "60" }),
      "Throttled",
      "429, too_many_requests",
      1,
    ],
    ["500", buildErrorAnswer(500, "server_error"), "Unavailable", "500, server_error", 3],
    ["503 in HTML", { status: 503, body: "<h1>Sorry</h1>", headers: HTML }, "Unavailable", "503", 3],
    [
      "a redirect",
      { status: 302, body: "", headers: { location: "/elsewhere" } },
      "Unavailable",
      "not followed",
      1,
    ],
    ["a broken connection", "destroy", "Unavailable", "GET /v2/droplets/{id}", 3],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable", "text/html", 1],
    ["200 without a body", { status: 200, body: "" }, "Unavailable", "an empty body", 1],
    ["200 with another schema", { status: 200, body: '{"droplets":[]}' }, "Unavailable", "not a droplet", 1],
    [
      "200 with a truncated body",
      { status: 200, body: '{"droplet":{"id":3164444,"na' },
      "Unavailable",
      "not the API's JSON",
      1,
    ],
    ["another droplet", found({ id: 1, name: "other" }), "Unavailable", "the answer is droplet 1", 1],
    ["204", { status: 204, body: "" }, "Unavailable", "204", 1],
  ])("%s", async (_, answer, expected, message, requests) => {
    const droplet = world.fake.add();
    world.fake.fault = () => answer;
    const { answers, usage } = await world.cloud().instances([buildIdentifiedNode(droplet)], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(message) }]);
    expect(world.fake.requests).toHaveLength(requests);
    expect(usage.calls).toEqual({ droplets_get: requests });
  });
});

describe("an answer to a list", () => {
  test.each<[string, FakeAnswer, string]>([
    ["401", buildErrorAnswer(401, "unauthorized"), "Denied"],
    ["403", buildErrorAnswer(403, "forbidden"), "Denied"],
    ["404", buildErrorAnswer(404, "not_found"), "Unavailable"],
    ["429", buildErrorAnswer(429, "too_many_requests", { "retry-after": "60" }), "Throttled"],
    ["500", buildErrorAnswer(500, "server_error"), "Unavailable"],
    ["200 in HTML", { status: 200, body: "<h1>Welcome</h1>", headers: HTML }, "Unavailable"],
    ["200 without links", { status: 200, body: '{"droplets":[]}' }, "Unavailable"],
    ["200 with null", { status: 200, body: "null" }, "Unavailable"],
  ])("%s is an error for all", async (_, answer, expected) => {
    const droplets = [world.fake.add(), world.fake.add(), world.fake.add()];
    world.fake.fault = () => answer;
    const nodes = [...droplets.map(buildIdentifiedNode), buildNode({ name: "unknown" })];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected, expected, expected, expected]);
  });

  test("a refused list of GPU droplets does not affect IDs, which are read singly", async () => {
    const [plain, gpu] = [world.fake.add(), world.fake.add({ gpu: true })];
    world.fake.fault = ({ query }) =>
      query["type"] ? buildErrorAnswer(422, "unprocessable_entity") : undefined;
    const nodes = [buildIdentifiedNode(plain), buildIdentifiedNode(gpu), buildNode({ name: "unknown" })];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual([plain.id, gpu.id, "Denied"]);
  });

  test("with an entry that is not a droplet does not affect the others, and proves no name absent", async () => {
    const whole = world.fake.add();
    world.fake.fault = ({ path, query }) => {
      if (path !== "/v2/droplets" || query["type"]) return undefined;
      const droplets = [{ id: Number(whole.id), name: whole.name }, { id: 17 }, null];
      return { status: 200, body: JSON.stringify({ droplets, links: {}, meta: { total: 3 } }) };
    };
    const nodes = [
      buildNode({ name: "unknown" }),
      buildNode({ name: "no-17", providerID: "digitalocean://17" }),
    ];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Unavailable", "not-found"]);
    expect(answers).toMatchObject([
      { message: expect.stringContaining("2 droplets without id or name") },
      {},
    ]);
  });
});

describe("a droplet without", () => {
  test.each<[string, Partial<FakeDroplet>, string, string]>([
    ["networks", { networks: undefined }, "Unavailable", "list of networks"],
    ["a private address", { networks: { v4: [], v6: [] } }, "Unavailable", "private IPv4 address"],
    [
      "a valid address",
      { networks: { v4: [{ ip_address: "10.0.0", type: "private" }], v6: [] } },
      "Unavailable",
      '"10.0.0" is invalid',
    ],
    ["valid networks", { networks: { v4: ["10.0.0.1"], v6: [] } }, "Unavailable", "list of networks"],
    ["a size", { size_slug: "" }, "Unavailable", "size"],
    ["a status", { status: "" }, "Unavailable", "status"],
    ["the VPC of the configuration", { vpc_uuid: null }, "Foreign", `expected VPC ${VPC}, found none`],
    ["the tag of the configuration", { tags: ["theirs"] }, "Foreign", `expected tag ${TAG}, found theirs`],
    ["the region of the configuration", { region: "nyc3" }, "Foreign", "expected region fra1, found nyc3"],
  ])("%s is that node's error", async (_, traits, code, message) => {
    const [broken, whole] = [world.fake.add(traits), world.fake.add()];
    const { answers } = await world
      .cloud()
      .instances([buildIdentifiedNode(broken), buildIdentifiedNode(whole)], buildCall());
    expect(answers).toMatchObject([{ code, message: expect.stringContaining(message) }, { kind: "found" }]);
    expect(answers[0]).toMatchObject({ message: expect.stringContaining(`node ${broken.name}`) });
  });

  test.each([
    ["vpc:read", { dropletTag: undefined }],
    ["tag:read", { vpc: undefined }],
  ])("a missing scope %s is an error of the token, and not foreign", async (scope, config) => {
    const droplet = world.fake.add();
    world.fake.scopes.delete(scope);
    const { answers } = await world.cloud(config).instances([buildIdentifiedNode(droplet)], buildCall());
    expect(answers).toMatchObject([
      { code: "Denied", message: expect.stringContaining(`needs the scope ${scope}`) },
    ]);
  });

  test("a hidden field that the configuration does not use is not an error", async () => {
    const droplet = world.fake.add();
    world.fake.scopes.delete("vpc:read");
    const { answers } = await world
      .cloud({ vpc: undefined })
      .instances([buildIdentifiedNode(droplet)], buildCall());
    expect(answers).toMatchObject([
      { instance: { account: "digitalocean", network: "fra1/-", id: droplet.id } },
    ]);
  });
});

test.each(["http://127.0.0.1:1", "http://localhost:1"])(
  "an unreachable server, %s, is named by its error",
  async (apiURL) => {
    const { answers } = await world
      .cloud({ apiURL })
      .instances([buildIdentifiedNode(world.fake.add())], buildCall());
    expect(answers).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("ECONNREFUSED") },
    ]);
  },
);

test("a server that echoes the token is not quoted", async () => {
  const droplet = world.fake.add();
  const body = JSON.stringify({ id: "unauthorized", message: `who is Bearer ${TOKEN}?` });
  world.fake.fault = () => ({ status: 401, body });
  const { answers } = await world.cloud().instances([buildIdentifiedNode(droplet)], buildCall());
  expect(answers).toMatchObject([{ message: expect.stringContaining("who is Bearer …?") }]);
  expect(JSON.stringify(answers)).not.toContain(TOKEN);
});

describe("a server that throttles", () => {
  const throttleOnce = (headers: Readonly<Record<string, string>>): void => {
    const before = world.fake.requests.length;
    world.fake.fault = () =>
      world.fake.requests.length === before + 1
        ? buildErrorAnswer(429, "too_many_requests", headers)
        : undefined;
  };
  const inSeconds = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds);

  test("is not called again before the time it gives", async () => {
    const droplet = world.fake.add();
    const cloud = world.cloud();
    throttleOnce({ "retry-after": "3", "ratelimit-remaining": "0", "ratelimit-reset": inSeconds(50) });
    const throttled = await cloud.instances([buildIdentifiedNode(droplet)], buildCall());
    expect(throttled.answers.map(formatAnswer)).toEqual(["Throttled"]);
    expect(throttled.usage).toEqual({ calls: { droplets_get: 1 }, throttled: 1, waitedMs: 0 });
    const { answers, usage } = await cloud.instances([buildIdentifiedNode(droplet)], buildCall());
    expect(answers.map(formatAnswer)).toEqual([droplet.id]);
    expect(usage.waitedMs).toBe(3000);
  });

  test.each<[string, () => Readonly<Record<string, string>>, number]>([
    [
      "its quota resets in 40 s",
      () => ({ "ratelimit-remaining": "0", "ratelimit-reset": inSeconds(40) }),
      39_000,
    ],
    [
      "its quota resets later",
      () => ({ "ratelimit-remaining": "0", "ratelimit-reset": inSeconds(3000) }),
      60_000,
    ],
    ["it sends retry-after with half an hour", () => ({ "retry-after": "1800" }), 60_000],
  ])(
    "pauses calls for at most a minute, and nodes get an answer at once, if %s",
    async (_, headers, pauseMs) => {
      const droplet = world.fake.add();
      const cloud = world.cloud();
      throttleOnce(headers());
      await cloud.instances([buildIdentifiedNode(droplet)], buildCall());
      world.pass(pauseMs - 10_000);
      const { answers, usage } = await cloud.instances([buildIdentifiedNode(droplet)], buildCall());
      expect(answers.map(formatAnswer)).toEqual(["Throttled"]);
      expect(usage).toEqual({ calls: {}, throttled: 0, waitedMs: 0 });
      world.pass(11_000);
      expect(
        (await cloud.instances([buildIdentifiedNode(droplet)], buildCall())).answers.map(formatAnswer),
      ).toEqual([droplet.id]);
      expect(countRequests(world.fake)).toEqual({ read: 2 });
    },
  );

  test("makes batches wait for their shares", async () => {
    const droplets = Array.from({ length: 5 }, () => world.fake.add());
    const cloud = world.cloud();
    const waits: number[] = [];
    for (const droplet of droplets) {
      world.pass(10_000);
      const { usage } = await cloud.instances([buildIdentifiedNode(droplet)], buildCall({ share: 0.01 }));
      waits.push(usage.waitedMs);
    }
    // A hundredth of four a second is one in 25 s; a wait of more than five seconds is answered as throttled.
    expect(waits).toEqual([0, 0, 5_000, 0, 5_000]);
    expect(countRequests(world.fake)).toEqual({ read: 3 });
  });
});

describe("an abort", () => {
  test("ends a batch that waits for its share, and no request is sent", async () => {
    const abort = new AbortController();
    const cloud = world.cloud({}, { sleep: async () => abort.abort() });
    const droplet = world.fake.add();
    world.fake.fault = () => buildErrorAnswer(429, "too_many_requests", { "retry-after": "1" });
    await cloud.instances([buildIdentifiedNode(droplet)], buildCall());
    const { answers } = await cloud.instances(
      [buildIdentifiedNode(droplet)],
      buildCall({ signal: abort.signal }),
    );
    expect(answers.map(formatAnswer)).toEqual(["Aborted"]);
    expect(countRequests(world.fake)).toEqual({ read: 1 });
  });

  test("before a second attempt ends the call without that attempt", async () => {
    const abort = new AbortController();
    const cloud = world.cloud({}, { sleep: async () => abort.abort() });
    world.fake.fault = () => "destroy";
    const { answers } = await cloud.instances(
      [buildIdentifiedNode(world.fake.add())],
      buildCall({ signal: abort.signal }),
    );
    expect(answers.map(formatAnswer)).toEqual(["Aborted"]);
    expect(countRequests(world.fake)).toEqual({ read: 1 });
  });
});

describe("if little of the hour's quota is left", () => {
  test("initialized nodes wait until the quota grows, and the others do not", async () => {
    const droplets = [world.fake.add(), world.fake.add(), world.fake.add()] as const;
    const cloud = world.cloud();
    const refreshed = buildNode({
      name: droplets[0].name,
      providerID: `digitalocean://${droplets[0].id}`,
      taints: [],
    });
    world.fake.rateLimit = {
      "ratelimit-remaining": "499",
      "ratelimit-reset": String(Math.floor(Date.now() / 1000) + 30),
    };
    const ask = async (node: Parameters<typeof cloud.instances>[0][number]): Promise<string[]> =>
      (await cloud.instances([node], buildCall())).answers.map(formatAnswer);
    expect(await ask(buildIdentifiedNode(droplets[1]))).toEqual([droplets[1].id]);
    expect(await ask(refreshed)).toEqual(["Throttled"]);
    expect(await ask(buildNamedNode(droplets[2]))).toEqual([droplets[2].id]);
    world.pass(31_000);
    expect(await ask(refreshed)).toEqual([droplets[0].id]);
  });
});

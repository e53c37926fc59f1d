import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createAuth } from "#clouds/openstack/auth.ts";
import { createOpenStackCloud } from "#clouds/openstack/cloud.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import type { FakeAnswer } from "#test/clouds/fake-api.ts";
import { CREDENTIAL, errors, PROJECT, SECRET } from "#test/clouds/openstack/fake-server.ts";
import {
  buildConfig,
  buildIdentifiedNode,
  countRequests,
  createNodeWorld,
  type OpenStackWorld,
} from "#test/clouds/openstack/world.ts";
import { WAIT } from "#test/wait-until-true.ts";

let world: OpenStackWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const MINUTE = 60_000;
const aServersNode = () => buildIdentifiedNode(world.fake.servers.values().next().value ?? world.fake.add());

/** Returns a cloud, and its answer about one server. */
function asking(config: Record<string, unknown> = {}) {
  const cloud = world.cloud(config);
  return async (): Promise<string[]> =>
    (await cloud.instances([aServersNode()], buildCall())).answers.map(formatAnswer);
}

describe("the user of the sign-in", () => {
  const USER = { "application-credential-id": undefined, username: "ccm", "domain-name": "Default" };
  const credential = (more: unknown) => ({
    auth: {
      identity: {
        methods: ["application_credential"],
        application_credential: { ...(more as object), secret: SECRET },
      },
    },
  });
  const password = (user: unknown, project: unknown) => ({
    auth: {
      identity: { methods: ["password"], password: { user: { ...(user as object), password: SECRET } } },
      scope: { project },
    },
  });
  const DEFAULT = { name: "Default" };

  test.each<[string, Record<string, unknown>, unknown]>([
    ["an application credential by its id", {}, credential({ id: CREDENTIAL })],
    [
      "an application credential by its ID, with any user",
      { username: "ccm", "tenant-id": PROJECT },
      credential({ id: CREDENTIAL }),
    ],
    [
      "an application credential by its name",
      { ...USER, "application-credential-name": "blue" },
      credential({ name: "blue", user: { name: "ccm", domain: DEFAULT } }),
    ],
    [
      "a user and a tenant of one domain",
      { ...USER, "tenant-name": "blue" },
      password({ name: "ccm", domain: DEFAULT }, { name: "blue", domain: DEFAULT }),
    ],
    [
      "a user of one domain and a tenant of another",
      { ...USER, "user-domain-id": "u", "tenant-name": "blue", "tenant-domain-id": "t" },
      password({ name: "ccm", domain: { id: "u" } }, { name: "blue", domain: { id: "t" } }),
    ],
    [
      "a user by ID and a tenant by ID",
      { ...USER, username: undefined, "user-id": "u-1", "domain-name": undefined, "tenant-id": PROJECT },
      password({ id: "u-1" }, { id: PROJECT }),
    ],
    [
      "domains by name",
      {
        ...USER,
        "user-domain-name": "u",
        "tenant-name": "blue",
        "tenant-domain-name": "t",
        "domain-id": "x",
      },
      password({ name: "ccm", domain: { name: "u" } }, { name: "blue", domain: { name: "t" } }),
    ],
  ])("%s", async (_, config, body) => {
    const [id] = await asking(config)();
    expect(world.fake.servers.has(id ?? "")).toBe(true);
    expect(JSON.parse(world.fake.requests[0]?.body ?? "")).toEqual(body);
  });
});

describe("a token", () => {
  test("is used until five minutes before its end, by Keystone's clock", async () => {
    const ask = asking();
    for (const [minutes, tokens] of [
      [0, 1],
      [54, 1],
      [1, 2],
      [54, 2],
      [1, 3],
    ] as const) {
      world.pass(minutes * MINUTE);
      await ask();
      expect(countRequests(world.fake)).toMatchObject({ token: tokens });
    }
  });

  test("of four minutes is renewed after two", async () => {
    world.fake.lifeSeconds = 240;
    const ask = asking();
    await ask();
    world.pass(119_000);
    await ask();
    expect(countRequests(world.fake)).toMatchObject({ token: 1 });
    world.pass(1_000);
    await ask();
    expect(countRequests(world.fake)).toMatchObject({ token: 2 });
  });

  test("is used to its end if Keystone gives no other", async () => {
    const ask = asking();
    const [id] = await ask();
    world.fake.fault = ({ path }) =>
      path.startsWith("/identity/") ? errors.keystone(500, "Internal") : undefined;
    world.pass(56 * MINUTE);
    expect(await ask()).toEqual([id]);
    world.pass(4 * MINUTE);
    expect(await ask()).toEqual(["Unavailable"]);
    world.fake.fault = undefined;
    world.pass(6_000);
    expect(await ask()).toEqual([id]);
  });

  test("that is rejected is replaced, once a minute", async () => {
    const ask = asking();
    const [id] = await ask();
    world.fake.tokens.clear();
    expect(await ask()).toEqual([id]);
    expect(countRequests(world.fake)).toMatchObject({ token: 2 });
    world.fake.tokens.clear();
    expect(await ask()).toEqual(["Denied"]);
    expect(countRequests(world.fake)).toMatchObject({ token: 2 });
    world.pass(MINUTE);
    expect(await ask()).toEqual([id]);
  });

  test("is shared by all concurrent requests", async () => {
    const cloud = world.cloud();
    const node = aServersNode();
    const answers = await Promise.all([1, 2, 3].map(() => cloud.instances([node], buildCall())));
    expect(answers.flatMap((each) => each.answers.map(({ kind }) => kind))).toEqual([
      "found",
      "found",
      "found",
    ]);
    expect(countRequests(world.fake)).toMatchObject({ token: 1 });
    expect(answers.reduce((sum, { usage }) => sum + (usage.calls["tokens_create"] ?? 0), 0)).toBe(1);
  });

  test("that does not arrive: an abort ends one request, and the others still wait", async () => {
    const cloud = world.cloud();
    const node = aServersNode();
    const abort = new AbortController();
    const { promise: opened, resolve: open } = Promise.withResolvers<void>();
    world.fake.before = ({ path }) => {
      abort.abort();
      return path.startsWith("/identity/") ? opened : undefined;
    };
    const first = cloud.instances([node], buildCall({ signal: abort.signal }));
    const second = cloud.instances([node], buildCall());
    expect((await first).answers.map(formatAnswer)).toEqual(["Aborted"]);
    open();
    expect((await second).answers).toMatchObject([{ kind: "found" }]);
    expect(countRequests(world.fake)).toMatchObject({ token: 1 });
  });
});

describe("a failing sign-in", () => {
  const token = (body: unknown, headers = { "x-subject-token": "t" }): FakeAnswer => ({
    status: 201,
    body: JSON.stringify(body),
    headers,
  });

  test.each<[string, FakeAnswer, string, string]>([
    ["401", errors.keystone(401, "Unauthorized"), "Denied", "401, Unauthorized: says the fake"],
    ["403", errors.keystone(403, "Forbidden"), "Denied", "403, Forbidden"],
    ["404 for a wrong URL", { status: 404, body: "<h1>Not found</h1>" }, "Unavailable", "404"],
    ["429", errors.keystone(429, "Too Many Requests"), "Throttled", "429"],
    ["500", errors.keystone(500, "Internal Server Error"), "Unavailable", "500"],
    ["a broken connection", "destroy", "Unavailable", "POST /v3/auth/tokens"],
    ["no token in the header", token({ token: {} }, {} as never), "Unavailable", "not a token"],
    [
      "a token with a line break",
      token({ token: {} }, { "x-subject-token": "a b" }),
      "Unavailable",
      "not a token",
    ],
    ["an unparseable answer", token({}), "Unavailable", "not a token"],
    ["a token for no project", token({ token: { catalog: [] } }), "Denied", "for no project"],
    [
      "an empty catalogue",
      token({ token: { project: { id: "p" } } }),
      "Denied",
      "no compute endpoint that is public in RegionOne; it has none",
    ],
  ])("with %s is the error of all nodes, and is not repeated at once", async (_, answer, code, message) => {
    world.fake.fault = () => answer;
    const cloud = world.cloud();
    const nodes = [
      aServersNode(),
      buildNode({ name: "n" }),
      buildNode({ name: "e", providerID: "aws:///eu/i-1" }),
    ];
    for (let round = 0; round < 3; round += 1) {
      const { answers } = await cloud.instances(nodes, buildCall({ control: true }));
      expect(answers.map(formatAnswer)).toEqual([code, code, "ForeignProviderID"]);
      expect(answers).toMatchObject([{ message: expect.stringContaining(message) }, {}, {}]);
    }
    expect(countRequests(world.fake)).toEqual({ token: 1 });
  });

  test.each<[string, Record<string, unknown>, string]>([
    [
      "a misspelled region",
      { region: "RegionOnne" },
      "it has public in RegionOne, internal in RegionOne, public in RegionTwo",
    ],
    [
      "an unknown kind of endpoint",
      { "os-endpoint-type": "admin" },
      "no compute endpoint that is admin in RegionOne",
    ],
    ["an endpoint with http", { "os-endpoint-type": "internal" }, "cannot be used: https is required"],
  ])("for %s lists the existing ones", async (_, config, message) => {
    const { answers } = await world.cloud(config).instances([aServersNode()], buildCall());
    expect(answers).toMatchObject([{ code: "Denied", message: expect.stringContaining(message) }]);
  });

  test("is repeated after a minute if it was rejected, and otherwise after five seconds", async () => {
    const ask = asking();
    world.fake.secret = "another";
    expect(await ask()).toEqual(["Denied"]);
    world.fake.secret = SECRET;
    world.pass(59_000);
    expect(await ask()).toEqual(["Denied"]);
    world.pass(1_000);
    expect(await ask()).not.toEqual(["Denied"]);
    expect(countRequests(world.fake)).toMatchObject({ token: 2 });
  });
});

test("a sign-in without waiting callers ends, and does not delay the next one", async () => {
  const cloud = world.cloud();
  const node = aServersNode();
  world.fake.fault = () => "hang";
  const aborts = [new AbortController(), new AbortController()];
  const asks = aborts.map(({ signal }) => cloud.instances([node], buildCall({ signal })));
  await vi.waitFor(() => expect(world.fake.hanging).toBe(1), WAIT);
  aborts[0]?.abort();
  expect((await asks[0])?.answers).toMatchObject([{ code: "Aborted" }]);
  expect(world.fake.hanging).toBe(1);
  aborts[1]?.abort();
  expect((await asks[1])?.answers).toMatchObject([{ code: "Aborted" }]);
  await vi.waitFor(() => expect(world.fake.hanging).toBe(0), WAIT);
  world.fake.fault = undefined;
  expect((await cloud.instances([node], buildCall())).answers).toMatchObject([{ kind: "found" }]);
});

test("a secret with quotes is not repeated in its JSON notation either", async () => {
  const secret = 'a"quoted"\\secret';
  const config = buildConfig({ "auth-url": world.fake.authURL });
  const environment = { OS_APPLICATION_CREDENTIAL_SECRET: secret };
  const cloud = createOpenStackCloud(config, createAuth(config, environment, "blue"));
  world.fake.fault = ({ body }) => errors.keystone(401, "Unauthorized", `who is ${body} of ${secret}?`);
  const { answers } = await cloud.instances([aServersNode()], buildCall());
  await cloud.close();
  expect(answers).toMatchObject([{ message: expect.stringContaining("of …?") }]);
  expect(JSON.stringify(answers)).not.toContain("quoted");
});

test("a wrong credential's project contains no server of the cluster", async () => {
  world.fake.project = "another";
  expect(await asking()()).toEqual(["Foreign"]);
});

test("neither secret nor token is repeated from a server's answer", async () => {
  const cloud = world.cloud();
  world.fake.fault = ({ body, headers }) =>
    errors.keystone(401, "Unauthorized", `who is ${body} ${headers["x-auth-token"]}?`);
  const denied = await cloud.instances([aServersNode()], buildCall());
  world.pass(MINUTE);
  world.fake.fault = ({ path, headers }) =>
    path.startsWith("/identity/")
      ? undefined
      : errors.nova(403, "forbidden", `who is ${headers["x-auth-token"]}?`);
  const forbidden = await cloud.instances([aServersNode()], buildCall());
  expect(denied.answers).toMatchObject([{ message: expect.stringContaining("who is") }]);
  expect(forbidden.answers).toMatchObject([{ message: expect.stringContaining("who is …?") }]);
  const said = JSON.stringify([denied, forbidden]);
  expect([SECRET, ...world.fake.tokens].filter((each) => said.includes(each))).toEqual([]);
});

test("a secret in a file is read at each sign-in, and a missing file is the error", async () => {
  const folder = await mkdtemp(join(tmpdir(), "openstack-secret-"));
  const file = join(folder, "secret");
  await writeFile(file, `${SECRET}\n`);
  const config = buildConfig({ "auth-url": world.fake.authURL, "secret-file": file });
  let now = 0;
  const cloud = createOpenStackCloud(config, createAuth(config, {}, "blue"), { now: () => now });
  const node = aServersNode();
  const ask = async () => (await cloud.instances([node], buildCall())).answers;
  expect(await ask()).toMatchObject([{ kind: "found" }]);
  world.fake.secret = "the next one, with spaces";
  await writeFile(file, "the next one, with spaces");
  now += 60 * MINUTE;
  expect(await ask()).toMatchObject([{ kind: "found" }]);
  await rm(folder, { recursive: true });
  now += 60 * MINUTE;
  expect(await ask()).toMatchObject([{ code: "Denied", message: expect.stringContaining(file) }]);
  await cloud.close();
});

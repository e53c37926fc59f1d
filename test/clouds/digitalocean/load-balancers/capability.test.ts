import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Capability } from "#clouds/cloud.ts";
import { describeOnDigitalOcean } from "#clouds/digitalocean/load-balancers/model.ts";
import { buildErrorAnswer, type FakeAnswer } from "#emulators/digitalocean/answer.ts";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { buildCall } from "#test/clouds/builders.ts";
import {
  buildNodes,
  buildService,
  buildSettings,
  converge,
  DEFAULT_NAME,
  ID,
} from "#test/clouds/digitalocean/load-balancers/round.ts";
import { createNodeWorld, type DigitalOceanWorld } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const capabilityOf = (config: Record<string, unknown> = {}): Capability => {
  const capability = world.cloud(config).capabilities?.["loadBalancers"];
  if (capability === undefined) throw new Error("missing");
  return capability;
};
const anAction = (action: string, target: string, parameters: Record<string, unknown> = {}) => ({
  on: "cloud" as const,
  capability: "loadBalancers",
  action,
  target,
  parameters,
  precondition: { uid: "a", deleting: false },
});
const MISSING = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const BODY = { name: "web", droplet_ids: ["1"] };

describe("the result of a changing request", () => {
  const rows: readonly { title: string; answer: FakeAnswer; kind: string; code?: string }[] = [
    { title: "400", answer: buildErrorAnswer(400, "bad_request"), kind: "error", code: "Invalid" },
    { title: "401", answer: buildErrorAnswer(401, "unauthorized"), kind: "error", code: "Denied" },
    { title: "403", answer: buildErrorAnswer(403, "forbidden"), kind: "error", code: "Denied" },
    { title: "404", answer: buildErrorAnswer(404, "not_found"), kind: "conflict" },
    { title: "409", answer: buildErrorAnswer(409, "conflict"), kind: "conflict" },
    { title: "422", answer: buildErrorAnswer(422, "unprocessable_entity"), kind: "error", code: "Invalid" },
    { title: "429", answer: buildErrorAnswer(429, "too_many_requests"), kind: "error", code: "Throttled" },
    { title: "500", answer: buildErrorAnswer(500, "server_error"), kind: "error", code: "Unavailable" },
    {
      title: "a proxy's page",
      answer: { status: 502, body: "<html>" },
      kind: "error",
      code: "Unavailable",
    },
    {
      title: "202 with another schema",
      answer: { status: 202, body: "{}" },
      kind: "error",
      code: "Unavailable",
    },
    { title: "no answer", answer: "destroy", kind: "error", code: "Unavailable" },
  ];
  test.for(rows)("$title: $kind", async ({ answer, kind, code }) => {
    world.fake.fault = () => answer;
    for (const action of [
      anAction("CreateLoadBalancer", "web", { body: BODY }),
      anAction("ReplaceLoadBalancer", MISSING, { body: BODY }),
    ]) {
      const acted = (await capabilityOf().act(action, buildCall())).answer;
      expect(acted).toMatchObject(code === undefined ? { kind } : { kind, code });
      expect(JSON.stringify(acted)).not.toContain(TOKEN);
    }
    const posts = world.fake.requests.filter(({ method }) => method === "POST");
    expect(posts).toHaveLength(1);
  });

  test("a missing resource counts as deleted", async () => {
    const { answer } = await capabilityOf().act(anAction("DeleteLoadBalancer", MISSING), buildCall());
    expect(answer).toEqual({ kind: "done", result: null });
  });

  test("a 404 of another server does not count as a deletion", async () => {
    world.fake.fault = () => ({ status: 404, body: "<html>" });
    const { answer } = await capabilityOf().act(anAction("DeleteLoadBalancer", MISSING), buildCall());
    expect(answer.kind).toBe("conflict");
  });

  const refused = [
    anAction("DeleteLoadBalancer", "../droplets/1"),
    anAction("ReplaceLoadBalancer", "", { body: BODY }),
    anAction("CreateLoadBalancer", "web"),
    anAction("CreateLoadBalancer", "web", { body: { name: "web", droplet_ids: ["1 ", "2"] } }),
    anAction("PurgeLoadBalancers", MISSING, { body: BODY }),
    anAction("DeleteTag", "k8s:c1"),
    anAction("DeleteTag", `k8s-orphaned:${MISSING}:1:2/../../droplets`),
    anAction("TagLoadBalancer", MISSING, { tag: "k8s:c1" }),
    anAction("TagLoadBalancer", MISSING, { tag: `k8s-orphaned:${MISSING}:1:2`, instead: "k8s:c1" }),
    anAction("TagLoadBalancer", "../droplets/1", { tag: `k8s-orphaned:${MISSING}:1:2` }),
    anAction("UntagLoadBalancer", MISSING, { tag: "k8s:c1" }),
    anAction("UntagLoadBalancer", MISSING, { tag: "k8s-service-name:default:../x" }),
  ];
  test.for(refused)("$action of $target sends nothing", async (action) => {
    const { answer } = await capabilityOf().act(action, buildCall());
    expect(answer).toMatchObject({ kind: "error", code: "Invalid" });
    expect(world.fake.requests).toEqual([]);
  });
});

describe("an observation", () => {
  const question = (annotations: Record<string, string> = {}) => ({
    service: buildService({ annotations }),
    wanted: true,
    nodes: [],
  });
  const paths = () => world.fake.requests.map(({ path }) => path.replace(/[0-9a-f-]{36}/, "{id}"));

  test("reads one or two known IDs, and lists more", async () => {
    const ids = Array.from({ length: 3 }, () => world.fake.addLoadBalancer().id);
    await capabilityOf().observe(
      ids.slice(1).map((id) => question({ [ID]: id })),
      buildCall(),
    );
    expect(paths()).toEqual(["/v2/load_balancers/{id}", "/v2/load_balancers/{id}"]);
    world.fake.requests.length = 0;
    await capabilityOf().observe(
      ids.map((id) => question({ [ID]: id })),
      buildCall(),
    );
    expect(paths()).toEqual(["/v2/load_balancers"]);
  });

  test("reads a list of many pages to its end", async () => {
    for (let index = 0; index < 401; index += 1) world.fake.addLoadBalancer();
    world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const { answers } = await capabilityOf().observe([question()], buildCall());
    expect(answers).toMatchObject([{ kind: "observed", state: { balancers: [{ name: DEFAULT_NAME }] } }]);
    expect(paths()).toHaveLength(3);
  });

  const A_PAGE = { load_balancers: [], links: {}, meta: { total: 0 } };
  const NEXT = { pages: { next: "https://api.digitalocean.com/v2/load_balancers?page=2" } };
  test.for<[string, object]>([
    ["lacks the list", { links: {}, meta: { total: 0 } }],
    ["lacks pagination", { load_balancers: [] }],
    ["is empty but names a next page", { ...A_PAGE, links: NEXT }],
    ["is empty but has a total above 0", { ...A_PAGE, meta: { total: 7 } }],
    ["has an invalid entry", { ...A_PAGE, load_balancers: [{ id: 7 }], meta: { total: 1 } }],
  ])("an answer that %s does not count as an empty account", async ([, body]) => {
    world.fake.fault = () => ({ status: 200, body: JSON.stringify(body) });
    const { answers } = await capabilityOf().observe([{ ...question(), wanted: false }], buildCall());
    expect(answers).toMatchObject([{ kind: "error", code: "Unavailable" }]);
    expect(world.fake.requests.length).toBeLessThanOrEqual(2);
  });

  test("a list that changes during the read is read again, and shows nothing twice", async () => {
    const first = world.fake.addLoadBalancer();
    for (let index = 0; index < 201; index += 1) world.fake.addLoadBalancer();
    const own = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    const onPage2 = (change: () => void) => {
      world.fake.before = ({ query }) => (query["page"] === "2" ? change() : undefined);
    };
    // Our own load balancer moves from the second page to the first, after that was read.
    onPage2(() => {
      world.fake.loadBalancers.delete(first.id);
      for (const other of [...world.fake.loadBalancers.values()].slice(0, 2))
        if (other !== own) world.fake.loadBalancers.delete(other.id);
    });
    const capability = capabilityOf();
    const moved = await capability.observe([question()], buildCall());
    expect(moved.answers).toMatchObject([{ kind: "error", code: "Unavailable" }]);
    // A foreign one is on both pages, because a new one is listed before it meanwhile.
    world.fake.loadBalancers.clear();
    world.fake.before = undefined;
    for (let index = 0; index < 200; index += 1) world.fake.addLoadBalancer();
    const twice = world.fake.addLoadBalancer({ name: DEFAULT_NAME });
    world.fake.fault = ({ query }) => {
      const all = [...world.fake.loadBalancers.values()].map((each) => ({
        ...each,
        region: { slug: each.region },
      }));
      const page = query["page"] === "1" ? [...all.slice(0, 199), all[200]] : [all[199], all[200]];
      const links = query["page"] === "1" ? NEXT : { pages: {} };
      const body = JSON.stringify({ load_balancers: page, links, meta: { total: 201 } });
      return { status: 200, body };
    };
    const { answers } = await capability.observe([question()], buildCall());
    expect(answers).toMatchObject([{ kind: "observed", state: { balancers: [{ id: twice.id }] } }]);
    expect(answers).toHaveProperty("0.state.balancers.length", 1);
  });

  test("of IDs that no list shows ten are read, and the others wait", async () => {
    const missing = Array.from(
      { length: 12 },
      (_, index) => `4de7ac8b-495b-4884-9a69-${String(index).padStart(12, "0")}`,
    );
    const { answers } = await capabilityOf().observe(
      missing.map((id) => question({ [ID]: id })),
      buildCall(),
    );
    expect(paths()).toHaveLength(11);
    expect(answers.filter(({ kind }) => kind === "error")).toHaveLength(2);
  });

  test("with little quota left load balancers wait longer than refreshed nodes, and less long than new ones", async () => {
    const capability = capabilityOf();
    const looked = async (left: number) => {
      world.fake.rateLimit = { "ratelimit-remaining": String(left) };
      await capability.observe([question()], buildCall());
      return (await capability.observe([question()], buildCall())).answers[0];
    };
    expect(await looked(499)).toMatchObject({ kind: "observed" });
    expect(await looked(249)).toMatchObject({ kind: "error", code: "Throttled" });
  });

  test("a list with an entry that is not a load balancer is invalid", async () => {
    world.fake.fault = () => ({
      status: 200,
      body: JSON.stringify({ load_balancers: [{ id: 7 }], links: {} }),
    });
    const { answers } = await capabilityOf().observe([question()], buildCall());
    expect(answers).toMatchObject([{ kind: "error", code: "Unavailable" }]);
  });

  test("the remains of a cluster are those with its tag", async () => {
    const ours = world.fake.addLoadBalancer({ name: "ours", tags: ["k8s:c1"] });
    world.fake.addLoadBalancer({ tags: ["k8s:c2"] });
    world.fake.addLoadBalancer({ tags: ["k8s:c1"], region: "nyc1" });
    const ask = { holdings: true };
    expect((await capabilityOf({ clusterID: "c1" }).observe([ask], buildCall())).answers).toEqual([
      { kind: "observed", state: { holdings: [{ kind: "load balancer", id: ours.id, name: "ours" }] } },
    ]);
    expect((await capabilityOf().observe([ask], buildCall())).answers).toMatchObject([
      { kind: "error", code: "Invalid" },
    ]);
  });

  test("the description names the parts and the owner", async () => {
    const [cloud, settings] = [world.cloud(), buildSettings()];
    const made = await converge(cloud, settings, buildService(), { nodes: buildNodes([world.fake.add()]) });
    const foreign = world.fake.addLoadBalancer({ tags: ["k8s:c2"] });
    const told = async (annotations: Record<string, string> | undefined) => {
      const { answers } = await capabilityOf().observe([question(annotations)], buildCall());
      const [answer] = answers;
      if (answer?.kind !== "observed") throw new Error(JSON.stringify(answer));
      return describeOnDigitalOcean(
        buildService(annotations === undefined ? {} : { annotations }),
        answer.state,
        settings,
      );
    };
    const own = await told(made.service.metadata.annotations);
    expect(own?.belongsTo).toBe("service");
    expect(own?.lines.join("\n")).toContain("at 198.51.100.1");
    expect(own?.lines.join("\n")).toContain("rule tcp:443 to tcp:443");
    expect(await told({ [ID]: foreign.id })).toMatchObject({ belongsTo: "other" });
    world.fake.loadBalancers.clear();
    expect(await told({})).toEqual({ belongsTo: "none", lines: [] });
  });
});

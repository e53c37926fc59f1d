import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { type CloudWorld, formatAnswer, testCloudConformance } from "#test/clouds/conformance.ts";
import { type CattleWorld, createCattleWorld, KEYS } from "#test/clouds/rancher/cattle-world.ts";
import {
  buildCattleError,
  type CattleAnswer,
  type FakeHost,
  IN_TROUBLE,
} from "#test/clouds/rancher/fake-cattle.ts";

testCloudConformance("cattle", conformingWorld, {
  cannotPlay: [
    { row: "regions", because: "an environment has no regions" },
    { row: "zones", because: "an environment has no zones" },
    { row: "hiding", because: "an environment shows its hosts immediately" },
    { row: "termination", because: "a host that was removed is not shown any more" },
    { row: "takeover", because: "a host known by its uuid is not searched by name" },
    { row: "belonging", because: "an environment's keys show its own hosts alone" },
  ],
});

async function conformingWorld(): Promise<CloudWorld> {
  const { fake, cloud: connect, close } = await createCattleWorld();
  const hosts = new Map<string, FakeHost>();
  return {
    cloud: connect(),
    unknownProviderID: "rancher://00000000-0000-4000-8000-000000000000",
    invalidProviderID: "rancher://web-1/2",
    async addInstance() {
      const host = fake.add();
      hosts.set(host.uuid, host);
      return { id: host.uuid, nodeName: host.hostname ?? "", providerID: `rancher://${host.uuid}` };
    },
    async stop({ id }) {
      const host = hosts.get(id);
      if (host !== undefined) host.state = "inactive";
    },
    async makeAmbiguous({ id, nodeName }) {
      return [id, fake.add({ hostname: nodeName }).uuid];
    },
    async breakApi(how) {
      fake.fault = how === undefined ? undefined : () => IN_TROUBLE[how];
    },
    requests: () => fake.requests.length,
    close,
  };
}

describe("of hosts", () => {
  let world: CattleWorld;
  beforeEach(async () => {
    world = await createCattleWorld();
  });
  afterEach(() => world.close());
  const ask = async (...nodes: NodeTraits[]) =>
    (await world.cloud().instances(nodes.map(buildNode), buildCall({ control: true }))).answers;

  test.each<[string, string, string, boolean]>([
    ["an equal name", "web-1", "web-1", true],
    ["an equal name in another case", "WEB-1.Example.com", "web-1.example.com", true],
    ["a name whose first label is the host's name", "web-1", "web-1.example.com", true],
    ["the first label of its name", "web-1.example.com", "web-1", true],
    ["a name of another domain", "web-1.example.com", "web-1.example.org", false],
    ["another name", "web-1", "web-2", false],
    ["no name", "", "web-1", false],
  ])("%s counts as it does: %j, %j", async (_, hostname, name, isIt) => {
    world.fake.add({ hostname });
    expect((await ask({ name })).map(({ kind }) => kind)).toEqual([isIt ? "found" : "not-found"]);
  });

  test("a host is described as upstream describes it", async () => {
    const { uuid } = world.fake.add({ hostname: "web-1", addresses: ["192.168.1.1", null, "", "FD00:0::1"] });
    expect(await ask({ name: "web-1" })).toEqual([
      {
        kind: "found",
        instance: {
          id: uuid,
          account: "rancher",
          network: "projects/1a5",
          state: "running",
          providerID: `rancher://${uuid}`,
          ...{ type: "rancher", zone: "", region: "", labels: {} },
          addresses: [
            { type: "ExternalIP", address: "192.168.1.1" },
            { type: "InternalIP", address: "192.168.1.1" },
            { type: "ExternalIP", address: "fd00::1" },
            { type: "InternalIP", address: "fd00::1" },
            { type: "Hostname", address: "web-1" },
          ],
        },
      },
    ]);
  });

  test.each(["inactive", "deactivating", "stopped"])("a host that is %s counts as stopped", async (state) => {
    world.fake.add({ hostname: "web-1", state });
    expect(await ask({ name: "web-1" })).toMatchObject([{ instance: { state: "stopped" } }]);
  });

  test.each<[string, (string | null)[]]>([
    ["no address", []],
    ["only empty ones", [null, ""]],
    ["an invalid one", ["192.168.1.1", "web-1"]],
  ])("a host with %s does not count as gone", async (_, addresses) => {
    world.fake.add({ hostname: "web-1", addresses });
    world.fake.add({ hostname: "web-2" });
    expect((await ask({ name: "web-1" }, { name: "web-2" })).map(({ kind }) => kind)).toEqual([
      "error",
      "found",
    ]);
  });

  test("a host is found on any page", async () => {
    world.fake.pageSize = 3;
    const hosts = Array.from({ length: 10 }, () => world.fake.add());
    const answers = await ask(...hosts.map(({ uuid }) => ({ providerID: `rancher://${uuid}` })));
    expect(answers.map(formatAnswer)).toEqual(hosts.map(({ uuid }) => uuid));
    expect(world.fake.requests.filter(({ path }) => path === "/hosts")).toHaveLength(4);
  });

  test("1,000 nodes in ten batches cost one list of each kind, and the requests for each host", async () => {
    const cloud = world.cloud();
    const nodes = Array.from({ length: 1_000 }, () =>
      buildNode({ providerID: `rancher://${world.fake.add().uuid}` }),
    );
    for (let from = 0; from < nodes.length; from += 100) {
      const { answers } = await cloud.instances(nodes.slice(from, from + 100), buildCall());
      expect(answers.filter(({ kind }) => kind !== "found")).toEqual([]);
    }
    const lists = world.fake.requests.filter(({ path }) => !path.endsWith("/ipaddresses"));
    expect(lists.map(({ path }) => path)).toEqual(["", "/schemas", ...Array(10).fill("/hosts")]);
    expect(world.fake.requests).toHaveLength(12 + 1_000);
  });

  const elsewhere = (answer: (linksAt: string) => CattleAnswer, at: string) => (given: CattleWorld) => {
    given.fake.fault = ({ path }) => (path === at ? answer(given.fake.linksAt) : undefined);
  };
  const collection = (traits: Record<string, unknown>): CattleAnswer => ({
    status: 200,
    body: { type: "collection", data: [], ...traits },
  });

  test.each<[string, (given: CattleWorld) => void, string, string]>([
    [
      "links to another host",
      ({ fake }) => {
        fake.linksAt = "http://evil.example.com/v2-beta";
      },
      "Denied",
      "http://evil.example.com",
    ],
    [
      "a next page on another host",
      elsewhere(() => collection({ pagination: { next: "http://evil.example.com/hosts" } }), "/hosts"),
      "Denied",
      "evil.example.com",
    ],
    [
      "addresses on another port",
      ({ fake }) => {
        const links = { ipAddresses: "http://127.0.0.1:1/ipaddresses" };
        const data = [...fake.hosts.values()].map((host) => ({ ...host, links }));
        fake.fault = ({ path }) => (path === "/hosts" ? collection({ data }) : undefined);
      },
      "Denied",
      "http://127.0.0.1:1",
    ],
    [
      "no header with the place of schemas",
      elsewhere(() => ({ status: 200, body: {} }), ""),
      "Unavailable",
      "X-API-Schemas",
    ],
    ["no schema of hosts", elsewhere(() => collection({}), "/schemas"), "Denied", "no collection of host"],
    [
      "a list of something else",
      elsewhere(() => ({ status: 200, body: { data: [] } }), "/hosts"),
      "Unavailable",
      "not a collection",
    ],
    [
      "a host without uuid",
      elsewhere(() => collection({ data: [{ id: "1h1", links: {} }] }), "/hosts"),
      "Unavailable",
      "lacks",
    ],
    [
      "pages without an end",
      elsewhere((base) => collection({ pagination: { next: `${base}/hosts?marker=1` } }), "/hosts"),
      "Unavailable",
      "repeats",
    ],
    [
      "a page of a console",
      elsewhere(() => ({ status: 200, body: "<html>" }), "/hosts"),
      "Unavailable",
      "not the API's JSON",
    ],
    ["rejected keys", elsewhere(() => buildCattleError(401, "Unauthorized"), "/hosts"), "Denied", "401"],
    ["a missing list", elsewhere(() => buildCattleError(404, "NotFound"), "/hosts"), "Unavailable", "404"],
  ])("%s is an error of all nodes, and no node counts as gone", async (_, breakIt, code, words) => {
    world.fake.add({ hostname: "web-1" });
    breakIt(world);
    const answers = await ask({ name: "web-1" });
    expect(answers.map(formatAnswer)).toEqual([code]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(words) }]);
    expect(JSON.stringify(answers)).not.toContain(KEYS.CATTLE_SECRET_KEY);
  });

  test("keys in a server's answer are not quoted", async () => {
    const encoded = Buffer.from(`${KEYS.CATTLE_ACCESS_KEY}:${KEYS.CATTLE_SECRET_KEY}`).toString("base64");
    world.fake.fault = () => buildCattleError(403, `${KEYS.CATTLE_SECRET_KEY} ${encoded}`);
    const said = JSON.stringify(await ask({ name: "web-1" }));
    expect(said).not.toContain(KEYS.CATTLE_SECRET_KEY);
    expect(said).not.toContain(encoded);
  });

  test("two hosts with one uuid match no node", async () => {
    const { uuid } = world.fake.add();
    world.fake.add({ uuid });
    expect((await ask({ providerID: `rancher://${uuid}` })).map(formatAnswer)).toEqual(["Ambiguous"]);
  });

  test("an environment without a host proves nothing", async () => {
    const [answer] = await ask({ name: "web-1" });
    expect(answer).toMatchObject({ kind: "not-found" });
    expect(answer).not.toHaveProperty("control");
  });
});

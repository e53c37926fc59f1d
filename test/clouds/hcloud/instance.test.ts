import { afterEach, beforeEach, expect, test } from "vitest";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { type FakeHcloudServer, NETWORK, NETWORK_NAME } from "#test/clouds/hcloud/fake-server.ts";
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

const ofServer = async (traits: Partial<FakeHcloudServer>, config: Record<string, unknown> = {}) => {
  const server = world.fake.add(traits);
  return (await world.cloud(config).instances([buildIdentifiedNode(server)], buildCall())).answers;
};
const NETS = {
  public_net: {
    ipv4: { ip: "203.0.113.9" },
    ipv6: { ip: "2001:0DB8:0:7::/64" },
  },
  private_net: [
    { network: "815", ip: "192.168.0.2" },
    { network: NETWORK, ip: "10.0.0.2" },
  ],
};
const HOST = { type: "Hostname", address: "pool-a-1" };
const V4 = { type: "ExternalIP", address: "203.0.113.9" };
const V6 = { type: "ExternalIP", address: "2001:db8:0:7::1" };
const OWN = { type: "InternalIP", address: "10.0.0.2" };

test("a server is described in the terms of all clouds", async () => {
  expect(await ofServer({ id: "52000007", name: "pool-a-1", ...NETS })).toEqual([
    {
      kind: "found",
      instance: {
        id: "52000007",
        account: "hcloud",
        network: `fsn1/${NETWORK}`,
        state: "running",
        providerID: "hcloud://52000007",
        type: "cpx31",
        zone: "fsn1-dc14",
        region: "fsn1",
        addresses: [HOST, V4, OWN],
        labels: { "instance.hetzner.cloud/provided-by": "cloud" },
      },
    },
  ]);
});

test.each<[string, Record<string, unknown>, Partial<FakeHcloudServer>, object[]]>([
  ["IPv4", {}, {}, [HOST, V4, OWN]],
  ["IPv6", { addressFamily: "ipv6" }, {}, [HOST, V6, OWN]],
  ["both", { addressFamily: "dualstack" }, {}, [HOST, V4, V6, OWN]],
  ["no network", { network: undefined }, {}, [HOST, V4]],
  ["a network by its name", { network: NETWORK_NAME }, {}, [HOST, V4, OWN]],
  ["a server without public IPv4", {}, { public_net: { ipv4: null, ipv6: null } }, [HOST, OWN]],
  [
    "a server without public IPv6",
    { addressFamily: "dualstack" },
    { public_net: { ipv4: { ip: "203.0.113.9" }, ipv6: null } },
    [HOST, V4, OWN],
  ],
])(
  "with %s a server has the addresses of the stock controller, in its order",
  async (_, config, traits, expected) => {
    expect(await ofServer({ name: "pool-a-1", ...NETS, ...traits }, config)).toMatchObject([
      { instance: { addresses: expected } },
    ]);
  },
);

test.each([
  ["running", "running"],
  ["initializing", "running"],
  ["starting", "running"],
  ["stopping", "running"],
  ["off", "stopped"],
  ["deleting", "shutting-down"],
  ["migrating", "running"],
  ["a word of tomorrow", "running"],
])("the status %s is %s", async (status, state) => {
  expect(await ofServer({ status })).toMatchObject([{ instance: { state } }]);
});

test.each([
  ["fsn1", true, "fsn1-dc14"],
  ["nbg1", true, "nbg1-dc3"],
  ["hel1", true, "hel1-dc2"],
  ["ash", true, "ash-dc1"],
  ["hil", true, "hil-dc1"],
  ["sin", true, "sin-dc1"],
  ["one1", true, "one1"],
  ["fsn1", false, ""],
])("a server in %s, with zone labels %s, is in the zone %j", async (name, zoneLabel, zone) => {
  expect(await ofServer({ location: { name } }, { zoneLabel })).toMatchObject([
    { instance: { region: name, zone } },
  ]);
});

test("IDs of 64 bits keep their digits, in lists and single reads", async () => {
  const ids = ["9007199254740993", "9223372036854775807", "9223372036854775806"];
  const servers = ids.map((id) => world.fake.add({ id }));
  for (const some of [servers, servers.slice(0, 1)]) {
    const { answers } = await world.cloud().instances(some.map(buildIdentifiedNode), buildCall());
    expect(answers.map(formatAnswer)).toEqual(some.map(({ id }) => id));
  }
  expect(countRequests(world.fake)).toEqual({ list: 1, read: 1 });
});

test.each([
  ["hcloud://bm-123", "ForeignProviderID", "dedicated server"],
  ["hrobot://123", "ForeignProviderID", "dedicated server"],
  ["hcloud://bm-", "ForeignProviderID", "dedicated server"],
  ["digitalocean://123", "ForeignProviderID", "its scheme is not hcloud"],
  ["hcloud://", "InvalidProviderID", "whole number"],
  ["hcloud://007", "InvalidProviderID", "whole number"],
  ["hcloud://1/../../networks", "InvalidProviderID", "whole number"],
  ["hcloud://99999999999999999999", "InvalidProviderID", "whole number"],
])("the provider ID %s is %s, and costs no request", async (providerID, code, message) => {
  const { answers } = await world
    .cloud({ network: NETWORK_NAME })
    .instances([buildNode({ providerID })], buildCall());
  expect(answers).toMatchObject([{ code, message: expect.stringContaining(message) }]);
  expect(world.fake.requests).toEqual([]);
});

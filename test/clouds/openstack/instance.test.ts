import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import { getDesiredAddresses } from "#core/node/addresses.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildAddress,
  buildPort,
  type FakeOpenStackServer,
  formatUuid,
  NETWORK,
  PROJECT,
  TAG,
} from "#test/clouds/openstack/fake-server.ts";
import { buildIdentifiedNode, createNodeWorld, type OpenStackWorld } from "#test/clouds/openstack/world.ts";

let world: OpenStackWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const ofServer = async (traits: Partial<FakeOpenStackServer>, config: Record<string, unknown> = {}) =>
  (await world.cloud(config).instances([buildIdentifiedNode(world.fake.add(traits))], buildCall())).answers;
const ID = formatUuid(7);

test("a server is described in the terms of all clouds", async () => {
  expect(await ofServer({ id: ID, name: "pool-a-1" }, { "network-id": NETWORK })).toEqual([
    {
      kind: "found",
      instance: {
        id: ID,
        account: PROJECT,
        network: `RegionOne/${NETWORK}`,
        state: "running",
        providerID: `openstack:///${ID}`,
        type: "m1.large",
        zone: "az1",
        region: "RegionOne",
        addresses: [
          { type: "InternalIP", address: "10.20.0.1" },
          { type: "ExternalIP", address: "203.0.0.1" },
        ],
        labels: {},
      },
    },
  ]);
});

describe("the addresses", () => {
  /**
   * Two ports, the first of them down; fixed addresses in two networks, one of them IPv6 as well, and a
   * floating one.
   */
  const RICH: Partial<FakeOpenStackServer> = {
    name: "n",
    ports: [
      buildPort("b", "10.1.0.2"),
      buildPort("a", "10.2.0.2", { status: "DOWN" }),
      buildPort("c", "10.3.0.2", { device_owner: "network:dhcp" }),
    ],
    accessIPv4: "198.51.100.7",
    accessIPv6: "2001:DB8:0::7",
    addresses: {
      two: [buildAddress("10.2.0.2")],
      one: [buildAddress("10.1.0.2"), buildAddress("fd00::2"), buildAddress("203.0.113.7", "floating")],
    },
  };
  const [E, I] = ["ExternalIP", "InternalIP"];

  test.each<[string, Record<string, unknown>, Partial<FakeOpenStackServer>, string[]]>([
    [
      "are those of active ports, of access, and of networks by their names",
      {},
      {},
      [
        `${I} 10.1.0.2`,
        `${E} 198.51.100.7`,
        `${E} 2001:db8::7`,
        `${I} fd00::2`,
        `${E} 203.0.113.7`,
        `${I} 10.2.0.2`,
      ],
    ],
    [
      "without IPv6",
      { "ipv6-support-disabled": true },
      {},
      [`${I} 10.1.0.2`, `${E} 198.51.100.7`, `${E} 203.0.113.7`, `${I} 10.2.0.2`],
    ],
    [
      "of internal networks only",
      { "internal-network-name": "two" },
      {},
      [`${E} 198.51.100.7`, `${E} 2001:db8::7`, `${E} 203.0.113.7`, `${I} 10.2.0.2`],
    ],
    [
      "with a public network",
      { "public-network-name": ["one", "three"] },
      {},
      [
        `${E} 198.51.100.7`,
        `${E} 2001:db8::7`,
        `${E} 10.1.0.2`,
        `${E} fd00::2`,
        `${E} 203.0.113.7`,
        `${I} 10.2.0.2`,
      ],
    ],
    [
      "leave out an excluded network, even if an access address is in it",
      { "internal-network-name": "two" },
      { accessIPv4: "10.1.0.2" },
      [`${E} 2001:db8::7`, `${E} 203.0.113.7`, `${I} 10.2.0.2`],
    ],
    [
      "have the configured order",
      { "address-sort-order": "203.0.113.7, 10.2.0.0/16,fd00::/8" },
      {},
      [
        `${E} 203.0.113.7`,
        `${I} 10.2.0.2`,
        `${I} fd00::2`,
        `${I} 10.1.0.2`,
        `${E} 198.51.100.7`,
        `${E} 2001:db8::7`,
      ],
    ],
    [
      "of a server that is shut off, with ports down, are those of Nova",
      {},
      {
        status: "SHUTOFF",
        ports: [buildPort("a", "10.1.0.2", { status: "DOWN" })],
        accessIPv4: "",
        accessIPv6: "",
      },
      [`${I} 10.1.0.2`, `${I} fd00::2`, `${E} 203.0.113.7`, `${I} 10.2.0.2`],
    ],
  ])("%s", async (_, config, traits, expected) => {
    const [answer] = await ofServer({ ...RICH, ...traits }, config);
    if (answer?.kind !== "found") throw new Error(JSON.stringify(answer));
    const told = answer.instance.addresses.map(({ type, address }) => `${type} ${address}`);
    expect(told).toEqual(expected);
  });

  test("contain the host name of the metadata if it has one", async () => {
    expect(await ofServer({ metadata: { cluster: "blue", hostname: "n.example.com" } })).toMatchObject([
      { instance: { addresses: expect.arrayContaining([{ type: "Hostname", address: "n.example.com" }]) } },
    ]);
  });

  test("keep the node's own Hostname if the metadata has none", async () => {
    const [answer] = await ofServer({ name: "Display Name" });
    if (answer?.kind !== "found") throw new Error(JSON.stringify(answer));
    const hostname = { type: "Hostname", address: "worker-1" };
    const node = buildNode({ addresses: [{ type: "InternalIP", address: "10.9.9.9" }, hostname] });
    expect(getDesiredAddresses(node, answer.instance)).toMatchObject({
      addresses: [{ type: "InternalIP" }, { type: "ExternalIP" }, hostname],
    });
  });

  test("are the same in the same order from lists and from single reads", async () => {
    const servers = [1, 2, 3].map((nth) => {
      const ports = ["d", "a", "c", "b"].map((id, index) =>
        buildPort(`${id}-${nth}`, `10.${nth}.0.${index + 1}`),
      );
      return world.fake.add({ ports, addresses: {} });
    });
    const listed = await world.cloud().instances(servers.map(buildIdentifiedNode), buildCall());
    const read = await world.cloud().instances(servers.slice(0, 1).map(buildIdentifiedNode), buildCall());
    expect(listed.answers[0]).toEqual(read.answers[0]);
    const [answer] = read.answers;
    const told = answer?.kind === "found" ? answer.instance.addresses.map(({ address }) => address) : [];
    expect(told.slice(0, 4)).toEqual(["10.1.0.2", "10.1.0.4", "10.1.0.3", "10.1.0.1"]);
  });
});

test.each([
  ["ACTIVE", "running"],
  ["BUILD", "running"],
  ["REBOOT", "running"],
  ["PAUSED", "running"],
  ["SHUTOFF", "stopped"],
  ["DELETED", "terminated"],
  ["SOFT_DELETED", "terminated"],
  ["A_WORD_OF_TOMORROW", "running"],
])("the status %s is %s", async (status, state) => {
  expect(await ofServer({ status })).toMatchObject([{ instance: { state } }]);
});

test.each<[string, unknown, string]>([
  ["original_name", { original_name: "m1.large", id: "7" }, "m1.large"],
  ["the ID, if the name is not a label", { original_name: "m1 large!", id: "7" }, "7"],
  ["the name that old Nova versions return", { id: "7", name: "m1.small" }, "m1.small"],
  [
    "without an ID, the name with - in place of invalid characters",
    { original_name: "SCS-2V:4:10" },
    "SCS-2V-4-10",
  ],
  ["as much of a long name as a label holds", { original_name: "a".repeat(70) }, "a".repeat(63)],
  ["empty if no part of the name fits a label", { original_name: "标准" }, ""],
])("the type is %s", async (_, flavor, type) => {
  expect(await ofServer({ flavor })).toMatchObject([{ instance: { type } }]);
});

test.each<[string | null, string]>([
  ["az1", "az1"],
  ["Zone 1 (old)", "Zone-1-old"],
  [`a${"-".repeat(70)}b`, "a"],
  [null, ""],
])("the availability zone %j is the zone %j", async (zone, expected) => {
  expect(await ofServer({ zone })).toMatchObject([{ instance: { zone: expected } }]);
});

describe("a provider ID", () => {
  const at = (path: string) => `openstack://${path}`;
  test.each<[string, string, Record<string, unknown>]>([
    [at(`/${ID}`), at(`/${ID}`), {}],
    [at(`RegionOne/${ID}`), at(`/${ID}`), {}],
    [ID, at(`/${ID}`), {}],
    [at(`/${ID}`), at(`RegionOne/${ID}`), { regional: true }],
    [at(`RegionOne/${ID}`), at(`RegionOne/${ID}`), { regional: true }],
  ])("%s names the server with the ID %s", async (providerID, own, config) => {
    world.fake.add({ id: ID });
    const { answers } = await world.cloud(config).instances([buildNode({ providerID })], buildCall());
    expect(answers).toMatchObject([{ instance: { id: ID, providerID: own } }]);
  });

  test.each([
    [at(`RegionTwo/${ID}`), "Foreign", "expected region RegionOne, found RegionTwo"],
    [at("/"), "InvalidProviderID", "a UUID in lower case"],
    [at(`/${ID.toUpperCase()}`), "InvalidProviderID", "a UUID in lower case"],
    [at(`/${ID}/more`), "InvalidProviderID", "a UUID in lower case"],
    [at(`/${ID}?x=y`), "InvalidProviderID", "a UUID in lower case"],
    [at(ID), "InvalidProviderID", "a UUID in lower case"],
    [`hcloud://1`, "ForeignProviderID", "its scheme is not openstack"],
  ])("%s is %s, and costs no request", async (providerID, code, message) => {
    const { answers } = await world
      .cloud()
      .instances([buildNode({ providerID })], buildCall({ control: true }));
    expect(answers).toMatchObject([{ code, message: expect.stringContaining(message) }]);
    expect(world.fake.requests).toEqual([]);
  });
});

describe("a server belongs to the cluster", () => {
  const BY_NETWORK = { "network-id": NETWORK, "server-tag": undefined, "server-metadata": undefined };
  const OTHER = "11111111-2222-4333-8444-555555555555";

  test.each<[string, Record<string, unknown>, Partial<FakeOpenStackServer>, string]>([
    ["by its network", BY_NETWORK, { tags: [], metadata: {} }, "found"],
    [
      "by its network, if it is shut off",
      BY_NETWORK,
      { ports: [buildPort("a", "10.0.0.1", { status: "DOWN" })] },
      "found",
    ],
    ["by its tag", { "server-metadata": undefined }, { metadata: {} }, "found"],
    ["by its metadata", { "server-tag": undefined }, { tags: ["other"] }, "found"],
    [
      "not of another network",
      BY_NETWORK,
      { ports: [buildPort("a", "10.0.0.1", { network_id: OTHER })] },
      `expected network ${NETWORK}, found ${OTHER}`,
    ],
    ["not without a port", BY_NETWORK, { ports: [] }, `expected network ${NETWORK}, found none`],
    [
      "not by a load balancer's port",
      BY_NETWORK,
      { ports: [buildPort("a", "10.0.0.1", { device_owner: "Octavia" })] },
      `expected network ${NETWORK}, found none`,
    ],
    ["not of another tag", {}, { tags: ["other"] }, `expected tag ${TAG}, found other`],
    [
      "not by half of the metadata",
      { "server-metadata": { cluster: "blue", role: "node" } },
      {},
      "role=node, found none",
    ],
    [
      "not by a member of Object.prototype",
      { "server-metadata": { toString: "x" } },
      {},
      "toString=x, found none",
    ],
    ["not if it was terminated without an owner", BY_NETWORK, { status: "DELETED", ports: [] }, `found none`],
  ])("%s", async (_, config, traits, expected) => {
    const [answer] = await ofServer(traits, config);
    if (expected === "found") expect(answer).toMatchObject({ kind: "found" });
    else expect(answer).toMatchObject({ code: "Foreign", message: expect.stringContaining(expected) });
  });

  test("not if it is in another project, which only administrators see", async () => {
    world.fake.add({ id: ID, tenant_id: "theirs" });
    const { answers } = await world.cloud().instances([buildNode({ providerID: at(ID) })], buildCall());
    expect(answers).toMatchObject([
      { code: "Foreign", message: expect.stringContaining(`expected project ${PROJECT}, found theirs`) },
    ]);
  });

  test("that was terminated, and lost its ports, if the node says that it was", async () => {
    const server = world.fake.add({ id: ID, status: "DELETED", ports: [] });
    const ask = async (network: string) => {
      const annotations = { [INSTANCE_ANNOTATION]: `${PROJECT}/RegionOne/${network}/${ID}` };
      const node = buildNode({ name: server.name, providerID: at(ID), annotations });
      return (await world.cloud(BY_NETWORK).instances([node], buildCall())).answers;
    };
    expect(await ask(NETWORK)).toMatchObject([{ instance: { id: ID, state: "terminated" } }]);
    expect((await ask(OTHER)).map(formatAnswer)).toEqual(["Foreign"]);
    server.ports.push(buildPort("a", "10.0.0.1", { network_id: OTHER }));
    expect((await ask(NETWORK)).map(formatAnswer)).toEqual(["Foreign"]);
  });

  test("or has unknown ownership if Nova does not show its tags", async () => {
    expect(await ofServer({ tags: undefined })).toMatchObject([
      { code: "Denied", message: expect.stringContaining("microversion 2.26") },
    ]);
  });

  function at(id: string): string {
    return `openstack:///${id}`;
  }
});

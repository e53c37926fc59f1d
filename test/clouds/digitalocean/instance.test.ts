import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { VPC } from "#emulators/digitalocean/names.ts";
import { aCall, aNode, type NodeTraits } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";
import { asked, aWorld, type DigitalOceanWorld, identified } from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await aWorld();
});
afterEach(() => world.close());

const OTHER_VPC = "11111111-2222-3333-4444-555555555555";
const privately = (address: string) => ({ v4: [{ ip_address: address, type: "private" }], v6: [] });
const publicly = (address: string) => ({
  v4: [
    { ip_address: "10.9.9.9", type: "private" },
    { ip_address: address, type: "public" },
  ],
  v6: [],
});

test("a droplet is told in the words of all clouds, its addresses in the stock controller's order", async () => {
  const droplet = world.fake.add({
    id: "3164444",
    name: "pool-a-1",
    networks: {
      v4: [
        { ip_address: "203.0.113.9", type: "public" },
        { ip_address: "10.114.0.2", type: "private" },
        { ip_address: "10.114.0.3", type: "private" },
      ],
      v6: [
        { ip_address: "fe80::1", type: "private" },
        { ip_address: "2604:A880:0800:0010:0000:0000:0000:0001", type: "public" },
      ],
    },
  });
  const { answers } = await world.cloud().instances([identified(droplet)], aCall());
  expect(answers).toEqual([
    {
      kind: "found",
      instance: {
        id: "3164444",
        account: "digitalocean",
        network: `fra1/${VPC}`,
        state: "running",
        providerID: "digitalocean://3164444",
        type: "s-4vcpu-8gb",
        zone: "",
        region: "fra1",
        addresses: [
          { type: "Hostname", address: "pool-a-1" },
          { type: "InternalIP", address: "10.114.0.2" },
          { type: "ExternalIP", address: "203.0.113.9" },
          { type: "ExternalIP", address: "2604:a880:800:10::1" },
        ],
        labels: {},
      },
    },
  ]);
});

test.each([
  ["new", "running"],
  ["active", "running"],
  ["off", "stopped"],
  ["archive", "running"],
  ["a word of tomorrow", "running"],
])("the status %s is %s", async (status, state) => {
  const droplet = world.fake.add({ status });
  const { answers } = await world.cloud().instances([identified(droplet)], aCall());
  expect(answers).toMatchObject([{ instance: { state } }]);
});

test("ids of 64 bits keep their digits, in lists and read singly", async () => {
  const ids = ["9007199254740993", "9223372036854775807", "9223372036854775806"];
  const nodes = ids.map((id) => identified(world.fake.add({ id })));
  const listed = await world.cloud().instances(nodes, aCall());
  expect(listed.answers.map(summary)).toEqual(ids);
  const read = await world.cloud().instances(nodes.slice(0, 1), aCall());
  expect(read.answers.map(summary)).toEqual(ids.slice(0, 1));
});

test.each([
  "digitalocean://",
  "digitalocean://0",
  "digitalocean://-1",
  "digitalocean://+1",
  "digitalocean://007",
  "digitalocean://1.5",
  "digitalocean://1e3",
  "digitalocean:// 1",
  "digitalocean:///1",
  "digitalocean://1/../../account",
  "digitalocean://1?x=y",
  "digitalocean://123456789012345678901",
])("the provider ID %s can name no droplet, and costs no request", async (providerID) => {
  const { answers } = await world.cloud().instances([aNode({ providerID })], aCall());
  expect(answers.map(summary)).toEqual(["InvalidProviderID"]);
  expect(answers).toMatchObject([{ message: expect.stringContaining(`"${providerID}"`) }]);
  expect(world.fake.requests).toEqual([]);
});

test.each(["DigitalOcean://1", "digitalocean:1", "1", "aws:///eu-central-1a/i-0123456789abcdef0"])(
  "the provider ID %s is of another cloud, and costs no request",
  async (providerID) => {
    const { answers } = await world.cloud().instances([aNode({ providerID })], aCall());
    expect(answers.map(summary)).toEqual(["ForeignProviderID"]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(`"${providerID}"`) }]);
    expect(world.fake.requests).toEqual([]);
  },
);

describe("a node without provider ID", () => {
  test.each<[string, Partial<FakeDroplet>[], NodeTraits, string]>([
    [
      "is the droplet of its name",
      [
        { id: "1", name: "a" },
        { id: "2", name: "b" },
      ],
      { name: "b" },
      "2",
    ],
    ["is not one of another case", [{ id: "1", name: "Node-A" }], { name: "node-a" }, "not-found"],
    [
      "is the droplet of that private address",
      [{ id: "1", networks: privately("10.0.0.7") }],
      { name: "10.0.0.7" },
      "1",
    ],
    [
      "is the droplet of that public address",
      [{ id: "1", networks: publicly("203.0.113.7") }],
      { name: "203.0.113.7" },
      "1",
    ],
    [
      "is the droplet named so before the one with that address",
      [
        { id: "1", networks: privately("10.0.0.7") },
        { id: "2", name: "10.0.0.7" },
      ],
      { name: "10.0.0.7" },
      "2",
    ],
    [
      "is ambiguous between two of its name",
      [
        { id: "1", name: "a" },
        { id: "2", name: "a" },
      ],
      { name: "a" },
      "Ambiguous",
    ],
    [
      "is ambiguous between two of that address",
      [
        { id: "1", networks: privately("10.0.0.7") },
        { id: "2", networks: publicly("10.0.0.7") },
      ],
      { name: "10.0.0.7" },
      "Ambiguous",
    ],
    [
      "is the cluster's of two of its name",
      [
        { id: "1", name: "a", vpc_uuid: OTHER_VPC },
        { id: "2", name: "a" },
      ],
      { name: "a" },
      "2",
    ],
    [
      "is foreign where the one of its name is",
      [{ id: "1", name: "a", vpc_uuid: OTHER_VPC }],
      { name: "a" },
      "Foreign",
    ],
    [
      "has nothing to do with that address in another VPC",
      [{ id: "1", networks: privately("10.0.0.7"), vpc_uuid: OTHER_VPC }],
      { name: "10.0.0.7" },
      "not-found",
    ],
    ["is a GPU droplet of its name", [{ id: "1", name: "a", gpu: true }], { name: "a" }, "1"],
    ["is not found where there is none", [{ id: "1" }], { name: "nobody" }, "not-found"],
  ])("%s", async (_, droplets, node, expected) => {
    for (const droplet of droplets) world.fake.add(droplet);
    const { answers } = await world.cloud().instances([aNode(node)], aCall());
    expect(answers.map(summary)).toEqual([expected]);
  });

  test("is no droplet by its address that another node of the batch is by its name", async () => {
    world.fake.add({ id: "1", name: "a", networks: privately("10.0.0.7") });
    const nodes = [aNode({ name: "10.0.0.7" }), aNode({ name: "a" })];
    const { answers } = await world.cloud().instances(nodes, aCall());
    expect(answers.map(summary)).toEqual(["Ambiguous", "1"]);
    expect(answers[0]).toMatchObject({ message: expect.stringContaining("claimed by 10.0.0.7 and a") });
  });
});

test("an address with a zone is none, and is a matter of its own node", async () => {
  const v4 = [{ ip_address: "10.0.0.7", type: "private" }];
  const v6 = [{ ip_address: "fe80::1%eth0", type: "public" }];
  const [odd, good] = [world.fake.add({ networks: { v4, v6 } }), world.fake.add()];
  const { answers } = await world.cloud().instances([odd, good].map(identified), aCall());
  expect(answers.map(summary)).toEqual(["Unavailable", good.id]);
  expect(answers).toMatchObject([{ message: expect.stringContaining("fe80::1%eth0") }, {}]);
});

test("a GPU droplet by its id is read singly, or listed where there are more, and its tag is looked at", async () => {
  const [one, two, three] = [
    world.fake.add({ gpu: true }),
    world.fake.add({ gpu: true }),
    world.fake.add({ gpu: true, tags: [] }),
  ] as const;
  const single = await world.cloud().instances([identified(one)], aCall());
  expect(single.answers.map(summary)).toEqual([one.id]);
  expect(asked(world.fake)).toEqual({ read: 1 });
  const all = await world.cloud().instances([one, two, three].map(identified), aCall());
  expect(all.answers.map(summary)).toEqual([one.id, two.id, "Foreign"]);
  // The one that is not the cluster's is looked for as one that is not there would be.
  expect(asked(world.fake)).toEqual({ read: 2, list: 1, gpus: 1 });
});

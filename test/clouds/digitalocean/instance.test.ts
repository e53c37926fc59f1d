import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { VPC } from "#emulators/digitalocean/names.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import {
  buildIdentifiedNode,
  countRequests,
  createNodeWorld,
  type DigitalOceanWorld,
} from "#test/clouds/digitalocean/world.ts";

let world: DigitalOceanWorld;
beforeEach(async () => {
  world = await createNodeWorld();
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

test("a droplet is described in the terms of all clouds, its addresses in the stock controller's order", async () => {
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
  const { answers } = await world.cloud().instances([buildIdentifiedNode(droplet)], buildCall());
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
  const { answers } = await world.cloud().instances([buildIdentifiedNode(droplet)], buildCall());
  expect(answers).toMatchObject([{ instance: { state } }]);
});

test("IDs of 64 bits keep their digits, in lists and single reads", async () => {
  const ids = ["9007199254740993", "9223372036854775807", "9223372036854775806"];
  const nodes = ids.map((id) => buildIdentifiedNode(world.fake.add({ id })));
  const listed = await world.cloud().instances(nodes, buildCall());
  expect(listed.answers.map(formatAnswer)).toEqual(ids);
  const read = await world.cloud().instances(nodes.slice(0, 1), buildCall());
  expect(read.answers.map(formatAnswer)).toEqual(ids.slice(0, 1));
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
])("the provider ID %s cannot name a droplet, and costs no request", async (providerID) => {
  const { answers } = await world.cloud().instances([buildNode({ providerID })], buildCall());
  expect(answers.map(formatAnswer)).toEqual(["InvalidProviderID"]);
  expect(answers).toMatchObject([{ message: expect.stringContaining(`"${providerID}"`) }]);
  expect(world.fake.requests).toEqual([]);
});

test.each(["DigitalOcean://1", "digitalocean:1", "1", "aws:///eu-central-1a/i-0123456789abcdef0"])(
  "the provider ID %s belongs to another cloud, and costs no request",
  async (providerID) => {
    const { answers } = await world.cloud().instances([buildNode({ providerID })], buildCall());
    expect(answers.map(formatAnswer)).toEqual(["ForeignProviderID"]);
    expect(answers).toMatchObject([{ message: expect.stringContaining(`"${providerID}"`) }]);
    expect(world.fake.requests).toEqual([]);
  },
);

describe("a node without provider ID", () => {
  test.each<[string, Partial<FakeDroplet>[], NodeTraits, string]>([
    [
      "is the droplet with its name",
      [
        { id: "1", name: "a" },
        { id: "2", name: "b" },
      ],
      { name: "b" },
      "2",
    ],
    [
      "is not a droplet whose name differs in case",
      [{ id: "1", name: "Node-A" }],
      { name: "node-a" },
      "not-found",
    ],
    [
      "is the droplet with its name as private address",
      [{ id: "1", networks: privately("10.0.0.7") }],
      { name: "10.0.0.7" },
      "1",
    ],
    [
      "is the droplet with its name as public address",
      [{ id: "1", networks: publicly("203.0.113.7") }],
      { name: "203.0.113.7" },
      "1",
    ],
    [
      "is the droplet with its name rather than one with that address",
      [
        { id: "1", networks: privately("10.0.0.7") },
        { id: "2", name: "10.0.0.7" },
      ],
      { name: "10.0.0.7" },
      "2",
    ],
    [
      "is ambiguous if two droplets have its name",
      [
        { id: "1", name: "a" },
        { id: "2", name: "a" },
      ],
      { name: "a" },
      "Ambiguous",
    ],
    [
      "is ambiguous if two droplets have that address",
      [
        { id: "1", networks: privately("10.0.0.7") },
        { id: "2", networks: publicly("10.0.0.7") },
      ],
      { name: "10.0.0.7" },
      "Ambiguous",
    ],
    [
      "is the cluster's droplet if two have its name",
      [
        { id: "1", name: "a", vpc_uuid: OTHER_VPC },
        { id: "2", name: "a" },
      ],
      { name: "a" },
      "2",
    ],
    [
      "is Foreign if only a foreign droplet has its name",
      [{ id: "1", name: "a", vpc_uuid: OTHER_VPC }],
      { name: "a" },
      "Foreign",
    ],
    [
      "is not a droplet with that address in another VPC",
      [{ id: "1", networks: privately("10.0.0.7"), vpc_uuid: OTHER_VPC }],
      { name: "10.0.0.7" },
      "not-found",
    ],
    ["may be a GPU droplet with its name", [{ id: "1", name: "a", gpu: true }], { name: "a" }, "1"],
    ["is not found if no droplet has its name", [{ id: "1" }], { name: "unknown" }, "not-found"],
  ])("%s", async (_, droplets, node, expected) => {
    for (const droplet of droplets) world.fake.add(droplet);
    const { answers } = await world.cloud().instances([buildNode(node)], buildCall());
    expect(answers.map(formatAnswer)).toEqual([expected]);
  });

  test("does not get the droplet by address if another node of the batch has it by name", async () => {
    world.fake.add({ id: "1", name: "a", networks: privately("10.0.0.7") });
    const nodes = [buildNode({ name: "10.0.0.7" }), buildNode({ name: "a" })];
    const { answers } = await world.cloud().instances(nodes, buildCall());
    expect(answers.map(formatAnswer)).toEqual(["Ambiguous", "1"]);
    expect(answers[0]).toMatchObject({ message: expect.stringContaining("claimed by 10.0.0.7 and a") });
  });
});

test("an address with a zone is not an address, and affects only its own node", async () => {
  const v4 = [{ ip_address: "10.0.0.7", type: "private" }];
  const v6 = [{ ip_address: "fe80::1%eth0", type: "public" }];
  const [odd, good] = [world.fake.add({ networks: { v4, v6 } }), world.fake.add()];
  const { answers } = await world.cloud().instances([odd, good].map(buildIdentifiedNode), buildCall());
  expect(answers.map(formatAnswer)).toEqual(["Unavailable", good.id]);
  expect(answers).toMatchObject([{ message: expect.stringContaining("fe80::1%eth0") }, {}]);
});

test("a GPU droplet by its ID is read singly, or listed with several others, and its tag is checked", async () => {
  const [one, two, three] = [
    world.fake.add({ gpu: true }),
    world.fake.add({ gpu: true }),
    world.fake.add({ gpu: true, tags: [] }),
  ] as const;
  const single = await world.cloud().instances([buildIdentifiedNode(one)], buildCall());
  expect(single.answers.map(formatAnswer)).toEqual([one.id]);
  expect(countRequests(world.fake)).toEqual({ read: 1 });
  const all = await world.cloud().instances([one, two, three].map(buildIdentifiedNode), buildCall());
  expect(all.answers.map(formatAnswer)).toEqual([one.id, two.id, "Foreign"]);
  // A droplet outside the cluster takes the same requests as a missing one.
  expect(countRequests(world.fake)).toEqual({ read: 2, list: 1, gpus: 1 });
});

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { COMPARTMENT, TENANCY, VCN } from "#test/clouds/oci/fake/credentials.ts";
import type { FakeInstance, FakeMachine } from "#test/clouds/oci/fake/instances.ts";
import type { FakeRequest } from "#test/clouds/oci/fake/reply.ts";
import {
  buildIdentifiedNode,
  countRequests,
  createNodeWorld,
  type OciWorld,
} from "#test/clouds/oci/world.ts";

let world: OciWorld;
beforeEach(async () => {
  world = await createNodeWorld();
});
afterEach(() => world.close());

const IPV6 = { labels: { "oci.oraclecloud.com/ip-family-ipv6": "" } };
const SECOND = "ocid1.compartment.oc1..c2";
const ask = async (nodes: readonly Node[], config = {}): Promise<readonly InstanceAnswer[]> =>
  (await world.cloud(config).instances(nodes, buildCall())).answers;
const add = (traits: FakeMachine = {}): FakeInstance => world.fake.compute.add(traits);

test("an instance is described in the terms of all clouds", async () => {
  const instance = add({
    id: "ocid1.instance.oc1.phx.a",
    displayName: "node-1",
    vnic: { privateIp: "10.0.0.5", publicIp: "203.0.113.5" },
  });
  expect(await ask([buildIdentifiedNode(instance)])).toEqual([
    {
      kind: "found",
      instance: {
        id: "ocid1.instance.oc1.phx.a",
        account: TENANCY,
        network: VCN,
        state: "running",
        providerID: "oci://ocid1.instance.oc1.phx.a",
        type: "VM.Standard.E5.Flex",
        zone: "PHX-AD-1",
        region: "phx",
        addresses: [
          { type: "InternalIP", address: "10.0.0.5" },
          { type: "ExternalIP", address: "203.0.113.5" },
        ],
        labels: { "oci.oraclecloud.com/fault-domain": "FAULT-DOMAIN-2" },
        annotations: { "oci.oraclecloud.com/compartment-id": COMPARTMENT },
      },
    },
  ]);
});

test.each([
  ["MOVING", "running"],
  ["PROVISIONING", "running"],
  ["RUNNING", "running"],
  ["STARTING", "running"],
  ["CREATING_IMAGE", "running"],
  ["A_WORD_OF_TOMORROW", "running"],
  ["STOPPING", "stopped"],
  ["STOPPED", "stopped"],
  ["TERMINATING", "terminated"],
  ["TERMINATED", "terminated"],
])("the lifecycle state %s is %s", async (lifecycleState, state) => {
  expect(await ask([buildIdentifiedNode(add({ lifecycleState }))])).toMatchObject([{ instance: { state } }]);
});

describe("the facts of an instance", () => {
  const v4 = [{ type: "InternalIP", address: "10.0.0.5" }];
  const ipv6Addresses = ["2603:C020:0000::0005", "fd00::1"];

  test.each<[string, FakeMachine, Record<string, unknown>, object, Record<string, unknown>]>([
    ["an availability domain without a prefix", { availabilityDomain: "AD-1" }, {}, {}, { zone: "AD-1" }],
    ["no fault domain", { faultDomain: undefined }, {}, {}, { labels: {} }],
    [
      "only IPv6, in the storage driver's label",
      {},
      { ipFamily: "IPv6" },
      {},
      {
        labels: {
          "oci.oraclecloud.com/fault-domain": "FAULT-DOMAIN-2",
          "csi-ipv6-full-ad-name": "NWuj.PHX-AD-1",
        },
      },
    ],
    [
      "IPv6 of a node without the label",
      { vnic: { privateIp: "10.0.0.5", ipv6Addresses } },
      {},
      {},
      { addresses: v4 },
    ],
    [
      "IPv6 of a node with it, canonical, unique-local ones within",
      { vnic: { privateIp: "10.0.0.5", ipv6Addresses } },
      {},
      IPV6,
      {
        addresses: [
          ...v4,
          { type: "ExternalIP", address: "2603:c020::5" },
          { type: "InternalIP", address: "fd00::1" },
        ],
      },
    ],
    [
      "only IPv6",
      { vnic: { privateIp: undefined, ipv6Addresses: ["fd00::1"] } },
      {},
      IPV6,
      { addresses: [{ type: "InternalIP", address: "fd00::1" }] },
    ],
    ["a region in full", { region: "eu-frankfurt-1" }, {}, {}, { region: "eu-frankfurt-1" }],
    [
      "another configured compartment",
      { compartmentId: SECOND },
      { compartments: [SECOND] },
      {},
      { annotations: { "oci.oraclecloud.com/compartment-id": SECOND } },
    ],
  ])("%s", async (_, machine, config, node, expected) => {
    expect(await ask([buildIdentifiedNode(add(machine), node)], config)).toMatchObject([
      { kind: "found", instance: expected },
    ]);
  });

  test.each<[string, FakeMachine, string]>([
    ["no shape", { shape: "" }, "lacks a valid shape"],
    ["no region", { region: "" }, "lacks a valid region"],
    ["no availability domain", { availabilityDomain: "" }, "lacks a valid availability domain"],
    ["no address", { vnic: { privateIp: undefined } }, "lacks a valid address"],
    ["an invalid address", { vnic: { privateIp: "10.0.0" } }, '"10.0.0" is invalid'],
  ])("%s is an error", async (_, machine, message) => {
    expect(await ask([buildIdentifiedNode(add(machine))])).toMatchObject([
      { kind: "error", code: "Unavailable", message: expect.stringContaining(message) },
    ]);
  });
});

describe("with several VNICs", () => {
  const OPENSHIFT = "openshift-cluster";
  const iscsi = { [OPENSHIFT]: { "boot-volume-type": "ISCSI" } };

  test("has the addresses of the primary one, which is remembered", async () => {
    const instance = add({ vnic: { isPrimary: false, privateIp: "10.0.1.1" } });
    world.fake.compute.attach(instance, { isPrimary: true, privateIp: "10.0.1.2" });
    const cloud = world.cloud();
    for (const reads of [2, 3]) {
      const { answers } = await cloud.instances([buildIdentifiedNode(instance)], buildCall());
      expect(answers).toMatchObject([{ instance: { addresses: [{ address: "10.0.1.2" }] } }]);
      expect(countRequests(world.fake)["vnics/id"]).toBe(reads);
    }
  });

  test.each<[string, FakeMachine, Record<string, Record<string, string>>, readonly string[]]>([
    [
      "of OpenShift",
      { definedTags: { [OPENSHIFT]: {} } },
      iscsi,
      ["10.0.0.5", "fd00::1", "10.0.9.1", "203.0.113.9"],
    ],
    ["of OpenShift, with another tag", { definedTags: { [OPENSHIFT]: {} } }, {}, ["10.0.0.5", "fd00::1"]],
    ["of another owner", {}, iscsi, ["10.0.0.5", "fd00::1"]],
  ])("counts the boot volume's %s", async (_, machine, definedTags, expected) => {
    const instance = add({ ...machine, vnic: { privateIp: "10.0.0.5", ipv6Addresses: ["fd00::1"] } });
    const second = {
      privateIp: "10.0.9.1",
      publicIp: "203.0.113.9",
      ipv6Addresses: ["fd00::9"],
      definedTags,
    };
    world.fake.compute.attach(instance, second);
    const [answer] = await ask([buildIdentifiedNode(instance, IPV6)]);
    if (answer?.kind !== "found") throw new Error("not found");
    expect(answer.instance.addresses.map(({ address }) => address)).toEqual(expected);
  });

  test("without an attached one is an error", async () => {
    const instance = add();
    for (const attachment of world.fake.compute.attachments) attachment.lifecycleState = "DETACHING";
    expect(await ask([buildIdentifiedNode(instance)])).toMatchObject([
      { code: "Unavailable", message: expect.stringContaining("no attached VNIC") },
    ]);
  });
});

test("single reads and lists give the same answers", async () => {
  const machines: FakeMachine[] = Array.from({ length: 30 }, (_, index) => ({
    availabilityDomain: `NWuj:PHX-AD-${1 + (index % 3)}`,
    ...(index % 7 === 0 ? { lifecycleState: "STOPPED" } : {}),
    vnic: {
      publicIp: index % 2 === 0 ? `203.0.113.${index}` : undefined,
      reserved: index % 4 === 0,
      ipv6Addresses: index % 5 === 0 ? [`2603:c020::${index}`, `fd00::${index}`, "2603:c020::ffff"] : [],
      ...(index > 20 ? { subnetId: world.fake.network.addSubnet().id } : {}),
    },
  }));
  const instances = machines.map(add);
  for (const instance of instances.slice(0, 3)) world.fake.compute.attach(instance);
  const nodes = instances.map((instance, index) =>
    buildIdentifiedNode(instance, index % 3 === 0 ? {} : IPV6),
  );
  const listed = await ask(nodes);
  expect(countRequests(world.fake)).toMatchObject({
    instances: 1,
    vnicAttachments: 1,
    publicIps: 4,
    ipv6: 7,
    privateIps: 10,
  });
  const singly: InstanceAnswer[] = [];
  for (const node of nodes) singly.push(...(await ask([node])));
  expect(listed).toEqual(singly);
  expect(listed.map(formatAnswer)).toEqual(instances.map(({ id }) => id));
});

describe("in lists", () => {
  const FREE = { id: "ocid1.publicip.oc1.phx.free", ipAddress: "198.51.100.9", lifecycleState: "AVAILABLE" };
  const isReserved = ({ path, query }: FakeRequest) =>
    path.endsWith("/publicIps") && query["scope"] === "REGION";

  test("an unassigned reserved address belongs to no instance, not even to one without a private address", async () => {
    world.fake.fault = (request) => (isReserved(request) ? { status: 200, body: [FREE] } : undefined);
    const alone = add({ vnic: { privateIp: undefined, ipv6Addresses: ["fd00::1"] } });
    const nodes = [alone, ...Array.from({ length: 11 }, () => add())].map((each) =>
      buildIdentifiedNode(each, IPV6),
    );
    const [answer] = await ask(nodes);
    expect(answer).toMatchObject({
      instance: { addresses: [{ type: "InternalIP", address: "fd00::1" }] },
    });
  });

  test("a private address that is not listed yet is read, if the node had it", async () => {
    const machine = { vnic: { privateIp: "10.0.0.77", ipv6Addresses: ["fd00::1"] } };
    const nodes = Array.from({ length: 11 }, () => add(machine)).map((each) =>
      buildIdentifiedNode(each, { ...IPV6, addresses: [{ type: "InternalIP", address: "10.0.0.77" }] }),
    );
    world.fake.fault = ({ path }) => (path.endsWith("/privateIps") ? { status: 200, body: [] } : undefined);
    const found = await ask(nodes);
    expect(found.slice(0, 10)).toMatchObject(
      Array.from({ length: 10 }, () => ({ instance: { addresses: [{ address: "10.0.0.77" }, {}] } })),
    );
    expect(found[10]).toMatchObject({ code: "Unavailable" });
  });
});

describe("a public address that no list shows", () => {
  const elsewhere = { publicIp: "203.0.113.7", reserved: true, publicIpCompartmentId: SECOND };
  const had = { addresses: [{ type: "ExternalIP", address: "203.0.113.7" }] };

  test("is read with the VNIC, if the node had one", async () => {
    const nodes = Array.from({ length: 11 }, (_, index) =>
      buildIdentifiedNode(add({ vnic: elsewhere }), index === 0 ? had : {}),
    );
    const answers = await ask(nodes);
    expect(answers[0]).toMatchObject({ instance: { addresses: [{}, { address: "203.0.113.7" }] } });
    expect(countRequests(world.fake)["vnics/id"]).toBe(1);
  });

  test("is never removed, and beyond ten is read later", async () => {
    const nodes = Array.from({ length: 12 }, () => buildIdentifiedNode(add({ vnic: elsewhere }), had));
    const answers = (await ask(nodes)).map(formatAnswer);
    expect(answers.filter((each) => each === "Unavailable")).toHaveLength(2);
    expect(countRequests(world.fake)["vnics/id"]).toBe(10);
  });

  test("is listed in each configured compartment", async () => {
    const nodes = Array.from({ length: 11 }, () => buildIdentifiedNode(add({ vnic: elsewhere })));
    const answers = await ask(nodes, { compartments: [SECOND] });
    expect(answers[10]).toMatchObject({ instance: { addresses: [{}, { address: "203.0.113.7" }] } });
  });
});

describe("a provider ID", () => {
  test.each<[string, (id: string) => string, string]>([
    ["as it is written", (id) => `oci://${id}`, "found"],
    ["bare, as Oracle's own clusters have it", (id) => id, "found"],
    ["of another cloud", () => "aws:///eu-central-1a/i-0123456789abcdef0", "ForeignProviderID"],
    ["without a scheme", () => "node-1", "ForeignProviderID"],
    ["of a VNIC", () => "oci://ocid1.vnic.oc1.phx.v", "InvalidProviderID"],
    ["bare, of a compartment", () => COMPARTMENT, "InvalidProviderID"],
    ["with a path in it", (id) => `oci://${id}/../../vnics`, "InvalidProviderID"],
    ["with a query in it", (id) => `oci://${id}?a=b`, "InvalidProviderID"],
    ["endless", (id) => `oci://${id}${"a".repeat(300)}`, "InvalidProviderID"],
    ["empty behind the scheme", () => "oci://", "InvalidProviderID"],
  ])("%s is %s", async (_, providerID, expected) => {
    const { id } = add();
    const answers = await ask([buildNode({ name: "n", providerID: providerID(id) })]);
    expect(answers.map(formatAnswer)).toEqual([expected === "found" ? id : expected]);
    expect(world.fake.requests.length > 0).toBe(expected === "found");
  });
});

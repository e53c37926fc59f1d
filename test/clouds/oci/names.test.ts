import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Node } from "#core/node/node.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import type { FakeInstance, FakeMachine } from "#test/clouds/oci/fake/instances.ts";
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

const SECOND = "ocid1.compartment.oc1..c2";
const add = (traits: FakeMachine = {}): FakeInstance => world.fake.compute.add(traits);
const ask = async (nodes: readonly Node[], config = {}) =>
  (await world.cloud(config).instances(nodes, buildCall())).answers;
const answerTo = async (name: string, config = {}): Promise<string> =>
  formatAnswer((await ask([buildNode({ name })], config))[0]);

describe("a node without provider ID", () => {
  test.each<[string, string, FakeMachine, boolean]>([
    ["is the instance with its display name", "web-1", { displayName: "web-1" }, true],
    [
      "is not an instance whose display name differs in case",
      "Web-1",
      { displayName: "web-1", vnic: { hostnameLabel: undefined } },
      false,
    ],
    [
      "is the instance with its VNIC's host name",
      "web-1",
      { displayName: "x", vnic: { hostnameLabel: "web-1" } },
      true,
    ],
    [
      "is the instance with the first label of its name",
      "web-1.sub.vcn.oraclevcn.com",
      { displayName: "x", vnic: { hostnameLabel: "web-1" } },
      true,
    ],
    [
      "is not an instance whose host name has the same prefix",
      "web",
      { displayName: "x", vnic: { hostnameLabel: "web-10" } },
      false,
    ],
    [
      "is the instance with its private address",
      "10.0.7.7",
      { displayName: "x", vnic: { privateIp: "10.0.7.7" } },
      true,
    ],
    [
      "is the instance with its public address",
      "203.0.113.7",
      { displayName: "x", vnic: { publicIp: "203.0.113.7" } },
      true,
    ],
    [
      "is the instance with a reserved address",
      "203.0.113.7",
      { displayName: "x", vnic: { publicIp: "203.0.113.7", reserved: true } },
      true,
    ],
    [
      "is the instance with its IPv6 address with dashes",
      "2603-c020--5",
      { displayName: "x", vnic: { ipv6Addresses: ["2603:c020:0::5"] } },
      true,
    ],
    ["is not a terminated instance", "web-1", { displayName: "web-1", lifecycleState: "TERMINATED" }, false],
    [
      "is not an instance of another compartment",
      "web-1",
      { displayName: "web-1", compartmentId: SECOND },
      false,
    ],
  ])("%s", async (_, name, machine, isFound) => {
    const { id } = add(machine);
    add();
    expect(await answerTo(name)).toBe(isFound ? id : "not-found");
  });

  test("is looked for in all configured compartments", async () => {
    const { id } = add({ displayName: "web-1", compartmentId: SECOND });
    expect(await answerTo("web-1", { compartments: [SECOND] })).toBe(id);
  });

  test("is not an instance with its address in another VCN", async () => {
    const { id: subnetId } = world.fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.other" });
    add({ vnic: { privateIp: "10.0.7.7", subnetId } });
    expect(await answerTo("10.0.7.7")).toBe("not-found");
  });

  test("is not found if several instances match", async () => {
    const ids = [add({ vnic: { hostnameLabel: "web" } }), add({ vnic: { hostnameLabel: "web" } })].map(
      ({ id }) => id,
    );
    const [answer] = await ask([buildNode({ name: "web" })]);
    expect(answer).toMatchObject({ code: "Ambiguous", message: expect.stringContaining(ids.join(", ")) });
  });

  describe("with instances of the same name", () => {
    const elsewhere = () => world.fake.network.addSubnet({ vcnId: "ocid1.vcn.oc1.phx.other" }).id;

    test("is the one in the cluster's VCN: another cluster of the compartment names its nodes as it likes", async () => {
      const [before, after] = [elsewhere(), elsewhere()].map((subnetId) => ({
        displayName: "worker-1",
        vnic: { subnetId },
      }));
      add(before);
      const { id } = add({ displayName: "worker-1" });
      add(after);
      expect(await answerTo("worker-1")).toBe(id);
    });

    test.each<[string, () => FakeMachine, object]>([
      ["both instances can be read", () => ({}), {}],
      [
        "no VCN is configured",
        () => ({ vnic: { subnetId: elsewhere() } }),
        { vcn: undefined, loadBalancer: { disabled: true } },
      ],
      [
        "the other one's subnet cannot be read",
        () => ({ vnic: { subnetId: "ocid1.subnet.oc1.phx.unseen" } }),
        {},
      ],
    ])("is not found if the match is unknown: %s", async (_, other, config) => {
      add({ displayName: "worker-1" });
      add({ displayName: "worker-1", ...other() });
      expect(await answerTo("worker-1", config)).toBe("Ambiguous");
    });

    test("is not found while one of them has no VNIC yet", async () => {
      add({ displayName: "worker-1" });
      const young = add({ displayName: "worker-1" });
      for (const each of world.fake.compute.attachments)
        if (each.instanceId === young.id) each.lifecycleState = "ATTACHING";
      expect(await answerTo("worker-1")).toBe("Ambiguous");
    });
  });

  test("does not get an instance that is another node's", async () => {
    const instance = add({ vnic: { hostnameLabel: "web" } });
    const answers = await ask([buildNode({ name: "web" }), buildIdentifiedNode(instance)]);
    expect(answers.map(formatAnswer)).toEqual(["Ambiguous", instance.id]);
  });

  test("uses a list that began with it, which finds an instance made since then", async () => {
    const old = add();
    const cloud = world.cloud();
    await cloud.instances([buildNode({ name: old.displayName })], buildCall());
    world.pass(1_000);
    const young = add();
    const { answers } = await cloud.instances(
      [old, young].map(({ displayName: name }) => buildNode({ name })),
      buildCall(),
    );
    expect(answers.map(formatAnswer)).toEqual([old.id, young.id]);
    expect(countRequests(world.fake)).toMatchObject({ instances: 2 });
  });

  test("cannot be found without a VCN, unless an instance has its name", async () => {
    const config = { vcn: undefined, loadBalancer: { disabled: true } };
    const { id, displayName } = add();
    expect(await answerTo(displayName, config)).toBe(id);
    expect((await ask([buildNode({ name: "web" })], config))[0]).toMatchObject({
      code: "Denied",
      message: expect.stringContaining("vcn is not configured"),
    });
  });
});

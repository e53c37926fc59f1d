import { describe, expect, test } from "vitest";
import { createNoCloud } from "#clouds/no-cloud/cloud.ts";
import type { NodeRule } from "#clouds/no-cloud/config.ts";
import { loadCloud } from "#clouds/providers.ts";
import { buildCall, buildNode, type NodeTraits } from "#test/clouds/builders.ts";
import { type CloudWorld, testCloudConformance } from "#test/clouds/conformance.ts";

testCloudConformance("no cloud", aWorld, {
  cannotPlay: [
    { row: "hiding", because: "every node counts as existing" },
    { row: "ambiguity", because: "a node is its own machine" },
    { row: "termination", because: "no node ever counts as gone" },
    { row: "takeover", because: "no node ever counts as gone" },
    { row: "ill-formed", because: "any provider ID of the kubelet is valid" },
    { row: "schemes", because: "any provider ID of the kubelet is valid" },
    { row: "absence", because: "no node ever counts as gone" },
    { row: "belonging", because: "a node belongs to the cluster that it joined" },
    { row: "stopping", because: "stopped machines are not reported" },
    { row: "failure", because: "there is no API" },
  ],
});

async function aWorld(): Promise<CloudWorld> {
  const cloud = createNoCloud({ rules: [{ names: ["*"], region: "fra", zone: "cellar" }] });
  let count = 0;
  return {
    cloud,
    async addInstance() {
      count += 1;
      const name = `node-${count}`;
      const addresses = [
        { type: "InternalIP", address: `10.0.0.${count}` },
        { type: "Hostname", address: name },
      ];
      return { id: name, nodeName: name, providerID: `no-cloud://${name}`, traits: { addresses } };
    },
    requests: () => 0,
    close: () => cloud.close(),
  };
}

describe("the facts of a node", () => {
  const RULES: NodeRule[] = [
    { names: ["edge-*"], networks: ["10.9.0.0/16"], zone: "roof" },
    { names: ["edge-*", "rack-?-a"], zone: "cellar", labels: { "example.com/rack": "1" } },
    { networks: ["10.8.0.0/16", "fd00:8::/64"], region: "fra", zone: "attic" },
    { names: ["*.example.com"], instanceType: "r650" },
  ];
  const at = (address: string, type = "InternalIP"): NodeTraits => ({ addresses: [{ type, address }] });

  test.each<[string, NodeTraits, Record<string, unknown>]>([
    [
      "its name, with any address",
      { name: "rack-1-a" },
      { zone: "cellar", labels: { "example.com/rack": "1" } },
    ],
    ["its name and its network", { name: "edge-1", ...at("10.9.0.1") }, { zone: "roof", labels: {} }],
    ["its name if its network does not fit", { name: "edge-1", ...at("10.7.0.1") }, { zone: "cellar" }],
    ["its address", at("10.8.255.1"), { region: "fra", zone: "attic" }],
    ["its external address", at("10.8.255.1", "ExternalIP"), { zone: "attic" }],
    ["its IPv6 address in any spelling", at("FD00:8:0:0::1"), { zone: "attic" }],
    ["an IPv4-mapped IPv6 address", at("::ffff:10.8.0.1"), { zone: "attic" }],
    [
      "addresses, but not for a host name that looks like one",
      at("10.8.0.1", "Hostname"),
      { zone: "", region: "" },
    ],
    [
      "its --node-ip if the kubelet reports nothing",
      { annotations: { "alpha.kubernetes.io/provided-node-ip": "10.8.0.1" } },
      { zone: "attic" },
    ],
    ["the end of its name", { name: "a.example.com" }, { type: "r650", zone: "", region: "" }],
    ["other nodes only: none", { name: "other" }, { type: "", zone: "", region: "", labels: {} }],
  ])("come from a rule for %s", async (_, traits, expected) => {
    const { answers } = await createNoCloud({ rules: RULES }).instances([buildNode(traits)], buildCall());
    expect(answers).toMatchObject([{ kind: "found", instance: expected }]);
  });
});

test("the provider loads it", async () => {
  const cloud = await loadCloud({ provider: "no-cloud" });
  expect((await cloud.instances([buildNode()], buildCall())).answers).toMatchObject([{ kind: "found" }]);
  await cloud.close();
});

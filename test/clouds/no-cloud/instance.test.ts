import { describe, expect, test } from "vitest";
import { buildNoCloudAnswer } from "#clouds/no-cloud/instance.ts";
import { renderEvent } from "#core/cluster-events.ts";
import { decideNode } from "#core/node/decide.ts";
import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const NOW = new Date("2026-01-01T00:10:00Z");

const answerTo = (traits: NodeTraits) => buildNoCloudAnswer(buildNode(traits), { scheme: "no-cloud" });

/** Returns addresses as `type=address`. */
const lines = (addresses: readonly { type: string; address: string }[]): string[] =>
  addresses.map(({ type, address }) => `${type}=${address}`);

const internal = (address: string) => ({ type: "InternalIP", address });

describe("addresses", () => {
  test.each<[string, NodeTraits, readonly string[]]>([
    [
      "are those that the kubelet reports",
      {
        addresses: [internal("10.0.0.5"), { type: "ExternalIP", address: "192.0.2.5" }, hostname("web-1")],
      },
      ["InternalIP=10.0.0.5", "ExternalIP=192.0.2.5", "Hostname=web-1"],
    ],
    [
      "include the node's name if the kubelet reports no host name",
      { addresses: [internal("10.0.0.5")] },
      ["InternalIP=10.0.0.5", "Hostname=node-1"],
    ],
    [
      "include the second address of a dual-stack --node-ip",
      {
        addresses: [internal("10.0.0.5"), hostname("web-1")],
        annotations: { [PROVIDED]: "10.0.0.5,FD00::5" },
      },
      ["InternalIP=10.0.0.5", "InternalIP=fd00::5", "Hostname=web-1"],
    ],
    [
      "have no duplicate of --node-ip in another spelling",
      { addresses: [internal("fd00:0::5"), hostname("web-1")], annotations: { [PROVIDED]: "fd00::5" } },
      ["InternalIP=fd00:0::5", "Hostname=web-1"],
    ],
    [
      "are those of --node-ip if the kubelet reports none",
      { annotations: { [PROVIDED]: "10.0.0.5,fd00::5" } },
      ["InternalIP=10.0.0.5", "InternalIP=fd00::5", "Hostname=node-1"],
    ],
    [
      "have the host name of the label with those of --node-ip",
      { annotations: { [PROVIDED]: "10.0.0.5" }, labels: { "kubernetes.io/hostname": "web-1.example.com" } },
      ["InternalIP=10.0.0.5", "Hostname=web-1.example.com"],
    ],
    ["are missing if --node-ip is only a family", { annotations: { [PROVIDED]: "0.0.0.0" } }, []],
    ["are missing if there is only a host name", { addresses: [hostname("web-1")] }, []],
    ["are missing without any facts", {}, []],
  ])("%s", (_, traits, expected) => {
    expect(lines(answerTo(traits).instance.addresses)).toEqual(expected);
  });
});

describe("the instance", () => {
  test.each<[string, NodeTraits, { id: string; providerID: string }]>([
    ["has the node's name as ID", {}, { id: "node-1", providerID: "no-cloud://node-1" }],
    [
      "has the node's name as ID if the provider ID is empty",
      { providerID: "" },
      { id: "node-1", providerID: "no-cloud://node-1" },
    ],
    [
      "has the last part of another scheme's provider ID as ID",
      { providerID: "metal3://ns/host/5c7f" },
      { id: "5c7f", providerID: "metal3://ns/host/5c7f" },
    ],
    [
      "has the node's name as ID if the provider ID has no last part",
      { providerID: "x://" },
      { id: "node-1", providerID: "x://" },
    ],
    [
      "has the node's name as ID if the provider ID's last part is too long",
      { providerID: `x://${"a".repeat(300)}` },
      { id: "node-1", providerID: `x://${"a".repeat(300)}` },
    ],
  ])("%s", (_, traits, expected) => {
    expect(answerTo(traits).instance).toMatchObject({ ...expected, state: "running" });
  });
});

describe("a node", () => {
  const decide = (traits: NodeTraits) =>
    decideNode(buildNode(traits), answerTo(traits), { reason: "watch", now: NOW });

  test("that reports an address is initialized with it", () => {
    const decision = decide({ addresses: [internal("10.0.0.5"), hostname("web-1")] });
    expect(decision).toMatchObject({ kind: "change", because: { code: "Initialized" } });
  });

  test("with a dual-stack --node-ip is initialized with both", () => {
    const decision = decide({
      addresses: [internal("10.0.0.5")],
      annotations: { [PROVIDED]: "10.0.0.5,fd00::5" },
    });
    expect(decision).toMatchObject({ kind: "change", because: { code: "Initialized" } });
    expect(JSON.stringify(decision)).toContain("fd00::5");
  });

  test.each<[string, NodeTraits]>([
    ["nothing", {}],
    ["a host name", { addresses: [hostname("web-1")] }],
  ])("that reports %s keeps its taint, and the message names --node-ip", (_, traits) => {
    const decision = decide(traits);
    expect(decision).toMatchObject({ kind: "retry", because: { code: "NoNodeAddress" } });
    const events = "events" in decision ? decision.events : [];
    expect(events.map((each) => renderEvent(each).message)).toEqual([expect.stringContaining("--node-ip")]);
  });
});

function hostname(address: string) {
  return { type: "Hostname", address };
}

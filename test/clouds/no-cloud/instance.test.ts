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

describe("the addresses are", () => {
  test.each<[string, NodeTraits, readonly string[]]>([
    [
      "what the kubelet reports, as it is",
      {
        addresses: [internal("10.0.0.5"), { type: "ExternalIP", address: "192.0.2.5" }, hostname("web-1")],
      },
      ["InternalIP=10.0.0.5", "ExternalIP=192.0.2.5", "Hostname=web-1"],
    ],
    [
      "the reported ones, and the name if none is reported",
      { addresses: [internal("10.0.0.5")] },
      ["InternalIP=10.0.0.5", "Hostname=node-1"],
    ],
    [
      "what it reports, with the second of a dual-stack pair",
      {
        addresses: [internal("10.0.0.5"), hostname("web-1")],
        annotations: { [PROVIDED]: "10.0.0.5,FD00::5" },
      },
      ["InternalIP=10.0.0.5", "InternalIP=fd00::5", "Hostname=web-1"],
    ],
    [
      "the reported ones, once, in any spelling",
      { addresses: [internal("fd00:0::5"), hostname("web-1")], annotations: { [PROVIDED]: "fd00::5" } },
      ["InternalIP=fd00:0::5", "Hostname=web-1"],
    ],
    [
      "those of --node-ip if it reports none",
      { annotations: { [PROVIDED]: "10.0.0.5,fd00::5" } },
      ["InternalIP=10.0.0.5", "InternalIP=fd00::5", "Hostname=node-1"],
    ],
    [
      "those of --node-ip with the host name of the label",
      { annotations: { [PROVIDED]: "10.0.0.5" }, labels: { "kubernetes.io/hostname": "web-1.example.com" } },
      ["InternalIP=10.0.0.5", "Hostname=web-1.example.com"],
    ],
    ["none if the kubelet reports only a family", { annotations: { [PROVIDED]: "0.0.0.0" } }, []],
    ["none if there is only a host name", { addresses: [hostname("web-1")] }, []],
    ["none without facts", {}, []],
  ])("%s", (_, traits, expected) => {
    expect(lines(answerTo(traits).instance.addresses)).toEqual(expected);
  });
});

describe("the instance is", () => {
  test.each<[string, NodeTraits, { id: string; providerID: string }]>([
    ["the node by its name", {}, { id: "node-1", providerID: "no-cloud://node-1" }],
    [
      "the node by its name if the provider ID is empty",
      { providerID: "" },
      { id: "node-1", providerID: "no-cloud://node-1" },
    ],
    [
      "what another scheme names",
      { providerID: "metal3://ns/host/5c7f" },
      { id: "5c7f", providerID: "metal3://ns/host/5c7f" },
    ],
    [
      "the node if a provider ID has an empty end",
      { providerID: "x://" },
      { id: "node-1", providerID: "x://" },
    ],
    [
      "the node if a provider ID has no end",
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

import { describe, expect, test } from "vitest";
import { nodeAnswer } from "#clouds/rancher/node-answer.ts";
import { inWords } from "#core/cluster-events.ts";
import { decideNode } from "#core/node/decide.ts";
import { aNode, type NodeTraits } from "#test/clouds/builders.ts";

const DNS = Array.from({ length: 40 }, (_, index) => `n${index}.example.com`).join(",");

/** Addresses as `type=address`, or the code of an error. */
function told(traits: NodeTraits): readonly string[] | string {
  const answer = nodeAnswer(aNode(traits), "k3s");
  if (answer.kind !== "found") return answer.kind === "error" ? answer.code : answer.kind;
  return answer.instance.addresses.map(({ type, address }) => `${type}=${address}`);
}

describe("addresses", () => {
  test.each<[string, NodeTraits, readonly string[] | string]>([
    [
      "all that an agent writes, in K3s' order",
      {
        annotations: {
          "k3s.io/hostname": "web-1",
          "k3s.io/external-dns": "web-1.example.com",
          "k3s.io/internal-dns": "web-1.internal, web-1.local",
          "k3s.io/external-ip": "192.0.2.5",
          "k3s.io/internal-ip": "10.0.0.5, FD00:0::5",
        },
      },
      [
        "InternalIP=10.0.0.5",
        "InternalIP=fd00::5",
        "ExternalIP=192.0.2.5",
        "InternalDNS=web-1.internal",
        "InternalDNS=web-1.local",
        "ExternalDNS=web-1.example.com",
        "Hostname=web-1",
      ],
    ],
    [
      "of labels where there are no annotations",
      {
        labels: {
          "k3s.io/internal-ip": "10.0.0.5",
          "k3s.io/external-ip": "192.0.2.5",
          "k3s.io/hostname": "web-1",
        },
      },
      ["InternalIP=10.0.0.5", "ExternalIP=192.0.2.5", "Hostname=web-1"],
    ],
    [
      "of the annotation rather than of the label",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5" }, labels: { "k3s.io/internal-ip": "10.0.0.6" } },
      ["InternalIP=10.0.0.5"],
    ],
    [
      "of the label where the annotation is empty",
      { annotations: { "k3s.io/internal-ip": " " }, labels: { "k3s.io/internal-ip": "10.0.0.6" } },
      ["InternalIP=10.0.0.6"],
    ],
    ["each once", { annotations: { "k3s.io/internal-ip": "10.0.0.5,10.0.0.5" } }, ["InternalIP=10.0.0.5"]],
    [
      "of the kubelet where no agent says any",
      {
        addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
        annotations: { "k3s.io/hostname": "web-1" },
      },
      ["InternalIP=10.0.0.7", "Hostname=node-1"],
    ],
    [
      "of the kubelet where the annotations are another distribution's",
      {
        addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
        annotations: { "rke2.io/internal-ip": "10.0.0.5" },
      },
      ["InternalIP=10.0.0.7", "Hostname=node-1"],
    ],
    ["none where nobody says any", {}, []],
    [
      "unusable where one is none",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5,web-1" } },
      "InvalidAddress",
    ],
    ["unusable where one is empty", { annotations: { "k3s.io/internal-ip": "10.0.0.5," } }, "InvalidAddress"],
    ["unusable where the label is none", { labels: { "k3s.io/internal-ip": "web-1" } }, "InvalidAddress"],
    [
      "unusable where an external one is none",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5", "k3s.io/external-ip": "10.0.0.0/8" } },
      "InvalidAddress",
    ],
    [
      "unusable where there are more than anybody has",
      { annotations: { "k3s.io/internal-ip": Array(40).fill("10.0.0.5").join(",") } },
      "InvalidAddress",
    ],
  ])("are %s", (_, traits, expected) => {
    expect(told(traits)).toEqual(expected);
  });

  test("of names there are as many as somebody may read", () => {
    const addresses = told({ annotations: { "k3s.io/internal-ip": "10.0.0.5", "k3s.io/internal-dns": DNS } });
    expect(addresses).toHaveLength(1 + 32);
  });
});

describe("the instance", () => {
  test.each<[string, NodeTraits, Record<string, string>]>([
    [
      "without anything",
      {},
      { id: "node-1", providerID: "rke2://node-1", type: "rke2", zone: "", region: "" },
    ],
    [
      "with a provider ID of whatever scheme",
      { providerID: "aws:///a/i-1" },
      { id: "i-1", providerID: "aws:///a/i-1" },
    ],
    [
      "with the node's own labels",
      {
        labels: {
          "node.kubernetes.io/instance-type": "r650",
          "topology.kubernetes.io/region": "fra",
          "topology.kubernetes.io/zone": "fra-1",
        },
      },
      { type: "r650", region: "fra", zone: "fra-1" },
    ],
  ])("is what it is, %s", (_, traits, expected) => {
    const node = aNode({ ...traits, annotations: { "rke2.io/internal-ip": "10.0.0.5" } });
    expect(nodeAnswer(node, "rke2")).toMatchObject({
      kind: "found",
      instance: { state: "running", ...expected },
    });
  });
});

test("a node that says what is no address keeps its taint, and is told what to correct", () => {
  const node = aNode({ annotations: { "k3s.io/internal-ip": "web-1" } });
  const decision = decideNode(node, nodeAnswer(node, "k3s"), { reason: "watch", now: new Date() });
  expect(decision).toMatchObject({ kind: "retry", because: { code: "InvalidAddress" } });
  const events = "events" in decision ? decision.events : [];
  expect(events.map((each) => inWords(each).message)).toEqual([
    expect.stringContaining("k3s.io/internal-ip"),
  ]);
});

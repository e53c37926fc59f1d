import { describe, expect, test } from "vitest";
import { buildNodeAnswer } from "#clouds/rancher/node-answer.ts";
import { renderEvent } from "#core/cluster-events.ts";
import { decideNode } from "#core/node/decide.ts";
import { buildNode, type NodeTraits } from "#test/clouds/builders.ts";

const DNS = Array.from({ length: 40 }, (_, index) => `n${index}.example.com`).join(",");

/** Returns addresses as `type=address`, or the code of an error. */
function told(traits: NodeTraits): readonly string[] | string {
  const answer = buildNodeAnswer(buildNode(traits), "k3s");
  if (answer.kind !== "found") return answer.kind === "error" ? answer.code : answer.kind;
  return answer.instance.addresses.map(({ type, address }) => `${type}=${address}`);
}

describe("addresses", () => {
  test.each<[string, NodeTraits, readonly string[] | string]>([
    [
      "all that an agent reports, in K3s' order",
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
      "of labels without annotations",
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
      "of the label if the annotation is empty",
      { annotations: { "k3s.io/internal-ip": " " }, labels: { "k3s.io/internal-ip": "10.0.0.6" } },
      ["InternalIP=10.0.0.6"],
    ],
    [
      "without duplicates",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5,10.0.0.5" } },
      ["InternalIP=10.0.0.5"],
    ],
    [
      "of the kubelet if no agent reports any",
      {
        addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
        annotations: { "k3s.io/hostname": "web-1" },
      },
      ["InternalIP=10.0.0.7", "Hostname=node-1"],
    ],
    [
      "of the kubelet if the annotations are another distribution's",
      {
        addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
        annotations: { "rke2.io/internal-ip": "10.0.0.5" },
      },
      ["InternalIP=10.0.0.7", "Hostname=node-1"],
    ],
    ["missing if none is reported", {}, []],
    [
      "unusable if one is invalid",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5,web-1" } },
      "InvalidAddress",
    ],
    ["unusable if one is empty", { annotations: { "k3s.io/internal-ip": "10.0.0.5," } }, "InvalidAddress"],
    ["unusable if the label is invalid", { labels: { "k3s.io/internal-ip": "web-1" } }, "InvalidAddress"],
    [
      "unusable if an external one is invalid",
      { annotations: { "k3s.io/internal-ip": "10.0.0.5", "k3s.io/external-ip": "10.0.0.0/8" } },
      "InvalidAddress",
    ],
    [
      "unusable if there are too many",
      { annotations: { "k3s.io/internal-ip": Array(40).fill("10.0.0.5").join(",") } },
      "InvalidAddress",
    ],
  ])("are %s", (_, traits, expected) => {
    expect(told(traits)).toEqual(expected);
  });

  test("are at most as many names as a person can read", () => {
    const addresses = told({ annotations: { "k3s.io/internal-ip": "10.0.0.5", "k3s.io/internal-dns": DNS } });
    expect(addresses).toHaveLength(1 + 32);
  });
});

describe("the instance", () => {
  test.each<[string, NodeTraits, Record<string, string>]>([
    ["without facts", {}, { id: "node-1", providerID: "rke2://node-1", type: "rke2", zone: "", region: "" }],
    [
      "with a provider ID of any scheme",
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
  ])("is correct, %s", (_, traits, expected) => {
    const node = buildNode({ ...traits, annotations: { "rke2.io/internal-ip": "10.0.0.5" } });
    expect(buildNodeAnswer(node, "rke2")).toMatchObject({
      kind: "found",
      instance: { state: "running", ...expected },
    });
  });
});

test("a node that reports an invalid address keeps its taint, and the message says what to correct", () => {
  const node = buildNode({ annotations: { "k3s.io/internal-ip": "web-1" } });
  const decision = decideNode(node, buildNodeAnswer(node, "k3s"), { reason: "watch", now: new Date() });
  expect(decision).toMatchObject({ kind: "retry", because: { code: "InvalidAddress" } });
  const events = "events" in decision ? decision.events : [];
  expect(events.map((each) => renderEvent(each).message)).toEqual([
    expect.stringContaining("k3s.io/internal-ip"),
  ]);
});

import type { Node } from "#core/node/node.ts";
import type { NeighbourKubelet } from "#test/neighbours/neighbour-kubelet.ts";
import { AGENT_LABEL } from "#test/neighbours/network-agent.ts";

/** The values of --node-ip for the instance with these addresses, in turn; undefined is the flag left out. */
export function nodeIPOf(n: number): string | undefined {
  const [ipv4, ipv6] = [`10.77.0.${n}`, `fd77::${n}`];
  return [undefined, ipv4, ipv6, `${ipv4},${ipv6}`, "0.0.0.0", "::"][n % 6];
}

/** The addresses that a node has to have once it is initialized, as `type address`. */
export function addressesOf({ nodeIP, ipv4, ipv6, name }: NeighbourKubelet): readonly string[] {
  const names = [`InternalDNS ${name}`, `Hostname ${name}`];
  switch (nodeIP) {
    case ipv4:
    case ipv6:
      return [`InternalIP ${nodeIP}`, ...names];
    case `${ipv4},${ipv6}`:
      return [`InternalIP ${ipv4}`, `InternalIP ${ipv6}`, ...names];
    default:
      // Nothing that names an address: all that the cloud knows, family by family.
      return [`InternalIP ${ipv4}`, ...names, `InternalIP ${ipv6}`];
  }
}

/** What is not as it has to be of a node whose kubelet, controller manager, network agent and we have all done their part. */
export function faultsOf(node: Node | undefined, kubelet: NeighbourKubelet): readonly string[] {
  if (node === undefined) return [`${kubelet.name} is not there`];
  const { metadata, spec, status } = node;
  const { instance, nodeIP } = kubelet;
  const addresses = (status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  const isPinned = nodeIP !== undefined && nodeIP !== "0.0.0.0" && nodeIP !== "::";
  const expected: readonly (readonly [what: string, is: unknown, shouldBe: unknown])[] = [
    ["taints", (spec.taints ?? []).map(({ key }) => key).join(), ""],
    ["provider ID", spec.providerID, `aws:///${instance.availabilityZone}/${instance.id}`],
    ["addresses", addresses.join(), addressesOf(kubelet).join()],
    ["Ready", status.conditions?.find(({ type }) => type === "Ready")?.status, "True"],
    ["zone", metadata.labels?.["topology.kubernetes.io/zone"], instance.availabilityZone],
    ["instance type", metadata.labels?.["node.kubernetes.io/instance-type"], instance.instanceType],
    ["the kubelet's host name", metadata.labels?.["kubernetes.io/hostname"], kubelet.name],
    ["the agent's label", metadata.labels?.[AGENT_LABEL.key], AGENT_LABEL.value],
    [
      "the kubelet's node IP",
      metadata.annotations?.["alpha.kubernetes.io/provided-node-ip"],
      isPinned ? nodeIP : undefined,
    ],
  ];
  return expected
    .filter(([, is, shouldBe]) => is !== shouldBe)
    .map(([what, is, shouldBe]) => `${kubelet.name}: ${what} is ${is}, not ${shouldBe}`);
}

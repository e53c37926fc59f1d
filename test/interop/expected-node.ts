import type { Node } from "#core/node/node.ts";
import type { NeighbourKubelet } from "#test/interop/neighbour-kubelet.ts";
import { AGENT_LABEL } from "#test/interop/network-agent.ts";

/** Returns the value of --node-ip for the nth instance, in rotation; undefined omits the flag. */
export function getNodeIP(n: number): string | undefined {
  const [ipv4, ipv6] = [`10.77.0.${n}`, `fd77::${n}`];
  return [undefined, ipv4, ipv6, `${ipv4},${ipv6}`, "0.0.0.0", "::"][n % 6];
}

/** Returns the addresses that an initialized node must have, as `type address`. */
export function listExpectedAddresses({ nodeIP, ipv4, ipv6, name }: NeighbourKubelet): readonly string[] {
  const names = [`InternalDNS ${name}`, `Hostname ${name}`];
  switch (nodeIP) {
    case ipv4:
    case ipv6:
      return [`InternalIP ${nodeIP}`, ...names];
    case `${ipv4},${ipv6}`:
      return [`InternalIP ${ipv4}`, `InternalIP ${ipv6}`, ...names];
    default:
      // --node-ip is missing or names only a family: the node gets all known addresses, family by family.
      return [`InternalIP ${ipv4}`, ...names, `InternalIP ${ipv6}`];
  }
}

/**
 * Returns what is wrong with a node after its kubelet, kube-controller-manager, the network agent and our
 * controllers have done their work.
 */
export function checkNode(node: Node | undefined, kubelet: NeighbourKubelet): readonly string[] {
  if (node === undefined) return [`${kubelet.name} is not there`];
  const { metadata, spec, status } = node;
  const { instance, nodeIP } = kubelet;
  const addresses = (status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
  const isPinned = nodeIP !== undefined && nodeIP !== "0.0.0.0" && nodeIP !== "::";
  const expected: readonly (readonly [what: string, is: unknown, shouldBe: unknown])[] = [
    ["taints", (spec.taints ?? []).map(({ key }) => key).join(), ""],
    ["provider ID", spec.providerID, `aws:///${instance.availabilityZone}/${instance.id}`],
    ["addresses", addresses.join(), listExpectedAddresses(kubelet).join()],
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

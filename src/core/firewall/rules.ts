import type { FirewallRule } from "#core/firewall/state.ts";

/** All addresses of both families. */
export const EVERYWHERE: readonly string[] = ["0.0.0.0/0", "::/0"];

/** The outbound rules of the machines: all traffic is allowed. */
export const OUTBOUND: readonly FirewallRule[] = [
  { protocol: "icmp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
  { protocol: "tcp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
  { protocol: "udp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
];

/**
 * Returns equivalent rules, one for each protocol and port, sorted. So rules that a cloud returns in another
 * order, or split, compare as equal. A load balancer as source is redundant if all addresses are allowed.
 * `all` and `0` become an empty text for all ports.
 */
export function normalizeRules(rules: readonly FirewallRule[]): readonly FirewallRule[] {
  const together = Map.groupBy(rules, ({ protocol, ports }) => `${protocol} ${formatPorts(ports)}`);
  return [...together.values()].flatMap(mergeRules).sort(compareRules);
}

function mergeRules(rules: readonly FirewallRule[]): FirewallRule[] {
  return rules.slice(0, 1).map(({ protocol, ports }) => {
    const addresses = sortUnique(rules.flatMap((rule) => rule.addresses));
    const isOpen = EVERYWHERE.every((network) => addresses.includes(network));
    const loadBalancers = isOpen ? [] : sortUnique(rules.flatMap((rule) => rule.loadBalancers));
    return { protocol, ports: formatPorts(ports), addresses, loadBalancers };
  });
}

function formatPorts(ports: string): string {
  return ports === "all" || ports === "0" ? "" : ports;
}

function compareRules(one: FirewallRule, other: FirewallRule): number {
  const key = ({ protocol, ports }: FirewallRule): string => `${protocol} ${ports}`;
  return key(one) < key(other) ? -1 : 1;
}

function sortUnique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

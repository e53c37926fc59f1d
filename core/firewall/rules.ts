import type { FirewallRule } from "#core/firewall/state.ts";

/** Everybody, of both families. */
export const EVERYWHERE: readonly string[] = ["0.0.0.0/0", "::/0"];

/** What may leave the machines: all of it. */
export const OUTBOUND: readonly FirewallRule[] = [
  { protocol: "icmp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
  { protocol: "tcp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
  { protocol: "udp", ports: "", addresses: EVERYWHERE, loadBalancers: [] },
];

/**
 * Rules that let through what these do, one for each protocol and port, in order: what a cloud gives back in another order, or apart, is
 * the same by it. A load balancer counts nothing where everybody is let in; `all` and `0` are an empty text, as all ports.
 */
export function normalRules(rules: readonly FirewallRule[]): readonly FirewallRule[] {
  const together = Map.groupBy(rules, ({ protocol, ports }) => `${protocol} ${portsOf(ports)}`);
  return [...together.values()].flatMap(merged).sort(inOrder);
}

function merged(rules: readonly FirewallRule[]): FirewallRule[] {
  return rules.slice(0, 1).map(({ protocol, ports }) => {
    const addresses = sortedSet(rules.flatMap((rule) => rule.addresses));
    const isOpen = EVERYWHERE.every((network) => addresses.includes(network));
    const loadBalancers = isOpen ? [] : sortedSet(rules.flatMap((rule) => rule.loadBalancers));
    return { protocol, ports: portsOf(ports), addresses, loadBalancers };
  });
}

function portsOf(ports: string): string {
  return ports === "all" || ports === "0" ? "" : ports;
}

function inOrder(one: FirewallRule, other: FirewallRule): number {
  const key = ({ protocol, ports }: FirewallRule): string => `${protocol} ${ports}`;
  return key(one) < key(other) ? -1 : 1;
}

function sortedSet(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

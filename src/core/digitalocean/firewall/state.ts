import * as z from "zod";

/** The capability of a cloud with firewalls. */
export const FIREWALL = "firewall";

/** The question about a firewall: its state by name, and which of these load balancers are the cluster's. */
export const FirewallQuestion = z.object({ name: z.string(), loadBalancers: z.array(z.string()) });
export type FirewallQuestion = z.output<typeof FirewallQuestion>;

/**
 * A rule of a firewall: the traffic, and its sources or destinations. Other properties of a cloud's rule are
 * ignored.
 */
export const FirewallRule = z.object({
  protocol: z.string(),
  /** A port or a range; empty for all. */
  ports: z.string(),
  addresses: z.array(z.string()).readonly(),
  /** IDs of load balancers. */
  loadBalancers: z.array(z.string()).readonly(),
});
export type FirewallRule = z.output<typeof FirewallRule>;

/** A firewall as observed. */
export const Firewall = z.object({
  id: z.string(),
  tags: z.array(z.string()),
  /** The number of machines to which it is attached directly, without a tag. */
  machines: z.int().min(0),
  inbound: z.array(FirewallRule),
  outbound: z.array(FirewallRule),
});
export type Firewall = z.output<typeof Firewall>;

/** A load balancer that exists. Its type and its network never change, whatever its Service says later. */
export const KnownLoadBalancer = z.object({
  id: z.string(),
  type: z.string(),
  network: z.string(),
  /** The port on the machines that it checks. */
  healthPort: z.int(),
});
export type KnownLoadBalancer = z.output<typeof KnownLoadBalancer>;

/** The observation of the capability. */
export const FirewallState = z.object({
  /** The firewalls with the requested name. */
  firewalls: z.array(Firewall),
  /** The requested load balancers that exist and are not known to belong to another owner. */
  loadBalancers: z.array(KnownLoadBalancer),
});
export type FirewallState = z.output<typeof FirewallState>;

/** The desired state of a firewall; the parameters of both actions. */
export const DesiredFirewall = z.strictObject({
  name: z.string(),
  tags: z.array(z.string()),
  inbound: z.array(FirewallRule),
  outbound: z.array(FirewallRule),
});
export type DesiredFirewall = z.output<typeof DesiredFirewall>;

/**
 * The actions of the capability. The target is the name of a new firewall, or the ID of an existing one. Both
 * return a `Firewall`.
 */
export const CREATE = "CreateFirewall";

export const UPDATE = "UpdateFirewall";

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

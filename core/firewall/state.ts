import * as z from "zod";

/** What the capability of a cloud that has firewalls is called. */
export const FIREWALL = "firewall";

/** What is asked of it: the firewall of this name, and which of these load balancers are the cluster's. */
export const FirewallQuestion = z.object({ name: z.string(), loadBalancers: z.array(z.string()) });
export type FirewallQuestion = z.output<typeof FirewallQuestion>;

/** What may pass, from or to whom; of whatever else a rule may name nothing is said. */
export const FirewallRule = z.object({
  protocol: z.string(),
  /** A port or a range of them; empty for all. */
  ports: z.string(),
  addresses: z.array(z.string()).readonly(),
  /** Ids. */
  loadBalancers: z.array(z.string()).readonly(),
});
export type FirewallRule = z.output<typeof FirewallRule>;

/** A firewall as it is. */
export const Firewall = z.object({
  id: z.string(),
  tags: z.array(z.string()),
  /** Machines that it holds for by themselves, without a tag. */
  machines: z.int().min(0),
  inbound: z.array(FirewallRule),
  outbound: z.array(FirewallRule),
});
export type Firewall = z.output<typeof Firewall>;

/** What the capability observes. */
export const FirewallState = z.object({
  /** Those of the name. */
  firewalls: z.array(Firewall),
  /** Those asked about that are there and not known to be anybody else's. */
  loadBalancers: z.array(z.string()),
});
export type FirewallState = z.output<typeof FirewallState>;

/** What a firewall is to be; parameters of both actions. */
export const WantedFirewall = z.strictObject({
  name: z.string(),
  tags: z.array(z.string()),
  inbound: z.array(FirewallRule),
  outbound: z.array(FirewallRule),
});
export type WantedFirewall = z.output<typeof WantedFirewall>;

/** The actions of the capability; their target is the name of what is made, and the id of what is there. Both result in a `Firewall`. */
export const CREATE = "CreateFirewall";
export const UPDATE = "UpdateFirewall";

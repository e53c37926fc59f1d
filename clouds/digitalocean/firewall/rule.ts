import * as z from "zod";
import type { Firewall, FirewallRule } from "#core/firewall/state.ts";

const texts = () =>
  z
    .array(z.string())
    .nullish()
    .transform((list) => list ?? []);

/** From or to whom; what is not read here is lost where the firewall is replaced. */
const Peers = z.object({ addresses: texts(), load_balancer_uids: texts() });

const rule = {
  protocol: z.string(),
  ports: z
    .string()
    .nullish()
    .transform((ports) => (ports === null || ports === undefined || EVERY.has(ports) ? "" : ports)),
};

/** How the API says all ports, where it does. */
const EVERY: ReadonlySet<string> = new Set(["all", "0"]);

const rules = <Rule extends z.ZodType>(each: Rule) =>
  z
    .array(each)
    .nullish()
    .transform((list) => list ?? []);

/** A firewall as the API describes it. */
export const ListedFirewall = z
  .object({
    id: z.string().regex(/^[\w-]+$/),
    name: z.string(),
    tags: texts(),
    droplet_ids: z
      .array(z.unknown())
      .nullish()
      .transform((ids) => ids?.length ?? 0),
    inbound_rules: rules(z.object({ ...rule, sources: Peers })),
    outbound_rules: rules(z.object({ ...rule, destinations: Peers })),
  })
  .transform(({ id, name, tags, droplet_ids: machines, inbound_rules, outbound_rules }) => ({
    name,
    firewall: {
      ...{ id, tags, machines },
      inbound: inbound_rules.map(({ sources, ...each }) => ruleOf(each, sources)),
      outbound: outbound_rules.map(({ destinations, ...each }) => ruleOf(each, destinations)),
    } satisfies Firewall,
  }));

/** The answer to what makes or replaces one. */
export const FirewallAnswer = z.object({ firewall: ListedFirewall });

/** Rules as the API takes them, by what it calls those who are at the other end. */
export function inTheirWords(rules: readonly FirewallRule[], peers: "sources" | "destinations"): unknown[] {
  return rules.map(({ protocol, ports, addresses, loadBalancers }) => ({
    protocol,
    ports: ports === "" ? (protocol === "icmp" ? "0" : "all") : ports,
    [peers]: {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(loadBalancers.length === 0 ? {} : { load_balancer_uids: loadBalancers }),
    },
  }));
}

function ruleOf(
  { protocol, ports }: Pick<FirewallRule, "protocol" | "ports">,
  { addresses, load_balancer_uids: loadBalancers }: z.output<typeof Peers>,
): FirewallRule {
  return { protocol, ports, addresses, loadBalancers };
}

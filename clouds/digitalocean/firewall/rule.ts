import * as z from "zod";
import type { Firewall, FirewallRule } from "#core/firewall/state.ts";

const stringList = () =>
  z
    .array(z.string())
    .nullish()
    .transform((list) => list ?? []);

/** Sources or destinations; fields that are not read here are lost when the firewall is replaced. */
const Peers = z.object({ addresses: stringList(), load_balancer_uids: stringList() });

const rule = {
  protocol: z.string(),
  ports: z
    .string()
    .nullish()
    .transform((ports) => (ports === null || ports === undefined || EVERY.has(ports) ? "" : ports)),
};

/** The API's forms of "all ports". */
const EVERY: ReadonlySet<string> = new Set(["all", "0"]);

const rules = <Rule extends z.ZodType>(each: Rule) =>
  z
    .array(each)
    .nullish()
    .transform((list) => list ?? []);

/** A firewall in the API. */
export const ListedFirewall = z
  .object({
    id: z.string().regex(/^[\w-]+$/),
    name: z.string(),
    tags: stringList(),
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
      inbound: inbound_rules.map(({ sources, ...each }) => buildRule(each, sources)),
      outbound: outbound_rules.map(({ destinations, ...each }) => buildRule(each, destinations)),
    } satisfies Firewall,
  }));

/** The answer to creating or replacing a firewall. */
export const FirewallAnswer = z.object({ firewall: ListedFirewall });

/** Formats rules for the API, with the API's name for the other end. */
export function formatRules(rules: readonly FirewallRule[], peers: "sources" | "destinations"): unknown[] {
  return rules.map(({ protocol, ports, addresses, loadBalancers }) => ({
    protocol,
    ports: ports === "" ? (protocol === "icmp" ? "0" : "all") : ports,
    [peers]: {
      ...(addresses.length === 0 ? {} : { addresses }),
      ...(loadBalancers.length === 0 ? {} : { load_balancer_uids: loadBalancers }),
    },
  }));
}

function buildRule(
  { protocol, ports }: Pick<FirewallRule, "protocol" | "ports">,
  { addresses, load_balancer_uids: loadBalancers }: z.output<typeof Peers>,
): FirewallRule {
  return { protocol, ports, addresses, loadBalancers };
}

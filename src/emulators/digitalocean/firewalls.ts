import * as z from "zod";
import {
  type Answer,
  buildErrorAnswer,
  buildJsonAnswer,
  FORBIDDEN,
  NOT_FOUND,
  type Refuse,
  type Resource,
  toJsonNumber,
} from "#emulators/digitalocean/answer.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

const Peers = z
  .strictObject({
    addresses: z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).optional(),
    load_balancer_uids: z.array(z.uuid()).optional(),
    tags: z.array(z.string()).optional(),
  })
  .refine(
    (peers) => Object.values(peers).some((each = []) => each.length > 0),
    "at least one peer is required",
  );

const rule = {
  protocol: z.enum(["tcp", "udp", "icmp"]),
  ports: z.string().regex(/^(all|0|\d{1,5}(-\d{1,5})?)$/),
};

const Request = z.strictObject({
  name: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]+$/),
  tags: z.array(z.string().regex(/^[\w:-]{1,255}$/)).max(5),
  droplet_ids: z
    .array(z.union([z.int().min(1), z.bigint().min(1n)]).transform(String))
    .max(10)
    .nullish()
    .transform((ids) => ids ?? []),
  inbound_rules: z.array(z.strictObject({ ...rule, sources: Peers })),
  outbound_rules: z.array(z.strictObject({ ...rule, destinations: Peers })),
});

/** A firewall as the fake keeps it. */
export interface FakeFirewall extends z.output<typeof Request> {
  readonly id: string;
}

/** The state of firewalls. */
export interface FirewallsState {
  readonly firewalls: Map<string, FakeFirewall>;
  readonly loadBalancers: ReadonlyMap<string, unknown>;
  readonly scopes: ReadonlySet<string>;
}

/** The maximum of rules in both directions together. */
const MAX_RULES = 50;

/** `/v2/firewalls`: list, create, and replace as a whole. */
export function createFirewalls(world: FirewallsState): Resource {
  return (request, refuse) => {
    const { method, path, query, body } = request;
    const id = /^\/v2\/firewalls\/([^/]+)$/.exec(path)?.[1];
    if (id === undefined && path !== "/v2/firewalls") return undefined;
    const scope = { GET: "read", POST: "create", PUT: "update" }[method];
    if (scope === undefined || (id === undefined) === (method === "PUT"))
      return refuse(405, "method_not_allowed");
    if (!world.scopes.has(`firewall:${scope}`)) return FORBIDDEN;
    if (method === "GET" && id === undefined) {
      const items = [...world.firewalls.values()];
      return buildPage(request, refuse, { key: "firewalls", known: [], items, rendered: renderFirewall });
    }
    if (Object.keys(query).length > 0) return refuse(422, "unprocessable_entity", "parameters");
    if (id === undefined) return put(crypto.randomUUID(), body, refuse, 202);
    const there = world.firewalls.get(id);
    if (there === undefined) return NOT_FOUND;
    return method === "GET"
      ? buildJsonAnswer(200, { firewall: renderFirewall(there) })
      : put(id, body, refuse, 200);
  };

  function put(id: string, body: unknown, refuse: Refuse, status: number): Answer {
    const { success, data, error } = Request.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", JSON.stringify(error.issues));
    const twin = [...world.firewalls.values()].find((each) => each.name === data.name && each.id !== id);
    if (twin !== undefined) return buildErrorAnswer(409, "conflict", {}, "duplicate name");
    if (data.inbound_rules.length + data.outbound_rules.length > MAX_RULES)
      return buildErrorAnswer(422, "unprocessable_entity", {}, `more than ${MAX_RULES} rules`);
    const lost = data.inbound_rules
      .flatMap(({ sources }) => sources.load_balancer_uids ?? [])
      .find((uid) => !world.loadBalancers.has(uid));
    if (lost !== undefined)
      return buildErrorAnswer(422, "unprocessable_entity", {}, `load balancer ${lost} not found`);
    const made: FakeFirewall = { ...data, id };
    world.firewalls.set(id, made);
    return buildJsonAnswer(status, { firewall: renderFirewall(made) });
  }
}

/** Builds an existing, empty firewall. */
export function buildFirewall(traits: Partial<FakeFirewall> = {}): FakeFirewall {
  return {
    ...{ id: crypto.randomUUID(), name: "foreign", tags: [], droplet_ids: [] },
    ...{ inbound_rules: [], outbound_rules: [] },
    ...traits,
  };
}

/** Returns a firewall as the API describes it: 0 means all ports, and the API chooses the order. */
function renderFirewall({ droplet_ids: ids, inbound_rules, outbound_rules, ...firewall }: FakeFirewall) {
  const said = <Rule extends { readonly ports: string }>(rules: readonly Rule[]) =>
    rules.map((each) => ({ ...each, ports: each.ports === "all" ? "0" : each.ports })).toReversed();
  return {
    ...firewall,
    ...{ status: "succeeded", created_at: "2026-01-01T00:00:00Z", pending_changes: [] },
    droplet_ids: ids.map(toJsonNumber),
    inbound_rules: said(inbound_rules),
    outbound_rules: said(outbound_rules),
  };
}

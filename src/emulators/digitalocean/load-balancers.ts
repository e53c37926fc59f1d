import {
  type Answer,
  buildErrorAnswer,
  buildJsonAnswer,
  type FakeRequest,
  FORBIDDEN,
  NOT_FOUND,
  type Refuse,
  type Resource,
  toJsonNumber,
} from "#emulators/digitalocean/answer.ts";
import type { FakeCertificate } from "#emulators/digitalocean/certificates.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";

import {
  CreateRequest,
  DropletsRequest,
  LoadBalancerRequest,
} from "#emulators/digitalocean/load-balancer-request.ts";
import { REGION, VPC } from "#emulators/digitalocean/names.ts";
import { buildPage } from "#emulators/digitalocean/page.ts";

/** A load balancer as the fake keeps it: the requested fields and the API's additions. */
export interface FakeLoadBalancer
  extends Omit<LoadBalancerRequest, "validate_only" | "tags" | "type" | "network" | "network_stack"> {
  id: string;
  status: "new" | "active" | "errored";
  ip: string;
  ipv6: string;
  type: "REGIONAL" | "REGIONAL_NETWORK";
  network: "EXTERNAL" | "INTERNAL";
  network_stack: "IPV4" | "DUALSTACK";
  tags: string[];
  /** The number of reads that still show it as new. */
  newFor: number;
  /** The number of reads and lists that still hide it. */
  hiddenFor: number;
}

/** The state of load balancers and of what they depend on. */
export interface LoadBalancersState {
  readonly loadBalancers: Map<string, FakeLoadBalancer>;
  readonly droplets: ReadonlyMap<string, FakeDroplet>;
  readonly certificates: ReadonlyMap<string, FakeCertificate>;
  readonly regions: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
  /** All tags of the account: a tag named at creation is created. */
  readonly tags: Set<string>;
  /** The number of reads that show a new load balancer before it is active. */
  newFor: number;
  /** The number of reads and lists that hide a new load balancer. */
  hideNew: number;
}

/**
 * `/v2/load_balancers`: created at once and active after a few reads, replaced as a whole by PUT, droplets
 * added and removed separately.
 */
export function createLoadBalancers(world: LoadBalancersState): Resource {
  return (request, refuse) => {
    const { method, path, query } = request;
    const ofDroplets = /^\/v2\/load_balancers\/([^/]+)\/droplets$/.exec(path)?.[1];
    if (ofDroplets !== undefined) return changeDroplets(ofDroplets, request, refuse);
    const id = /^\/v2\/load_balancers\/([^/]+)$/.exec(path)?.[1];
    if (id === undefined && path !== "/v2/load_balancers") return undefined;
    const scope = SCOPES[method];
    if (scope === undefined) return refuse(405, "method_not_allowed");
    if (!world.scopes.has(`load_balancer:${scope}`)) return FORBIDDEN;
    if (id === undefined) {
      if (method === "POST") return create(request, refuse);
      return method === "GET" ? list(request, refuse) : refuse(405, "method_not_allowed");
    }
    if (!UUID.test(id) || Object.keys(query).length > 0) return refuse(404, "not_found");
    const found = world.loadBalancers.get(id);
    if (method === "POST") return refuse(405, "method_not_allowed");
    if (found === undefined || (method === "GET" && isHidden(found))) return NOT_FOUND;
    if (method === "DELETE") {
      world.loadBalancers.delete(id);
      return { status: 204, body: "" };
    }
    return method === "GET"
      ? buildJsonAnswer(200, { load_balancer: seen(found) })
      : replace(found, request, refuse);
  };

  function changeDroplets(id: string, { method, body }: FakeRequest, refuse: Refuse): Answer {
    if (method !== "POST" && method !== "DELETE") return refuse(405, "method_not_allowed");
    if (!world.scopes.has("load_balancer:update")) return FORBIDDEN;
    const found = world.loadBalancers.get(id);
    if (found === undefined) return NOT_FOUND;
    const { success, data, error } = DropletsRequest.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", JSON.stringify(error.issues));
    const ids = new Set(data.droplet_ids);
    const others = found.droplet_ids.filter((each) => !ids.has(each));
    const next = { ...found, droplet_ids: method === "POST" ? [...others, ...ids] : others };
    const fault = findFault(next, world);
    if (method === "POST" && fault !== undefined) return buildInvalidAnswer(fault);
    world.loadBalancers.set(id, next);
    return { status: 204, body: "" };
  }

  function list(request: FakeRequest, refuse: Refuse): Answer {
    const items = [...world.loadBalancers.values()].filter((balancer) => !isHidden(balancer));
    return buildPage(request, refuse, { key: "load_balancers", known: [], items, rendered: seen });
  }

  function create({ body }: FakeRequest, refuse: Refuse): Answer {
    const { success, data, error } = CreateRequest.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", JSON.stringify(error.issues));
    const { validate_only: isCheck, ip: _wanted, tags = [], ...rest } = data;
    if (tags.length > 0 && !world.scopes.has("tag:create")) return FORBIDDEN;
    const { type = "REGIONAL", network = "EXTERNAL", network_stack: stack = "IPV4" } = rest;
    const made: FakeLoadBalancer = {
      vpc_uuid: VPC,
      project_id: PROJECT,
      size_unit: 1,
      ...rest,
      ...{ type, network, network_stack: stack, tags },
      id: crypto.randomUUID(),
      status: "new",
      ip: "",
      ipv6: "",
      newFor: world.newFor,
      hiddenFor: world.hideNew,
    };
    const fault = findFault(made, world);
    if (fault !== undefined) return buildInvalidAnswer(fault);
    if (isCheck === true) return buildJsonAnswer(200, { load_balancer: { ...rendered(made), id: "" } });
    for (const tag of tags) world.tags.add(tag);
    world.loadBalancers.set(made.id, made);
    return buildJsonAnswer(202, { load_balancer: rendered(made) });
  }

  function replace(found: FakeLoadBalancer, { body }: FakeRequest, refuse: Refuse): Answer {
    const { success, data, error } = LoadBalancerRequest.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", JSON.stringify(error.issues));
    const { validate_only: isCheck, tags: _tags, ...rest } = data;
    const changed = IMMUTABLE.find((key) => rest[key] !== undefined && rest[key] !== found[key]);
    if (changed !== undefined) return buildInvalidAnswer(`${changed} cannot be changed`);
    const { id, status, ip, ipv6, type, network, network_stack, tags, vpc_uuid, subnet_uuid } = found;
    const { newFor, hiddenFor } = found;
    const kept = { id, status, ip, ipv6, type, network, network_stack, tags, newFor, hiddenFor };
    // A missing field gets the API's default.
    const next: FakeLoadBalancer = {
      project_id: PROJECT,
      size_unit: 1,
      ...rest,
      ...kept,
      ...(vpc_uuid === undefined ? {} : { vpc_uuid }),
      ...(subnet_uuid === undefined ? {} : { subnet_uuid }),
    };
    const fault = findFault(next, world);
    if (fault !== undefined) return buildInvalidAnswer(fault);
    if (isCheck === true) return buildJsonAnswer(200, { load_balancer: rendered(found) });
    world.loadBalancers.set(id, next);
    return buildJsonAnswer(200, { load_balancer: rendered(next) });
  }

  function seen(balancer: FakeLoadBalancer): unknown {
    if (balancer.status !== "new") return rendered(balancer);
    if (balancer.newFor > 0) {
      balancer.newFor -= 1;
      return rendered(balancer);
    }
    activate(balancer, [...world.loadBalancers.keys()].indexOf(balancer.id) + 1);
    return rendered(balancer);
  }

  function rendered({ newFor: _, hiddenFor: __, size, ...balancer }: FakeLoadBalancer) {
    const targets = balancer.droplet_ids.filter((id) => world.droplets.has(id));
    return {
      ...balancer,
      ...(size === undefined ? {} : { size }),
      algorithm: "round_robin",
      created_at: "2026-01-01T00:00:00Z",
      tag: "",
      region: { slug: balancer.region, name: "Frankfurt 1", available: true, features: [], sizes: [] },
      droplet_ids: targets.map(toJsonNumber),
    };
  }
}

/** Builds an existing, active load balancer. */
export function buildLoadBalancer(traits: Partial<FakeLoadBalancer> = {}): FakeLoadBalancer {
  const request = LoadBalancerRequest.parse({
    name: "foreign",
    region: REGION,
    vpc_uuid: VPC,
    forwarding_rules: [{ entry_protocol: "tcp", entry_port: 80, target_protocol: "tcp", target_port: 80 }],
  });
  return {
    ...request,
    id: crypto.randomUUID(),
    status: "active",
    ip: "198.51.100.200",
    ipv6: "",
    type: "REGIONAL_NETWORK",
    network: "EXTERNAL",
    network_stack: "IPV4",
    size_unit: 1,
    project_id: PROJECT,
    tags: [],
    newFor: 0,
    hiddenFor: 0,
    ...traits,
  };
}

/** Returns whether this read still hides it; each call counts. */
function isHidden(balancer: FakeLoadBalancer): boolean {
  if (balancer.hiddenFor === 0) return false;
  balancer.hiddenFor -= 1;
  return true;
}

/** Makes a new load balancer active, with its addresses. */
export function activate(balancer: FakeLoadBalancer, number: number): void {
  balancer.status = "active";
  balancer.ip = balancer.network === "INTERNAL" ? `10.114.250.${number}` : `198.51.100.${number}`;
  balancer.ipv6 = balancer.network_stack === "DUALSTACK" ? `2604:a880:800:14::${number}` : "";
}

const SCOPES: Readonly<Record<string, string>> = {
  GET: "read",
  POST: "create",
  PUT: "update",
  DELETE: "delete",
};

const IMMUTABLE = ["type", "network", "network_stack", "region", "vpc_uuid", "subnet_uuid"] as const;
const PROJECT = "4de7ac8b-495b-4884-9a69-1050c6793cd7";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function buildInvalidAnswer(message: string): Answer {
  return buildErrorAnswer(422, "unprocessable_entity", {}, message);
}

/** Returns the API's errors about a request beyond its shape. */
export function findFault(
  {
    forwarding_rules: rules,
    type,
    region,
    droplet_ids: ids,
    network,
    network_stack: stack,
  }: FakeLoadBalancer,
  { droplets, certificates, regions }: LoadBalancersState,
): string | undefined {
  if (!regions.has(region)) return "region is not known";
  const reserved = rules.find(({ entry_port: port }) => port >= 50_053 && port <= 50_055);
  if (reserved !== undefined) return `entry port ${reserved.entry_port} is reserved`;
  const entries = rules.map((each) => `${LAYER[each.entry_protocol]}/${each.entry_port}`);
  if (new Set(entries).size < entries.length) return "an entry port is named twice";
  if (network === "INTERNAL" && stack === "DUALSTACK") return "an internal load balancer has IPv4 alone";
  for (const rule of rules) {
    const { entry_protocol: entry, target_protocol: target, certificate_id: certificate } = rule;
    if ((entry === "udp") !== (target === "udp")) return "udp goes with udp alone";
    if (certificate !== "" && !certificates.has(certificate)) return `certificate ${certificate} not found`;
    if (certificate !== "" && rule.tls_passthrough) return "a certificate in addition to tls_passthrough";
    if (entry === "http3" && certificate === "") return "http3 needs a certificate";
    if (/^http[s2]/.test(entry) && entry !== "http" && certificate === "" && !rule.tls_passthrough)
      return `${entry} needs a certificate or tls_passthrough`;
    if (type !== "REGIONAL_NETWORK") continue;
    if (entry !== "tcp" && entry !== "udp") return "a network load balancer forwards tcp and udp";
    if (rule.entry_port !== rule.target_port) return "a network load balancer keeps the port";
  }
  const lost = ids.find((id) => droplets.get(id)?.region !== region);
  return lost === undefined ? undefined : `droplet ${lost} not found in the region`;
}

/** QUIC in addition to TCP makes a port count twice. */
const LAYER = { http: "tcp", https: "tcp", http2: "tcp", tcp: "tcp", udp: "udp", http3: "udp" } as const;

import {
  type Answer,
  digits,
  errorAnswer,
  type FakeRequest,
  FORBIDDEN,
  jsonAnswer,
  NOT_FOUND,
  type Refuse,
  type Resource,
} from "#emulators/digitalocean/answer.ts";
import type { FakeCertificate } from "#emulators/digitalocean/certificates.ts";
import type { FakeDroplet } from "#emulators/digitalocean/droplets.ts";
import { faultOf } from "#emulators/digitalocean/load-balancer-fault.ts";
import {
  CreateRequest,
  DropletsRequest,
  LoadBalancerRequest,
} from "#emulators/digitalocean/load-balancer-request.ts";
import { REGION, VPC } from "#emulators/digitalocean/names.ts";
import { pageOf } from "#emulators/digitalocean/page.ts";

/** A load balancer as the fake keeps it: what was asked for, with what the API has added. */
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
  /** How often it is still to be seen as new. */
  newFor: number;
  /** So many reads and lists still lack it. */
  hiddenFor: number;
}

/** What load balancers depend on, and are kept in. */
export interface LoadBalancersWorld {
  readonly loadBalancers: Map<string, FakeLoadBalancer>;
  readonly droplets: ReadonlyMap<string, FakeDroplet>;
  readonly certificates: ReadonlyMap<string, FakeCertificate>;
  readonly regions: ReadonlySet<string>;
  readonly scopes: ReadonlySet<string>;
  /** All tags of the account: one that is named at creation comes to be. */
  readonly tags: Set<string>;
  /** How often one that was just made is seen before it is active. */
  newFor: number;
  /** So many reads and lists lack one that was just made. */
  hideNew: number;
}

/** `/v2/load_balancers`: made at once and active after a few looks, replaced as a whole by PUT, droplets added and removed alone. */
export function createLoadBalancers(world: LoadBalancersWorld): Resource {
  return (request, refuse) => {
    const { method, path, query } = request;
    const ofDroplets = /^\/v2\/load_balancers\/([^/]+)\/droplets$/.exec(path)?.[1];
    if (ofDroplets !== undefined) return changeDroplets(ofDroplets, request, refuse);
    const one = /^\/v2\/load_balancers\/([^/]+)$/.exec(path)?.[1];
    if (one === undefined && path !== "/v2/load_balancers") return undefined;
    const scope = SCOPES[method];
    if (scope === undefined) return refuse(405, "method_not_allowed");
    if (!world.scopes.has(`load_balancer:${scope}`)) return FORBIDDEN;
    if (one === undefined) {
      if (method === "POST") return create(request, refuse);
      return method === "GET" ? list(request, refuse) : refuse(405, "method_not_allowed");
    }
    if (!UUID.test(one) || Object.keys(query).length > 0) return refuse(404, "not_found");
    const found = world.loadBalancers.get(one);
    if (method === "POST") return refuse(405, "method_not_allowed");
    if (found === undefined || (method === "GET" && isHidden(found))) return NOT_FOUND;
    if (method === "DELETE") {
      world.loadBalancers.delete(one);
      return { status: 204, body: "" };
    }
    return method === "GET"
      ? jsonAnswer(200, { load_balancer: seen(found) })
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
    const fault = faultOf(next, world);
    if (method === "POST" && fault !== undefined) return invalid(fault);
    world.loadBalancers.set(id, next);
    return { status: 204, body: "" };
  }

  function list(request: FakeRequest, refuse: Refuse): Answer {
    const items = [...world.loadBalancers.values()].filter((balancer) => !isHidden(balancer));
    return pageOf(request, refuse, { key: "load_balancers", known: [], items, rendered: seen });
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
    const fault = faultOf(made, world);
    if (fault !== undefined) return invalid(fault);
    if (isCheck === true) return jsonAnswer(200, { load_balancer: { ...rendered(made), id: "" } });
    for (const tag of tags) world.tags.add(tag);
    world.loadBalancers.set(made.id, made);
    return jsonAnswer(202, { load_balancer: rendered(made) });
  }

  function replace(found: FakeLoadBalancer, { body }: FakeRequest, refuse: Refuse): Answer {
    const { success, data, error } = LoadBalancerRequest.safeParse(body);
    if (!success) return refuse(422, "unprocessable_entity", JSON.stringify(error.issues));
    const { validate_only: isCheck, tags: _tags, ...rest } = data;
    const changed = IMMUTABLE.find((key) => rest[key] !== undefined && rest[key] !== found[key]);
    if (changed !== undefined) return invalid(`${changed} cannot be changed`);
    const { id, status, ip, ipv6, type, network, network_stack, tags, vpc_uuid, subnet_uuid } = found;
    const { newFor, hiddenFor } = found;
    const kept = { id, status, ip, ipv6, type, network, network_stack, tags, newFor, hiddenFor };
    // Whatever is not sent is as the API would have made it.
    const next: FakeLoadBalancer = {
      project_id: PROJECT,
      size_unit: 1,
      ...rest,
      ...kept,
      ...(vpc_uuid === undefined ? {} : { vpc_uuid }),
      ...(subnet_uuid === undefined ? {} : { subnet_uuid }),
    };
    const fault = faultOf(next, world);
    if (fault !== undefined) return invalid(fault);
    if (isCheck === true) return jsonAnswer(200, { load_balancer: rendered(found) });
    world.loadBalancers.set(id, next);
    return jsonAnswer(200, { load_balancer: rendered(next) });
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
      droplet_ids: targets.map(digits),
    };
  }
}

/** One that is there and active. */
export function aLoadBalancer(traits: Partial<FakeLoadBalancer> = {}): FakeLoadBalancer {
  const request = LoadBalancerRequest.parse({
    name: "somebody-s",
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

/** Whether what is asked now lacks it still; each time is one less. */
function isHidden(balancer: FakeLoadBalancer): boolean {
  if (balancer.hiddenFor === 0) return false;
  balancer.hiddenFor -= 1;
  return true;
}

/** Lets one that is new become active, with its addresses. */
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

function invalid(message: string): Answer {
  return errorAnswer(422, "unprocessable_entity", {}, message);
}

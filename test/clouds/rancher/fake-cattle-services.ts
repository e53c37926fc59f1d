import {
  buildCattleError,
  type CattleAnswer,
  type CattleRequest,
  type FakeHost,
} from "#test/clouds/rancher/fake-cattle.ts";

/** A stack. */
export interface FakeStack {
  readonly id: string;
  readonly name: string;
  readonly externalId: string;
}

/** A load balancer or an external service; reads move its `state` forward. */
export interface FakeService {
  readonly id: string;
  readonly kind: "loadBalancerService" | "externalService";
  readonly name: string;
  readonly stackId: string;
  state: string;
  /** The number of reads until the next state. */
  readsLeft: number;
  readonly externalIpAddresses?: readonly string[];
  readonly launchConfig?: { readonly imageUuid: string; readonly ports: readonly string[] };
  lbConfig?: { portRules: readonly PortRule[] };
  /** IDs of the services that it sends to. */
  links: readonly string[];
}

export interface PortRule {
  readonly sourcePort: number;
  readonly targetPort: number;
  readonly serviceId: string;
  readonly protocol: string;
}

/** The services of an environment. */
export interface FakeServices {
  readonly stacks: Map<string, FakeStack>;
  readonly all: Map<string, FakeService>;
  readonly settings: Map<string, string>;
  /** The number of reads until a resource is settled. */
  readsToSettle: number;
  nextId: number;
}

export function createServices(): FakeServices {
  return {
    stacks: new Map(),
    all: new Map(),
    settings: new Map([["lb.instance.image", "rancher/lb-service-haproxy:v0.9.14"]]),
    readsToSettle: 1,
    nextId: 1,
  };
}

interface Asked extends CattleRequest {
  readonly base: string;
  readonly hosts: ReadonlyMap<string, FakeHost>;
}

/** Returns a resource, a list of them, or undefined for an unknown path. */
export function answerToServices(services: FakeServices, asked: Asked): CattleAnswer | unknown[] | undefined {
  const { method, path, query, base } = asked;
  const [, folder = "", id, sub] = path.split("/");
  if (folder === "settings" && id !== undefined && method === "GET") {
    const value = services.settings.get(id);
    return value === undefined
      ? buildCattleError(404, "NotFound")
      : ok({ id, type: "setting", name: id, value });
  }
  if (folder === "stacks") return stacks(services, asked, id);
  const kind = KINDS.get(folder);
  if (kind === undefined) return undefined;
  if (id === undefined && method === "POST") return create(services, kind, asked);
  if (id === undefined && method === "GET") {
    const wrong = Object.keys(query).filter(
      (key) => !["removed_null", "limit", "marker", "name", "stackId"].includes(key),
    );
    if (wrong.length > 0 || query["removed_null"] !== "1") return buildCattleError(422, "InvalidOption");
    const found = [...services.all.values()].filter(
      (each) =>
        each.kind === kind &&
        (query["name"] === undefined || each.name === query["name"]) &&
        (query["stackId"] === undefined || each.stackId === query["stackId"]),
    );
    return found
      .map((each) => read(services, each))
      .filter((each) => each.state !== "removed")
      .map((each) => shown(each, asked));
  }
  const service = services.all.get(id ?? "");
  if (service === undefined || service.kind !== kind) return buildCattleError(404, "NotFound");
  if (sub === "consumedservices" || sub === "consumedbyservices") {
    const isOf = (each: FakeService): boolean =>
      sub === "consumedservices" ? service.links.includes(each.id) : each.links.includes(service.id);
    return [...services.all.values()].filter(isOf).map((each) => shown(each, { base }));
  }
  if (method === "GET") return ok(shown(read(services, service), asked));
  if (method === "DELETE") return goTo(services, service, "removing", asked);
  if (method === "PUT") return update(services, service, asked);
  if (method === "POST") return act(services, service, asked);
  return buildCattleError(405, "MethodNotAllowed");
}

const KINDS: ReadonlyMap<string, FakeService["kind"]> = new Map([
  ["loadbalancerservices", "loadBalancerService"],
  ["externalservices", "externalService"],
]);

/** The state after a temporary one. */
const AFTER: Readonly<Record<string, string>> = {
  registering: "inactive",
  activating: "active",
  "updating-active": "active",
  "updating-inactive": "inactive",
  removing: "removed",
};

function read(services: FakeServices, service: FakeService): FakeService {
  const after = AFTER[service.state];
  if (after === undefined) return service;
  if (service.readsLeft > 0) service.readsLeft -= 1;
  else {
    service.state = after;
    if (after === "removed") forget(services, service);
  }
  return service;
}

/** Completes all work in progress. */
export function settleAll(services: FakeServices): void {
  for (const service of [...services.all.values()]) {
    while (AFTER[service.state] !== undefined && services.all.has(service.id)) read(services, service);
  }
}

function forget({ all }: FakeServices, { id }: FakeService): void {
  all.delete(id);
  for (const each of all.values()) each.links = each.links.filter((link) => link !== id);
}

function goTo(
  services: FakeServices,
  service: FakeService,
  state: string,
  asked: { readonly base: string },
): CattleAnswer {
  service.state = state;
  service.readsLeft = services.readsToSettle;
  return ok(shown(service, asked));
}

function stacks(
  services: FakeServices,
  { method, query, body, base }: Asked,
  id: string | undefined,
): CattleAnswer | unknown[] {
  const show = (stack: FakeStack) => ({
    ...stack,
    type: "stack",
    state: "active",
    links: { self: `${base}/stacks/${stack.id}` },
  });
  if (id === undefined && method === "GET") {
    return [...services.stacks.values()]
      .filter(({ externalId }) => externalId === query["externalId"])
      .map(show);
  }
  if (id !== undefined || method !== "POST") return buildCattleError(405, "MethodNotAllowed");
  const { name, externalId, ...others } = body as Record<string, string>;
  if (name === undefined || externalId === undefined || Object.keys(others).length > 0)
    return buildCattleError(422, "InvalidFormat");
  if ([...services.stacks.values()].some((each) => each.name === name))
    return buildCattleError(422, "NotUnique");
  const stack = { id: `1st${services.nextId}`, name, externalId };
  services.nextId += 1;
  services.stacks.set(stack.id, stack);
  return { status: 201, body: show(stack) };
}

const FIELDS = {
  loadBalancerService: ["name", "stackId", "launchConfig", "lbConfig"],
  externalService: ["name", "stackId", "externalIpAddresses"],
} as const;

function create(services: FakeServices, kind: FakeService["kind"], { body, base }: Asked): CattleAnswer {
  const given = body as Partial<FakeService>;
  const { name = "", stackId = "" } = given;
  const isWhole = FIELDS[kind].every((field) => Reflect.get(given, field) !== undefined);
  const isMore = Object.keys(given).some((key) => !(FIELDS[kind] as readonly string[]).includes(key));
  if (!isWhole || isMore || !/^[a-zA-Z0-9-]{1,63}$/.test(name)) return buildCattleError(422, "InvalidFormat");
  if (!services.stacks.has(stackId)) return buildCattleError(422, "InvalidReference");
  if (given.launchConfig?.ports.some((port) => !/^\d+:\d+\/tcp$/.test(port)))
    return buildCattleError(422, "InvalidFormat");
  if (given.launchConfig && !given.launchConfig.imageUuid.startsWith("docker:"))
    return buildCattleError(422, "InvalidFormat");
  const isTaken = [...services.all.values()].some((each) => each.stackId === stackId && each.name === name);
  if (isTaken) return buildCattleError(422, "NotUnique");
  const service: FakeService = {
    ...(given as FakeService),
    id: `1s${services.nextId}`,
    kind,
    state: "registering",
    readsLeft: services.readsToSettle,
    links: [],
  };
  services.nextId += 1;
  services.all.set(service.id, service);
  return { status: 201, body: shown(service, { base }) };
}

function update(services: FakeServices, service: FakeService, asked: Asked): CattleAnswer {
  const { lbConfig, ...others } = asked.body as { lbConfig?: FakeService["lbConfig"] };
  if (service.kind !== "loadBalancerService" || lbConfig === undefined || Object.keys(others).length > 0)
    return buildCattleError(422, "InvalidFormat");
  if (!actionsOf(service).includes("update")) return buildCattleError(409, "InvalidState");
  if (lbConfig.portRules.some((rule) => !services.all.has(rule.serviceId) || rule.protocol !== "tcp"))
    return buildCattleError(422, "InvalidReference");
  service.lbConfig = lbConfig;
  return goTo(services, service, service.state === "active" ? "updating-active" : "updating-inactive", asked);
}

function act(services: FakeServices, service: FakeService, asked: Asked): CattleAnswer {
  const action = asked.query["action"] ?? "";
  if (!actionsOf(service).includes(action)) return buildCattleError(422, "ActionNotAvailable");
  if (action === "activate") return goTo(services, service, "activating", asked);
  if (action !== "setservicelinks") return buildCattleError(422, "ActionNotAvailable");
  const { serviceLinks } = asked.body as { serviceLinks: readonly { readonly serviceId: string }[] };
  if (serviceLinks.some(({ serviceId }) => !services.all.has(serviceId)))
    return buildCattleError(422, "InvalidReference");
  service.links = serviceLinks.map(({ serviceId }) => serviceId);
  return ok(shown(service, asked));
}

function actionsOf({ kind, state }: FakeService): string[] {
  const ofAll =
    state === "inactive"
      ? ["activate", "remove", "update"]
      : state === "active"
        ? ["deactivate", "remove", "update"]
        : [];
  return ofAll.length > 0 && kind === "loadBalancerService" ? [...ofAll, "setservicelinks"] : ofAll;
}

function shown(service: FakeService, { base }: { readonly base: string; readonly hosts?: unknown }) {
  const { readsLeft: _left, links, kind, ...facts } = service;
  const self = `${base}/${kind.toLowerCase()}s/${service.id}`;
  const ports = service.launchConfig?.ports.map((port) => Number(port.split(":")[0])) ?? [];
  const isUp = service.state === "active" || service.state === "updating-active";
  const publicEndpoints =
    isUp && kind === "loadBalancerService"
      ? ["203.0.113.10", "203.0.113.11"].flatMap((ipAddress) => ports.map((port) => ({ ipAddress, port })))
      : null;
  return {
    ...facts,
    type: kind,
    links: {
      self,
      consumedservices: `${self}/consumedservices`,
      consumedbyservices: `${self}/consumedbyservices`,
    },
    actions: Object.fromEntries(actionsOf(service).map((action) => [action, `${self}?action=${action}`])),
    ...(kind === "loadBalancerService" ? { publicEndpoints } : {}),
  };
}

function ok(body: unknown): CattleAnswer {
  return { status: 200, body };
}

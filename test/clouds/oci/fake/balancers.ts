import * as z from "zod";
import {
  buildRefusal,
  type FakeReply,
  type FakeRequest,
  type FakeRoute,
  NOT_FOUND,
} from "#test/clouds/oci/fake/reply.ts";
import type { FakeWorkRequests } from "#test/clouds/oci/fake/work-requests.ts";

type Parts = Record<string, Record<string, unknown>>;

/** A load balancer of either service as the fake keeps it. */
export interface FakeBalancer {
  readonly id: string;
  readonly compartmentId: string;
  displayName: string;
  lifecycleState: string;
  isPrivate: boolean;
  ipAddresses: { ipAddress: string; isPublic: boolean }[];
  backendSets: Parts;
  listeners: Parts;
  ruleSets: Parts;
  networkSecurityGroupIds: string[];
  freeformTags: Record<string, string>;
  definedTags: Record<string, unknown>;
  /** The other fields of its creation. */
  others: Record<string, unknown>;
  version: number;
  /** So many lists hide it. */
  hiddenFor: number;
}

/** One of the two services, strict: `close` reports requests that the API rejects as invalid. */
export interface FakeBalancers {
  readonly balancers: Map<string, FakeBalancer>;
  readonly routes: readonly FakeRoute[];
  readonly violations: string[];
  /**
   * The created load balancer and the answer, by the creation's token. An entry expires when the load
   * balancer is no longer listed.
   */
  readonly tokens: Map<string, { readonly id: string; readonly reply: FakeReply }>;
  /** So many lists hide a new load balancer. */
  hideNew: number;
  /** The creation of new load balancers fails. */
  failCreation: boolean;
  add(traits?: Partial<FakeBalancer>): FakeBalancer;
}

/** The differences between the two services. */
export interface Dialect {
  readonly kind: "lb" | "nlb";
  readonly base: string;
  readonly idPrefix: string;
  readonly create: z.ZodObject;
  /** The parts of a load balancer, by the last part of the path: their names, and their schemas. */
  readonly parts: Readonly<Record<string, z.ZodObject>>;
  readonly shape: z.ZodObject | undefined;
  /** Returns the answer for a list. */
  readonly list: (items: readonly unknown[]) => FakeReply | readonly unknown[];
  readonly accepted: number;
}

export function createFakeBalancers(
  dialect: Dialect,
  work: FakeWorkRequests,
  isGroup: (id: string) => boolean,
): FakeBalancers {
  const { kind, base } = dialect;
  const balancers = new Map<string, FakeBalancer>();
  const tokens: FakeBalancers["tokens"] = new Map();
  const violations: string[] = [];
  let made = 0;

  const wrong = ({ method, path }: FakeRequest, why: string): FakeReply => {
    violations.push(`${method} ${path}: ${why}`);
    return buildRefusal(400, "InvalidParameter", why);
  };
  const etagOf = ({ id, version }: FakeBalancer): string => `${id.slice(-4)}-${version}`;
  const shown = (balancer: FakeBalancer) => {
    const { version: _, hiddenFor: __, others, ruleSets, backendSets, ...rest } = balancer;
    // The addresses of a request are among those of the answer.
    const { assignedPrivateIpv4: ___, assignedIpv6: ____, ...shownOthers } = others;
    return {
      ...REQUIRED[kind],
      ...shownOthers,
      ...rest,
      ...(kind === "lb"
        ? { backendSets: nameBackends(backendSets), ruleSets: named(ruleSets) }
        : { backendSets }),
      timeCreated: "2026-01-01T00:00:00.000Z",
    };
  };
  const named = (parts: Parts): Parts =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, { ...part, name }]));
  const add = (traits: Partial<FakeBalancer> = {}): FakeBalancer => {
    made += 1;
    const id = traits.id ?? `${dialect.idPrefix}.oc1.phx.b${made}`;
    const balancer: FakeBalancer = {
      compartmentId: "ocid1.compartment.oc1..c1",
      displayName: `balancer-${made}`,
      lifecycleState: "ACTIVE",
      isPrivate: false,
      ipAddresses: [],
      backendSets: {},
      listeners: {},
      ruleSets: {},
      networkSecurityGroupIds: [],
      freeformTags: {},
      definedTags: {},
      others: {},
      version: 1,
      hiddenFor: 0,
      ...traits,
      id,
    };
    balancers.set(id, balancer);
    return balancer;
  };
  const isGone = (id: string): boolean => ENDED.has(balancers.get(id)?.lifecycleState ?? "DELETED");
  const addressesOf = (body: Record<string, unknown>) => {
    const version = `${body["nlbIpVersion"] ?? body["ipMode"] ?? "IPV4"}`;
    const isPublic = body["isPrivate"] !== true;
    const ipv4 = body["assignedPrivateIpv4"] ?? (isPublic ? `203.0.113.${made}` : `10.0.250.${made}`);
    const ipv6 = body["assignedIpv6"] ?? `2603:c020::${made}`;
    const all = [...(version === "IPV6" ? [] : [ipv4]), ...(version === "IPV4" ? [] : [ipv6])];
    return [
      ...all.map((ipAddress) => ({ ipAddress: `${ipAddress}`, isPublic })),
      // A network load balancer shows its private address in addition to its public one.
      ...(kind === "nlb" && isPublic && version !== "IPV6"
        ? [{ ipAddress: `10.0.250.${made}`, isPublic: false }]
        : []),
    ];
  };

  function create(request: FakeRequest): FakeReply {
    const read = dialect.create.safeParse(request.body);
    if (!read.success) return wrong(request, z.prettifyError(read.error));
    const token = `${request.headers["opc-retry-token"] ?? ""}`;
    const before = tokens.get(token);
    if (before !== undefined)
      return isGone(before.id) ? buildRefusal(409, "InvalidatedRetryToken") : before.reply;
    const {
      compartmentId,
      displayName,
      isPrivate,
      backendSets,
      listeners,
      ruleSets,
      networkSecurityGroupIds,
      freeformTags,
      definedTags,
      ...others
    } = read.data as unknown as FakeBalancer & Record<string, unknown>;
    const fault = faultOfListeners(listeners ?? {}, {
      backendSets: backendSets ?? {},
      ruleSets: ruleSets ?? {},
    });
    if (fault !== undefined) return wrong(request, fault);
    if (!(networkSecurityGroupIds ?? []).every(isGroup)) return NOT_FOUND;
    const balancer = add({
      ...{ compartmentId, displayName, isPrivate: isPrivate ?? false, lifecycleState: "CREATING" },
      ...{
        backendSets: named(backendSets ?? {}),
        listeners: named(listeners ?? {}),
        ruleSets: named(ruleSets ?? {}),
      },
      ...{ networkSecurityGroupIds: networkSecurityGroupIds ?? [], others, hiddenFor: fake.hideNew },
      ...{ freeformTags: freeformTags ?? {}, definedTags: definedTags ?? {} },
    });
    const ipAddresses = addressesOf(read.data);
    const isFailing = fake.failCreation;
    const headers = work.order({
      ...{ kind, compartmentId, target: balancer.id, type: "CreateLoadBalancer" },
      apply(isDone) {
        const isMade = isDone && !isFailing;
        balancer.lifecycleState = isMade ? "ACTIVE" : "FAILED";
        if (isMade) balancer.ipAddresses = ipAddresses;
        balancer.version += 1;
      },
    });
    const body = kind === "nlb" ? { body: shown(balancer) } : {};
    const reply: FakeReply = { status: dialect.accepted, headers, ...body };
    if (token !== "") tokens.set(token, { id: balancer.id, reply });
    return reply;
  }

  /**
   * Changes a load balancer; rejects it while another change is in progress, or if the client's version is
   * old.
   */
  function change(
    request: FakeRequest,
    id: string,
    type: string,
    apply: (balancer: FakeBalancer) => FakeReply | (() => void),
  ): FakeReply {
    const balancer = balancers.get(id);
    if (balancer === undefined || ENDED.has(balancer.lifecycleState)) return NOT_FOUND;
    const isDeletable = type === "DeleteLoadBalancer" && balancer.lifecycleState === "FAILED";
    if (work.isBusy(id) || (balancer.lifecycleState !== "ACTIVE" && !isDeletable))
      return buildRefusal(409, "IncorrectState", "a work request is in progress");
    const etag = request.headers["if-match"];
    if (etag !== undefined && etag !== etagOf(balancer)) return buildRefusal(412, "NoEtagMatch");
    const applied = apply(balancer);
    if (typeof applied !== "function") return applied;
    if (type === "DeleteLoadBalancer") balancer.lifecycleState = "DELETING";
    else if (kind === "nlb") balancer.lifecycleState = "UPDATING";
    const headers = work.order({
      ...{ kind, compartmentId: balancer.compartmentId, target: id, type },
      apply(isDone) {
        if (isDone) applied();
        if (balancer.lifecycleState === "UPDATING") balancer.lifecycleState = "ACTIVE";
        balancer.version += 1;
      },
    });
    return { status: dialect.accepted, headers };
  }

  const partsOf = (balancer: FakeBalancer, what: string): Parts =>
    what === "backendSets"
      ? balancer.backendSets
      : what === "listeners"
        ? balancer.listeners
        : balancer.ruleSets;

  function put(request: FakeRequest, id: string, what: string, nameOfPath: string | undefined): FakeReply {
    return change(request, id, `Put ${what}`, (balancer) => {
      const schema = dialect.parts[what];
      const whole = nameOfPath === undefined ? schema?.extend({ name: z.string().min(1) }) : schema;
      const read = whole?.safeParse(request.body);
      if (read?.success !== true)
        return wrong(request, read === undefined ? what : z.prettifyError(read.error));
      const part = read.data as Record<string, unknown>;
      const name = nameOfPath ?? `${part["name"]}`;
      const parts = partsOf(balancer, what);
      if (nameOfPath === undefined && Object.hasOwn(parts, name))
        return buildRefusal(409, "InvalidParameter", `${name} is there`);
      if (nameOfPath !== undefined && !Object.hasOwn(parts, name)) return NOT_FOUND;
      const next = { ...parts, [name]: { ...part, name } };
      const fault = what === "listeners" ? faultOfListeners(next, balancer) : undefined;
      if (fault !== undefined) return wrong(request, fault);
      return () => {
        parts[name] = { ...part, name };
      };
    });
  }

  function drop(request: FakeRequest, id: string, what: string, name: string): FakeReply {
    return change(request, id, `Delete ${what}`, (balancer) => {
      const parts = partsOf(balancer, what);
      if (!Object.hasOwn(parts, name)) return NOT_FOUND;
      const isInUse = Object.values(balancer.listeners).some(
        ({ defaultBackendSetName, ruleSetNames }) =>
          (what === "backendSets" && defaultBackendSetName === name) ||
          (what === "ruleSets" && ((ruleSetNames as string[] | undefined) ?? []).includes(name)),
      );
      if (isInUse) return wrong(request, `${name} is in use by a listener`);
      return () => {
        delete parts[name];
      };
    });
  }

  const at = (rest: string): RegExp => new RegExp(`^${base}${rest}$`);
  const routes: FakeRoute[] = [
    {
      method: "GET",
      path: at(""),
      required: ["compartmentId"],
      allowed: ["displayName", "lifecycleState", "detail"],
      paged: true,
      answer: ({ query }) => {
        const found = [...balancers.values()].filter(
          ({ compartmentId, displayName }) =>
            compartmentId === query["compartmentId"] &&
            (query["displayName"] === undefined || displayName === query["displayName"]),
        );
        const visible = found.filter((balancer) => {
          balancer.hiddenFor -= 1;
          return balancer.hiddenFor < 0;
        });
        return dialect.list(visible.map(shown));
      },
    },
    { method: "POST", path: at(""), answer: create },
    {
      method: "GET",
      path: at("/([^/]+)"),
      answer(_, id = "") {
        const balancer = balancers.get(id);
        if (balancer === undefined) return NOT_FOUND;
        const reply = {
          status: 200,
          body: shown(structuredClone(balancer)),
          headers: { etag: etagOf(balancer) },
        };
        work.look(id);
        return reply;
      },
    },
    {
      method: "DELETE",
      path: at("/([^/]+)"),
      answer: (request, id = "") =>
        change(request, id, "DeleteLoadBalancer", (balancer) => () => {
          balancer.lifecycleState = "DELETED";
          balancer.networkSecurityGroupIds = [];
        }),
    },
    {
      method: "PUT",
      path: at("/([^/]+)"),
      answer: (request, id = "") =>
        change(request, id, "UpdateLoadBalancer", (balancer) => {
          const read = Retagged.safeParse(request.body);
          if (!read.success) return wrong(request, z.prettifyError(read.error));
          return () => {
            balancer.freeformTags = read.data.freeformTags;
          };
        }),
    },
    {
      method: "PUT",
      path: at("/([^/]+)/networkSecurityGroups"),
      answer: (request, id = "") =>
        change(request, id, "UpdateNetworkSecurityGroups", (balancer) => {
          const read = z
            .strictObject({ networkSecurityGroupIds: z.array(z.string()).max(5) })
            .safeParse(request.body);
          if (!read.success) return wrong(request, z.prettifyError(read.error));
          if (!read.data.networkSecurityGroupIds.every(isGroup)) return NOT_FOUND;
          return () => {
            balancer.networkSecurityGroupIds = read.data.networkSecurityGroupIds;
          };
        }),
    },
    ...Object.keys(dialect.parts).flatMap((what): FakeRoute[] => [
      {
        method: "POST",
        path: at(`/([^/]+)/${what}`),
        answer: (request, id = "") => put(request, id, what, undefined),
      },
      {
        method: "PUT",
        path: at(`/([^/]+)/${what}/([^/]+)`),
        answer: (request, id = "", name = "") => put(request, id, what, decodeURIComponent(name)),
      },
      {
        method: "DELETE",
        path: at(`/([^/]+)/${what}/([^/]+)`),
        answer: (request, id = "", name = "") => drop(request, id, what, decodeURIComponent(name)),
      },
    ]),
    ...(dialect.shape === undefined ? [] : [shapeRoute(dialect.shape)]),
  ];

  function shapeRoute(schema: z.ZodObject): FakeRoute {
    return {
      method: "PUT",
      path: at("/([^/]+)/updateShape"),
      answer: (request, id = "") =>
        change(request, id, "UpdateShape", (balancer) => {
          const read = schema.safeParse(request.body);
          if (!read.success) return wrong(request, z.prettifyError(read.error));
          return () => {
            balancer.others = { ...balancer.others, shapeDetails: undefined, ...read.data };
          };
        }),
    };
  }

  const fake: FakeBalancers = { balancers, routes, violations, tokens, hideNew: 0, failCreation: false, add };
  return fake;
}

/** Members that each answer has, for load balancers that were not created by a request. */
const REQUIRED = { lb: { shapeName: "flexible" }, nlb: { subnetId: "ocid1.subnet.oc1.phx.s1" } };

/** Returns the backend sets of a load balancer as its API shows them: backends have a name. */
function nameBackends(backendSets: Parts): Parts {
  const show = (set: Record<string, unknown>) => ({
    ...set,
    backends: ((set["backends"] as Record<string, unknown>[] | undefined) ?? []).map((backend) => ({
      ...backend,
      name: `${backend["ipAddress"]}:${backend["port"]}`,
    })),
  });
  return Object.fromEntries(Object.entries(backendSets).map(([name, set]) => [name, show(set)]));
}

/** All free-form tags: missing ones are removed. */
export const Retagged = z.strictObject({
  freeformTags: z
    .record(z.string().max(100), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= 10),
});

const ENDED: ReadonlySet<string> = new Set(["DELETED", "DELETING"]);

/**
 * Returns an error unless listeners name existing backend sets and rule sets, and each has its own protocol,
 * family and port.
 */
function faultOfListeners(
  listeners: Readonly<Parts>,
  { backendSets, ruleSets }: { readonly backendSets: Readonly<Parts>; readonly ruleSets: Readonly<Parts> },
): string | undefined {
  const ports = new Set<string>();
  for (const [name, listener] of Object.entries(listeners)) {
    if (backendSets[`${listener["defaultBackendSetName"]}`] === undefined)
      return `${name}: no such backend set`;
    const names = (listener["ruleSetNames"] as string[] | undefined) ?? [];
    if (names.some((each) => ruleSets[each] === undefined)) return `${name}: no such rule set`;
    if (names.length > 0 && listener["protocol"] === "TCP") return `${name}: rule sets are of HTTP`;
    const protocol =
      listener["ipVersion"] === undefined ? "" : `${listener["protocol"]} ${listener["ipVersion"]}`;
    const key = `${listener["port"]} ${protocol}`;
    if (ports.has(key)) return `${name}: another listener is on its port`;
    ports.add(key);
  }
  return undefined;
}

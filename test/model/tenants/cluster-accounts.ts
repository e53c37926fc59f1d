import { parseProviderID } from "#clouds/aws/provider-id.ts";
import { createMemoryLoadBalancers } from "#clouds/memory/load-balancers/capability.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import type { ActionAnswer } from "#core/capability.ts";
import { canonicalizeCidr } from "#core/cidr.ts";
import type { CloudAction } from "#core/decision.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { TAG, type TagParameters, type Tags, type TagsQuestion, UNTAG } from "#core/node-tags.ts";
import { ACTIONS, type Machine, type RouteQuestion, type RouteState } from "#core/route/state.ts";
import { NO_USAGE } from "../cloud.ts";
import { getOwnerTag, type Tenant, type TenantAccount } from "./account.ts";
import { MACHINES_PER_TENANT } from "./history.ts";

const IDS = Array.from({ length: 2 * MACHINES_PER_TENANT }, (_, index) => `i-${index + 1}`);
const ownerOf = (id: string): Tenant => (IDS.indexOf(id) < MACHINES_PER_TENANT ? "victim" : "evil");

/**
 * Creates load balancers of the memory cloud, which identifies both clusters by the uids of their Services.
 */
export function createMemoryAccount(): TenantAccount {
  const balancers = new Map<string, MemoryLoadBalancer>();
  const of = (tenant: Tenant) => [...balancers].filter(([, { cluster }]) => cluster === tenant);
  return {
    capabilities: (tenant) => ({ loadBalancers: createMemoryLoadBalancers({}, balancers, tenant) }),
    providerIDs: IDS.map((id) => `memory://${id}`),
    victims: () => of("victim").map(([id, each]) => `${id} ${formatCanonicalJson(each)}`),
    // The memory cloud has no owners of machines.
    trespasses: () => [],
    countLoadBalancers: (tenant) => of(tenant).length,
  };
}

/**
 * Creates one route table of two clusters. As in EC2, only its network identifies a route, not its creator.
 */
export function createRouteAccount(): TenantAccount {
  const routes = new Map<string, string>();
  const machineOf = (tenant: Tenant, providerID: string | undefined): Machine => {
    if (providerID === undefined) return { kind: "unnamed" };
    const parsed = parseProviderID(providerID);
    if (parsed.kind !== "instance" || !IDS.includes(parsed.id) || ownerOf(parsed.id) !== tenant)
      return { kind: "missing", message: `${providerID} is not the cluster's` };
    return { kind: "ready", id: parsed.id, target: { instance: parsed.id }, forwards: true, running: true };
  };
  const observe = (tenant: Tenant, { nodes }: RouteQuestion): RouteState => ({
    kind: "tables",
    tables: [
      {
        ...{ id: "rtb-1", size: routes.size, networks: ["10.0.0.0/16"] },
        routes: [...routes].map(([cidr, id]) => ({
          cidr,
          target: ownerOf(id) === tenant ? { kind: "machine", id } : { kind: "foreign" },
          leadsTo: id,
          blackhole: false,
        })),
      },
    ],
    machines: Object.fromEntries(nodes.map(({ name, providerID }) => [name, machineOf(tenant, providerID)])),
  });
  const act = ({ action, parameters }: CloudAction): ActionAnswer => {
    if (action === "create" || action === "replace") {
      const { cidr: text, target } = ACTIONS.create.parse(parameters);
      const cidr = canonicalizeCidr(text) ?? text;
      if (routes.has(cidr) === (action === "create")) return { kind: "conflict", message: cidr };
      routes.set(cidr, target["instance"] ?? "");
    } else if (action === "delete") {
      const { cidr } = ACTIONS.delete.parse(parameters);
      routes.delete(canonicalizeCidr(cidr) ?? cidr);
    }
    return { kind: "done", result: {} };
  };
  const lines = (which: (id: string) => boolean) =>
    [...routes].filter(([, id]) => which(id)).map(([cidr, id]) => `route ${cidr} to ${id}`);
  return {
    capabilities: (tenant) => ({
      routes: {
        observe: async (questions) => ({
          answers: questions.map((question) => {
            const state = structuredClone(observe(tenant, question as RouteQuestion));
            return { kind: "observed", state } as const;
          }),
          usage: NO_USAGE,
        }),
        act: async (action) => ({ answer: act(action), usage: NO_USAGE }),
      },
    }),
    providerIDs: IDS.map((id) => `aws:///eu-central-1a/${id}`),
    victims: () => lines((id) => ownerOf(id) === "victim"),
    trespasses: () =>
      lines((id) => ownerOf(id) === "evil").filter((line) => line.startsWith("route 100.64.")),
    countLoadBalancers: () => 0,
  };
}

/** Creates instances of two clusters, with their tags. */
export function createTagAccount(): TenantAccount {
  const instances = new Map<string, Tags>(
    IDS.map((id) => [id, { [getOwnerTag(ownerOf(id))]: "owned", Name: id }]),
  );
  const act = (action: string, { ids, tags }: TagParameters): void => {
    for (const id of ids) {
      const before = instances.get(id) ?? {};
      const kept = Object.entries(before).filter(([key, value]) => action !== UNTAG || tags[key] !== value);
      instances.set(id, { ...Object.fromEntries(kept), ...(action === TAG ? tags : {}) });
    }
  };
  return {
    capabilities: (tenant) => ({
      tags: {
        observe: async (questions) => ({
          answers: questions.map((question) => {
            const { ids, mark } = question as TagsQuestion;
            const found = [...instances].filter(
              ([id, tags]) => ownerOf(id) === tenant && (ids.includes(id) || mark in tags),
            );
            return { kind: "observed", state: { resources: Object.fromEntries(found) } } as const;
          }),
          usage: NO_USAGE,
        }),
        async act({ action, parameters }) {
          act(action, parameters as unknown as TagParameters);
          return { answer: { kind: "done", result: { refused: {} } }, usage: NO_USAGE };
        },
      },
    }),
    providerIDs: IDS.map((id) => `aws:///eu-central-1a/${id}`),
    victims: () =>
      [...instances]
        .filter(([id]) => ownerOf(id) === "victim")
        .map(([id, tags]) => `${id} ${formatCanonicalJson(tags)}`),
    trespasses: () => [],
    countLoadBalancers: () => 0,
  };
}

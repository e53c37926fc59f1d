import {
  ANNOTATIONS,
  type ExposedService,
  type Exposure,
  type Port,
} from "#core/firewall/exposed-service.ts";
import { EVERYWHERE, normalRules } from "#core/firewall/rules.ts";
import type { FirewallSettings } from "#core/firewall/settings.ts";
import type { FirewallRule } from "#core/firewall/state.ts";
import { goBoolean } from "#core/go-boolean.ts";

/** What a Service says that cannot be made out, and whose ports stay as they would be without it. */
export interface Complaint {
  readonly service: ExposedService;
  readonly field: string;
  readonly code: "TypeInvalid" | "NetworkInvalid" | "ManagedInvalid";
}

/** What is to be let in for the Services, and what cannot be said of some of them. */
export interface WantedRules {
  readonly inbound: readonly FirewallRule[];
  readonly complaints: readonly Complaint[];
}

/** The rules of all Services; `known` are the load balancers that are known to be there. */
export function wantedRules(
  services: readonly ExposedService[],
  { defaultLoadBalancerType }: FirewallSettings,
  known: ReadonlySet<string>,
): WantedRules {
  const each = services.map((service) => {
    const { exposes } = service;
    if (exposes === undefined) return NOTHING;
    return exposes.kind === "NodePort"
      ? ofNodePorts(service, exposes)
      : ofLoadBalancer(service, exposes, defaultLoadBalancerType, known);
  });
  return {
    inbound: normalRules(each.flatMap(({ inbound }) => inbound)),
    complaints: each.flatMap(({ complaints }) => complaints),
  };
}

/** The load balancers that Services name as theirs; of what cannot be an id nothing is asked. */
export function namedLoadBalancers(services: readonly ExposedService[]): string[] {
  const ids = services.flatMap(({ exposes }) =>
    exposes?.kind === "LoadBalancer" ? (exposes.loadBalancerID ?? []) : [],
  );
  return [...new Set(ids.filter((id) => UUID.test(id)))].sort();
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const NOTHING: WantedRules = { inbound: [], complaints: [] };

function ofNodePorts(
  service: ExposedService,
  { managed = "true", ports }: Extract<Exposure, { readonly kind: "NodePort" }>,
): WantedRules {
  if (goBoolean(managed) === false) return NOTHING;
  const inbound = ports.map(fromEverywhere);
  if (goBoolean(managed) === true) return { inbound, complaints: [] };
  return { inbound, complaints: [{ service, field: ANNOTATIONS.managed, code: "ManagedInvalid" }] };
}

function ofLoadBalancer(
  service: ExposedService,
  exposes: Extract<Exposure, { readonly kind: "LoadBalancer" }>,
  defaultType: string,
  known: ReadonlySet<string>,
): WantedRules {
  const { type = defaultType, network = "EXTERNAL", loadBalancerID = "", ports, healthPort } = exposes;
  const leftOut = (field: string, code: Complaint["code"]): WantedRules => ({
    inbound: [],
    complaints: [{ service, field, code }],
  });
  if (type !== "REGIONAL" && type !== "REGIONAL_NETWORK") return leftOut(ANNOTATIONS.type, "TypeInvalid");
  if (network !== "EXTERNAL" && network !== "INTERNAL") return leftOut(ANNOTATIONS.network, "NetworkInvalid");
  // What another kind of load balancer sends comes from itself, within the network of the machines.
  if (type === "REGIONAL" || network === "INTERNAL") return NOTHING;
  const health: Port = { protocol: "tcp", port: healthPort };
  const check: FirewallRule = known.has(loadBalancerID)
    ? { ...fromEverywhere(health), addresses: [], loadBalancers: [loadBalancerID] }
    : fromEverywhere(health);
  return { inbound: [...ports.map(fromEverywhere), check], complaints: [] };
}

function fromEverywhere({ protocol, port }: Port): FirewallRule {
  return { protocol, ports: String(port), addresses: EVERYWHERE, loadBalancers: [] };
}

import {
  ANNOTATIONS,
  type ExposedService,
  type Exposure,
  type Port,
} from "#core/digitalocean/exposed-service.ts";
import { EVERYWHERE, type FirewallRule, normalizeRules } from "#core/digitalocean/firewall/state.ts";
import type { FirewallSettings } from "#core/digitalocean/firewall/watch.ts";
import { parseGoBoolean } from "#core/flags.ts";

/** An annotation of a Service with an invalid value. Its ports are those without the annotation. */
export interface InvalidAnnotation {
  readonly service: ExposedService;
  readonly field: string;
  readonly code: "TypeInvalid" | "NetworkInvalid" | "ManagedInvalid";
}

/** The rules for the Services, and the errors in some of them. */
export interface DesiredRules {
  readonly inbound: readonly FirewallRule[];
  readonly complaints: readonly InvalidAnnotation[];
}

/** Returns the rules of all Services; `known` are the load balancers that exist. */
export function buildDesiredRules(
  services: readonly ExposedService[],
  { defaultLoadBalancerType }: FirewallSettings,
  known: ReadonlySet<string>,
): DesiredRules {
  const each = services.map((service) => {
    const { exposes } = service;
    if (exposes === undefined) return NOTHING;
    return exposes.kind === "NodePort"
      ? buildNodePortRules(service, exposes)
      : buildLoadBalancerRules(service, exposes, defaultLoadBalancerType, known);
  });
  return {
    inbound: normalizeRules(each.flatMap(({ inbound }) => inbound)),
    complaints: each.flatMap(({ complaints }) => complaints),
  };
}

/** Returns the IDs of load balancers that Services name as theirs; invalid IDs are left out. */
export function listNamedLoadBalancers(services: readonly ExposedService[]): string[] {
  const ids = services.flatMap(({ exposes }) =>
    exposes?.kind === "LoadBalancer" ? (exposes.loadBalancerID ?? []) : [],
  );
  return [...new Set(ids.filter((id) => UUID.test(id)))].sort();
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const NOTHING: DesiredRules = { inbound: [], complaints: [] };

function buildNodePortRules(
  service: ExposedService,
  { managed = "true", ports }: Extract<Exposure, { readonly kind: "NodePort" }>,
): DesiredRules {
  if (parseGoBoolean(managed) === false) return NOTHING;
  const inbound = ports.map(allowFromAnywhere);
  if (parseGoBoolean(managed) === true) return { inbound, complaints: [] };
  return { inbound, complaints: [{ service, field: ANNOTATIONS.managed, code: "ManagedInvalid" }] };
}

function buildLoadBalancerRules(
  service: ExposedService,
  exposes: Extract<Exposure, { readonly kind: "LoadBalancer" }>,
  defaultType: string,
  known: ReadonlySet<string>,
): DesiredRules {
  const { type = defaultType, network = "EXTERNAL", loadBalancerID = "", ports, healthPort } = exposes;
  const leftOut = (field: string, code: InvalidAnnotation["code"]): DesiredRules => ({
    inbound: [],
    complaints: [{ service, field, code }],
  });
  if (type !== "REGIONAL" && type !== "REGIONAL_NETWORK") return leftOut(ANNOTATIONS.type, "TypeInvalid");
  if (network !== "EXTERNAL" && network !== "INTERNAL") return leftOut(ANNOTATIONS.network, "NetworkInvalid");
  // Other kinds of load balancers send from their own address, within the machines' network.
  if (type === "REGIONAL" || network === "INTERNAL") return NOTHING;
  const health: Port = { protocol: "tcp", port: healthPort };
  const check: FirewallRule = known.has(loadBalancerID)
    ? { ...allowFromAnywhere(health), addresses: [], loadBalancers: [loadBalancerID] }
    : allowFromAnywhere(health);
  return { inbound: [...ports.map(allowFromAnywhere), check], complaints: [] };
}

function allowFromAnywhere({ protocol, port }: Port): FirewallRule {
  return { protocol, ports: String(port), addresses: EVERYWHERE, loadBalancers: [] };
}

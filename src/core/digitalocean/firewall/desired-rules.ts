import {
  ANNOTATIONS,
  type ExposedService,
  type Exposure,
  type Port,
} from "#core/digitalocean/exposed-service.ts";
import {
  EVERYWHERE,
  type FirewallRule,
  type KnownLoadBalancer,
  normalizeRules,
} from "#core/digitalocean/firewall/state.ts";
import type { FirewallSettings } from "#core/digitalocean/firewall/watch.ts";
import { parseGoBoolean } from "#core/flags.ts";

/** An annotation of a Service with an invalid value. Its ports are those of the load balancer that exists. */
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
  known: readonly KnownLoadBalancer[],
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

/** The traffic is that of the load balancer that exists, or of the requested one before that. */
function buildLoadBalancerRules(
  service: ExposedService,
  exposes: Extract<Exposure, { readonly kind: "LoadBalancer" }>,
  defaultType: string,
  known: readonly KnownLoadBalancer[],
): DesiredRules {
  const { type = defaultType, network = "EXTERNAL", loadBalancerID, ports, healthPort } = exposes;
  const existing = known.find(({ id }) => id === loadBalancerID);
  const complaints = checkAnnotations(service, type, network);
  if (!isForwarder(existing ?? { type, network })) return { inbound: [], complaints };
  // Until the load balancer has the requested health check, the nodes still answer the earlier one.
  const healthPorts = new Set([healthPort, ...(existing === undefined ? [] : [existing.healthPort])]);
  const checks = [...healthPorts].map((port): FirewallRule => {
    const rule = allowFromAnywhere({ protocol: "tcp", port });
    return existing === undefined ? rule : { ...rule, addresses: [], loadBalancers: [existing.id] };
  });
  return { inbound: [...ports.map(allowFromAnywhere), ...checks], complaints };
}

function checkAnnotations(
  service: ExposedService,
  type: string,
  network: string,
): readonly InvalidAnnotation[] {
  if (type !== "REGIONAL" && type !== "REGIONAL_NETWORK")
    return [{ service, field: ANNOTATIONS.type, code: "TypeInvalid" }];
  if (network !== "EXTERNAL" && network !== "INTERNAL")
    return [{ service, field: ANNOTATIONS.network, code: "NetworkInvalid" }];
  return [];
}

/**
 * Returns whether a load balancer forwards packets with the clients' addresses. Other kinds send from their own
 * address, within the machines' network.
 */
function isForwarder({ type, network }: Pick<KnownLoadBalancer, "type" | "network">): boolean {
  return type === "REGIONAL_NETWORK" && network === "EXTERNAL";
}

function allowFromAnywhere({ protocol, port }: Port): FirewallRule {
  return { protocol, ports: String(port), addresses: EVERYWHERE, loadBalancers: [] };
}

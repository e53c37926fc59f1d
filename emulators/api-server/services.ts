import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";

/** A Service with the defaults of the real server, and with the addresses and ports that it allocates. */
export function prepareService(service: StoredObject, creating: boolean): StoredObject {
  const asked = service.spec ?? {};
  const type = asked["type"] ?? "ClusterIP";
  const spec = {
    ...DEFAULTS,
    ...asked,
    type,
    ports: portsOf(asked["ports"], nodePortsOf(asked, String(type))),
  };
  // A status is of whoever looks after the load balancer: of a new Service, and of one that is to have none, there is none.
  const status = isJsonObject(service.status) && !creating ? service.status : {};
  const { loadBalancer } = status;
  return {
    metadata: service.metadata,
    spec: withAllocated(withoutForeign(spec, String(type))),
    status: withIPMode({ ...status, loadBalancer: isJsonObject(loadBalancer) ? loadBalancer : {} }),
  };
}

/** A status that its Service cannot have is gone with an update of the Service, and refused in one of the status. */
export function withStatusOfType(service: StoredObject): StoredObject {
  if (service.spec?.["type"] === "LoadBalancer") return service;
  return { ...service, status: { ...service.status, loadBalancer: {} } };
}

/** What kube-apiserver finds wrong with a Service's status, in its words. */
export function serviceCauses({ spec, status }: StoredObject): readonly StatusCause[] {
  const ingress = ingressOf(status);
  if (ingress.length > 0 && spec?.["type"] !== "LoadBalancer") {
    return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap(({ ip, ipMode }, index) =>
    ip === undefined && ipMode !== undefined
      ? [
          forbidden(
            `status.loadBalancer.ingress[${index}].ipMode`,
            "may not be specified when `ip` is not set",
          ),
        ]
      : [],
  );
}

const DEFAULTS = {
  sessionAffinity: "None",
  internalTrafficPolicy: "Cluster",
  ipFamilies: ["IPv4"],
  ipFamilyPolicy: "SingleStack",
};

const NODE_PORTS: ReadonlySet<string> = new Set(["NodePort", "LoadBalancer"]);

/** Whether ports have node ports of their own accord, only those that are asked for, or none. */
function nodePortsOf(spec: JsonObject, type: string): "all" | "asked" | "none" {
  if (!NODE_PORTS.has(type)) return "none";
  return type === "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] === false ? "asked" : "all";
}

function portsOf(ports: unknown, which: ReturnType<typeof nodePortsOf>): JsonObject[] {
  const listed = Array.isArray(ports) ? ports.filter(isJsonObject) : [];
  return listed.map(({ nodePort, ...port }) => ({
    protocol: "TCP",
    targetPort: port["port"],
    ...port,
    ...(which === "none" || (which === "asked" && nodePort === undefined)
      ? {}
      : { nodePort: nodePort ?? allocated("nodePort", 30_000, 2_768) }),
  }));
}

/** What only another type has is dropped. */
function withoutForeign(spec: JsonObject, type: string): JsonObject {
  const dropped = new Set([
    ...(NODE_PORTS.has(type) ? [] : ["externalTrafficPolicy"]),
    ...(type === "LoadBalancer"
      ? []
      : ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]),
  ]);
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !dropped.has(field)));
}

function withAllocated(spec: JsonObject): JsonObject {
  const { type } = spec;
  const clusterIP = spec["clusterIP"] ?? `10.0.0.${allocated("clusterIP", 10, 240)}`;
  const isLocal = spec["externalTrafficPolicy"] === "Local";
  return {
    clusterIP,
    clusterIPs: [clusterIP],
    ...(NODE_PORTS.has(String(type)) ? { externalTrafficPolicy: "Cluster" } : {}),
    ...(type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: true } : {}),
    ...(type === "LoadBalancer" && isLocal
      ? { healthCheckNodePort: spec["healthCheckNodePort"] ?? allocated("nodePort", 30_000, 2_768) }
      : {}),
    ...spec,
  };
}

const given = new Map<string, number>();

/** The next of a range, from the start again after the last. */
function allocated(range: string, first: number, size: number): number {
  const count = given.get(range) ?? 0;
  given.set(range, count + 1);
  return first + (count % size);
}

/** Of an address it is said how it is to be used. */
function withIPMode(status: JsonObject): JsonObject {
  const ingress = ingressOf(status);
  if (ingress.length === 0) return status;
  const completed = ingress.map((entry) => (entry["ip"] === undefined ? entry : { ipMode: "VIP", ...entry }));
  return { ...status, loadBalancer: { ingress: completed } };
}

function ingressOf(status: JsonObject | undefined): readonly JsonObject[] {
  const loadBalancer = status?.["loadBalancer"];
  const ingress = isJsonObject(loadBalancer) ? loadBalancer["ingress"] : undefined;
  return Array.isArray(ingress) ? ingress.filter(isJsonObject) : [];
}

function forbidden(field: string, why: string): StatusCause {
  return { reason: "FieldValueForbidden", message: `Forbidden: ${why}`, field };
}

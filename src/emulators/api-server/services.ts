import { isJsonObject, type JsonObject, type StoredObject } from "#emulators/api-server/object.ts";
import type { StatusCause } from "#emulators/api-server/status.ts";

/** Returns a Service with the real server's defaults, and with allocated addresses and ports. */
export function prepareService(service: StoredObject, creating: boolean): StoredObject {
  const asked = service.spec ?? {};
  const type = asked["type"] ?? "ClusterIP";
  const spec = {
    ...DEFAULTS,
    ...asked,
    type,
    ports: buildPorts(asked["ports"], decideNodePorts(asked, String(type))),
  };
  // The load balancer's controller owns the status: a new Service has none, and neither has one without a
  // load balancer.
  const status = isJsonObject(service.status) && !creating ? service.status : {};
  const { loadBalancer } = status;
  return {
    metadata: service.metadata,
    spec: allocateFields(dropForeignFields(spec, String(type))),
    status: addIPMode({ ...status, loadBalancer: isJsonObject(loadBalancer) ? loadBalancer : {} }),
  };
}

/**
 * An invalid status of a Service is dropped by an update of the Service, and rejected in an update of the
 * status.
 */
export function dropForeignStatus(service: StoredObject): StoredObject {
  if (service.spec?.["type"] === "LoadBalancer") return service;
  return { ...service, status: { ...service.status, loadBalancer: {} } };
}

/** Returns the errors of a Service's status, in kube-apiserver's words. */
export function checkService({ spec, status }: StoredObject): readonly StatusCause[] {
  const ingress = getIngress(status);
  if (ingress.length > 0 && spec?.["type"] !== "LoadBalancer") {
    return [
      buildForbiddenCause(
        "status.loadBalancer.ingress",
        "may only be used when `spec.type` is 'LoadBalancer'",
      ),
    ];
  }
  return ingress.flatMap(({ ip, ipMode }, index) =>
    ip === undefined && ipMode !== undefined
      ? [
          buildForbiddenCause(
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

/** Returns whether all ports get node ports, only those that request them, or none. */
function decideNodePorts(spec: JsonObject, type: string): "all" | "asked" | "none" {
  if (!NODE_PORTS.has(type)) return "none";
  return type === "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] === false ? "asked" : "all";
}

function buildPorts(ports: unknown, which: ReturnType<typeof decideNodePorts>): JsonObject[] {
  const listed = Array.isArray(ports) ? ports.filter(isJsonObject) : [];
  return listed.map(({ nodePort, ...port }) => ({
    protocol: "TCP",
    targetPort: port["port"],
    ...port,
    ...(which === "none" || (which === "asked" && nodePort === undefined)
      ? {}
      : { nodePort: nodePort ?? allocateNext("nodePort", 30_000, 2_768) }),
  }));
}

/** Drops the fields of other types. */
function dropForeignFields(spec: JsonObject, type: string): JsonObject {
  const dropped = new Set([
    ...(NODE_PORTS.has(type) ? [] : ["externalTrafficPolicy"]),
    ...(type === "LoadBalancer"
      ? []
      : ["allocateLoadBalancerNodePorts", "loadBalancerClass", "healthCheckNodePort"]),
  ]);
  return Object.fromEntries(Object.entries(spec).filter(([field]) => !dropped.has(field)));
}

function allocateFields(spec: JsonObject): JsonObject {
  const { type } = spec;
  const clusterIP = spec["clusterIP"] ?? `10.0.0.${allocateNext("clusterIP", 10, 240)}`;
  const isLocal = spec["externalTrafficPolicy"] === "Local";
  return {
    clusterIP,
    clusterIPs: [clusterIP],
    ...(NODE_PORTS.has(String(type)) ? { externalTrafficPolicy: "Cluster" } : {}),
    ...(type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: true } : {}),
    ...(type === "LoadBalancer" && isLocal
      ? { healthCheckNodePort: spec["healthCheckNodePort"] ?? allocateNext("nodePort", 30_000, 2_768) }
      : {}),
    ...spec,
  };
}

const given = new Map<string, number>();

/** Returns the next value of a range, from the start again after the last. */
function allocateNext(range: string, first: number, size: number): number {
  const count = given.get(range) ?? 0;
  given.set(range, count + 1);
  return first + (count % size);
}

/** Adds the mode in which an address is used. */
function addIPMode(status: JsonObject): JsonObject {
  const ingress = getIngress(status);
  if (ingress.length === 0) return status;
  const completed = ingress.map((entry) => (entry["ip"] === undefined ? entry : { ipMode: "VIP", ...entry }));
  return { ...status, loadBalancer: { ingress: completed } };
}

function getIngress(status: JsonObject | undefined): readonly JsonObject[] {
  const loadBalancer = status?.["loadBalancer"];
  const ingress = isJsonObject(loadBalancer) ? loadBalancer["ingress"] : undefined;
  return Array.isArray(ingress) ? ingress.filter(isJsonObject) : [];
}

function buildForbiddenCause(field: string, why: string): StatusCause {
  return { reason: "FieldValueForbidden", message: `Forbidden: ${why}`, field };
}

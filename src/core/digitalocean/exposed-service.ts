import * as z from "zod";
import { LOAD_BALANCER_ID_ANNOTATION } from "#core/contracts.ts";
import type { RelatedObjects } from "#core/controller.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import { formatObjectKey, SERVICES } from "#core/resources/resource.ts";
import { isOfOurClass } from "#core/service/needs-work.ts";
import { Service } from "#core/service/service.ts";
import type { Related } from "#core/watch.ts";

/** The annotation keys with which a Service configures the firewall. */
export const ANNOTATIONS = {
  managed: "kubernetes.digitalocean.com/firewall-managed",
  loadBalancerID: LOAD_BALANCER_ID_ANNOTATION,
  type: "service.beta.kubernetes.io/do-loadbalancer-type",
  network: "service.beta.kubernetes.io/do-loadbalancer-network",
} as const;

/** A port of the machines, or of a load balancer that forwards packets unchanged. */
const Port = z.object({ protocol: z.enum(["tcp", "udp"]), port: z.int() });
export type Port = z.output<typeof Port>;

/** What a Service exposes to the internet; texts are trimmed annotation values, and absent if empty. */
const Exposure = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("NodePort"), managed: z.string().optional(), ports: z.array(Port) }),
  z.object({
    kind: z.literal("LoadBalancer"),
    type: z.string().optional(),
    network: z.string().optional(),
    loadBalancerID: z.string().optional(),
    ports: z.array(Port),
    /** The port of the load balancer's health check on nodes. */
    healthPort: z.int(),
  }),
]);
export type Exposure = z.output<typeof Exposure>;

/**
 * An existing Service and what it exposes. Services that expose nothing are included, because their number
 * proves that the list is complete.
 */
export const ExposedService = z.object({
  namespace: z.string().min(1),
  name: z.string().min(1),
  uid: z.string().min(1),
  exposes: Exposure.optional(),
});
export type ExposedService = z.output<typeof ExposedService>;

const Named = z.object({
  metadata: z.object({ namespace: z.string().min(1), name: z.string().min(1), uid: z.string().min(1) }),
});

/** All Services of a cluster, as related objects of its firewall. */
export const exposedServices: Related = {
  resource: SERVICES,
  project(object) {
    const named = Named.safeParse(object).data;
    if (named === undefined) return undefined;
    const { namespace, name, uid } = named.metadata;
    const exposes = parseExposure(object);
    return {
      ...{ namespace, name, uid },
      ...(exposes === undefined ? {} : { exposes }),
    } satisfies ExposedService;
  },
  reads: () => "all",
  // A Service that exposes nothing before and after opens and closes no port.
  concerns: (before, after) =>
    formatCanonicalJson(getExposure(before)) !== formatCanonicalJson(getExposure(after)),
};

/**
 * Returns the Services of an event by name. Undefined when the event came without them, which says nothing
 * about their number.
 */
export function selectServices(related: RelatedObjects): readonly ExposedService[] | undefined {
  return related[SERVICES.name]?.items
    .flatMap((item) => ExposedService.safeParse(item).data ?? [])
    .sort((one, other) => (formatObjectKey(one) < formatObjectKey(other) ? -1 : 1));
}

function getExposure(projection: unknown): unknown {
  const service = ExposedService.safeParse(projection).data;
  return service?.exposes === undefined ? null : service;
}

/** The port of kube-proxy's health check. */
const KUBE_PROXY_PORT = 10_256;

function parseExposure(object: unknown): Exposure | undefined {
  const service = Service.safeParse(object).data;
  if (service === undefined) return undefined;
  const { ports = [], type } = service.spec;
  const said = (key: keyof typeof ANNOTATIONS) => readAnnotation(service, key);
  if (type === "NodePort")
    return {
      ...{ kind: "NodePort", ...said("managed") },
      ports: ports.flatMap(({ protocol, nodePort = 0 }) => parsePort(protocol, nodePort)),
    };
  if (!isOfOurClass(service)) return undefined;
  return {
    ...{ kind: "LoadBalancer", ...said("type"), ...said("network"), ...said("loadBalancerID") },
    ports: ports.flatMap(({ protocol, port }) => parsePort(protocol, port)),
    healthPort: selectHealthPort(service),
  };
}

/** The annotations that replace the health check of nodes by a node port of the Service. */
const OVERRIDE_HEALTH_CHECK = "service.beta.kubernetes.io/do-loadbalancer-override-health-check";
const HEALTH_CHECK_PORT = "service.beta.kubernetes.io/do-loadbalancer-healthcheck-port";

/** Selects the port on nodes that the requested load balancer checks, as its own controller does. */
function selectHealthPort({ metadata: { annotations = {} }, spec }: Service): number {
  const { ports = [], externalTrafficPolicy, healthCheckNodePort } = spec;
  if (annotations[OVERRIDE_HEALTH_CHECK] === undefined)
    return (externalTrafficPolicy === "Local" ? healthCheckNodePort : 0) || KUBE_PROXY_PORT;
  const checkedPort = annotations[HEALTH_CHECK_PORT] ?? "";
  const checked = ports.find(
    ({ protocol, port }) => protocol === "TCP" && (checkedPort === "" || String(port) === checkedPort),
  );
  return checked?.nodePort || KUBE_PROXY_PORT;
}

/** Longer than any valid annotation value, and than a UUID. */
const MAX_ANNOTATION_LENGTH = 64;

function readAnnotation<Key extends keyof typeof ANNOTATIONS>(
  { metadata }: Service,
  key: Key,
): Partial<Record<Key, string>> {
  const text = metadata.annotations?.[ANNOTATIONS[key]]?.trim().slice(0, MAX_ANNOTATION_LENGTH) ?? "";
  return text === "" ? {} : ({ [key]: text } as Partial<Record<Key, string>>);
}

function parsePort(protocol: string, port: number): Port[] {
  const known = Port.safeParse({ protocol: protocol.toLowerCase(), port }).data;
  return known === undefined || port === 0 ? [] : [known];
}

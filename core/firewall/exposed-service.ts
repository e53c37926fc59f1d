import * as z from "zod";
import type { Related, RelatedObjects } from "#core/controller.ts";
import { canonicalJson } from "#core/hash.ts";
import { keyOfName, SERVICES } from "#core/resources/resource.ts";
import { isOfOurClass } from "#core/service/needs-work.ts";
import { Service } from "#core/service/service.ts";

/** Keys of annotations by which a Service says what of it the firewall lets in. */
export const ANNOTATIONS = {
  managed: "kubernetes.digitalocean.com/firewall-managed",
  loadBalancerID: "kubernetes.digitalocean.com/load-balancer-id",
  type: "service.beta.kubernetes.io/do-loadbalancer-type",
  network: "service.beta.kubernetes.io/do-loadbalancer-network",
} as const;

/** A port of the machines, or of a load balancer that hands what it gets on as it is. */
const Port = z.object({ protocol: z.enum(["tcp", "udp"]), port: z.int() });
export type Port = z.output<typeof Port>;

/** What a Service opens to the world; texts are the annotations' own, without blanks around, and absent where empty. */
const Exposure = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("NodePort"), managed: z.string().optional(), ports: z.array(Port) }),
  z.object({
    kind: z.literal("LoadBalancer"),
    type: z.string().optional(),
    network: z.string().optional(),
    loadBalancerID: z.string().optional(),
    ports: z.array(Port),
    /** Where the load balancer asks nodes whether they are well. */
    healthPort: z.int(),
  }),
]);
export type Exposure = z.output<typeof Exposure>;

/** A Service that there is, and what it exposes; one that exposes nothing counts, so that their number tells whether all are known. */
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

/** All Services of a cluster, as its firewall reads them. */
export const exposedServices: Related = {
  resource: SERVICES,
  project(object) {
    const named = Named.safeParse(object).data;
    if (named === undefined) return undefined;
    const { namespace, name, uid } = named.metadata;
    const exposes = exposureOf(object);
    return {
      ...{ namespace, name, uid },
      ...(exposes === undefined ? {} : { exposes }),
    } satisfies ExposedService;
  },
  reads: () => "all",
  // One that neither exposed nor exposes anything opens no port and closes none.
  concerns: (before, after) => canonicalJson(exposedBy(before)) !== canonicalJson(exposedBy(after)),
};

/** The Services of an event by name; undefined where it came without them, which says nothing of how many there are. */
export function servicesIn(related: RelatedObjects): readonly ExposedService[] | undefined {
  return related[SERVICES.name]?.items
    .flatMap((item) => ExposedService.safeParse(item).data ?? [])
    .sort((one, other) => (keyOfName(one) < keyOfName(other) ? -1 : 1));
}

function exposedBy(projection: unknown): unknown {
  const service = ExposedService.safeParse(projection).data;
  return service?.exposes === undefined ? null : service;
}

/** Where kube-proxy says whether a node is well. */
const KUBE_PROXY_PORT = 10_256;

function exposureOf(object: unknown): Exposure | undefined {
  const service = Service.safeParse(object).data;
  if (service === undefined) return undefined;
  const { ports = [], type, externalTrafficPolicy, healthCheckNodePort } = service.spec;
  const said = (key: keyof typeof ANNOTATIONS) => annotation(service, key);
  if (type === "NodePort")
    return {
      ...{ kind: "NodePort", ...said("managed") },
      ports: ports.flatMap(({ protocol, nodePort = 0 }) => portOf(protocol, nodePort)),
    };
  if (!isOfOurClass(service)) return undefined;
  return {
    ...{ kind: "LoadBalancer", ...said("type"), ...said("network"), ...said("loadBalancerID") },
    ports: ports.flatMap(({ protocol, port }) => portOf(protocol, port)),
    healthPort: (externalTrafficPolicy === "Local" ? healthCheckNodePort : 0) || KUBE_PROXY_PORT,
  };
}

/** As long as anything that an annotation may say, and longer than a uuid. */
const MAX_SAID = 64;

function annotation<Key extends keyof typeof ANNOTATIONS>(
  { metadata }: Service,
  key: Key,
): Partial<Record<Key, string>> {
  const text = metadata.annotations?.[ANNOTATIONS[key]]?.trim().slice(0, MAX_SAID) ?? "";
  return text === "" ? {} : ({ [key]: text } as Partial<Record<Key, string>>);
}

function portOf(protocol: string, port: number): Port[] {
  const known = Port.safeParse({ protocol: protocol.toLowerCase(), port }).data;
  return known === undefined || port === 0 ? [] : [known];
}

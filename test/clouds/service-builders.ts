import { hashText } from "#core/hash.ts";
import type { LoadBalancerWorld, ServiceTraits } from "#test/clouds/load-balancer-world.ts";

export function buildPort(name: string, number: number, nodePort: number, protocol = "TCP"): object {
  return { name, protocol, port: number, targetPort: number, nodePort };
}

/** The ports of the Service `web` at first. */
export const PORTS: readonly object[] = [buildPort("http", 80, 30_080), buildPort("https", 443, 30_443)];

/**
 * Returns the ports of a Service with this name: each node port belongs to one Service, and is the same each
 * time.
 */
export function buildPorts(name: string): readonly object[] {
  if (name === "web") return PORTS;
  const offset = Number.parseInt(hashText(name).slice(-6), 16) % 800;
  return [buildPort("http", 80, 31_000 + offset), buildPort("https", 443, 31_800 + offset)];
}

/** Builds a Service of type LoadBalancer as a world needs it, with its differences. */
export function buildService(
  { service = {} }: Pick<LoadBalancerWorld, "service">,
  { name = "web", annotations = {}, spec = {} }: ServiceTraits & { readonly name?: string } = {},
): object {
  const all = { ...service.annotations, ...annotations };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      ...{ name, namespace: "default" },
      annotations: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)),
    },
    spec: {
      type: "LoadBalancer",
      sessionAffinity: "None",
      externalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: buildPorts(name),
      ...service.spec,
      ...spec,
    },
  };
}

/** Returns the merge patch that gives a Service these traits. */
export function buildTraitsPatch({ annotations, spec }: ServiceTraits): object {
  return {
    ...(annotations === undefined ? {} : { metadata: { annotations } }),
    ...(spec === undefined ? {} : { spec }),
  };
}

/** Returns the merge patch that removes these traits from a Service. */
export function buildTraitsRemoval({ annotations = {}, spec = {} }: ServiceTraits): object {
  const none = (all: object) => Object.fromEntries(Object.keys(all).map((key) => [key, null]));
  return { metadata: { annotations: none(annotations) }, spec: none(spec) };
}

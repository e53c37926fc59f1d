import { hashOf } from "#core/hash.ts";
import type { LoadBalancerWorld, ServiceTraits } from "#test/clouds/load-balancer-world.ts";

/** A port of a Service. */
export function port(name: string, number: number, nodePort: number, protocol = "TCP"): object {
  return { name, protocol, port: number, targetPort: number, nodePort };
}

/** The ports that the Service `web` has before anything is done. */
export const PORTS: readonly object[] = [port("http", 80, 30_080), port("https", 443, 30_443)];

/** Those of a Service of this name: ports of nodes are one Service's alone, and the same each time that it is made. */
export function portsOf(name: string): readonly object[] {
  if (name === "web") return PORTS;
  const offset = Number.parseInt(hashOf(name).slice(-6), 16) % 800;
  return [port("http", 80, 31_000 + offset), port("https", 443, 31_800 + offset)];
}

/** A Service of type LoadBalancer as a world needs it, and what makes it another one. */
export function plainService(
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
      ports: portsOf(name),
      ...service.spec,
      ...spec,
    },
  };
}

/** What is merged into a Service so that it has these traits. */
export function differenceOf({ annotations, spec }: ServiceTraits): object {
  return {
    ...(annotations === undefined ? {} : { metadata: { annotations } }),
    ...(spec === undefined ? {} : { spec }),
  };
}

/** What is merged into a Service so that it has these traits no longer. */
export function withoutTraits({ annotations = {}, spec = {} }: ServiceTraits): object {
  const none = (all: object) => Object.fromEntries(Object.keys(all).map((key) => [key, null]));
  return { metadata: { annotations: none(annotations) }, spec: none(spec) };
}

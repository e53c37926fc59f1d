import { portsOf } from "#test/clouds/plain-service.ts";

/** What annotations of load balancers on AWS begin with. */
export const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** Annotations of a network load balancer. */
export const NLB = { type: "nlb" };

/** A merge of annotations by what follows the prefix, or by their whole name; `null` takes away. */
export function annotated(said: Readonly<Record<string, string | null>>): object {
  return { metadata: { annotations: annotationsOf(said) } };
}

/** Annotations by what follows the prefix, or by their whole name. */
export function annotationsOf<Value>(said: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(said).map(([key, value]) => [key.includes("/") ? key : `${PREFIX}${key}`, value]),
  );
}

/** A Service of type LoadBalancer. */
export function serviceOf(
  annotations: Readonly<Record<string, string>>,
  spec: object = {},
  name = "web",
): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations: annotationsOf(annotations) },
    spec: {
      type: "LoadBalancer",
      sessionAffinity: "None",
      externalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: portsOf(name),
      ...spec,
    },
  };
}

/** A spec of both families, as far as load balancers go. */
export const DUAL_STACK = { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" };

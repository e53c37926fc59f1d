import { buildPorts } from "#test/clouds/service-builders.ts";

/** The prefix of AWS load balancer annotations. */
export const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

/** Annotations of a network load balancer. */
export const NLB = { type: "nlb" };

/**
 * Returns a merge patch of annotations. A key is the part after the prefix, or the whole name; `null` removes
 * the annotation.
 */
export function buildAnnotationsPatch(said: Readonly<Record<string, string | null>>): object {
  return { metadata: { annotations: buildAnnotations(said) } };
}

/** Returns annotations with whole names. A key is the part after the prefix, or the whole name. */
export function buildAnnotations<Value>(
  said: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(said).map(([key, value]) => [key.includes("/") ? key : `${PREFIX}${key}`, value]),
  );
}

export function buildService(
  annotations: Readonly<Record<string, string>>,
  spec: object = {},
  name = "web",
): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", annotations: buildAnnotations(annotations) },
    spec: {
      type: "LoadBalancer",
      sessionAffinity: "None",
      externalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: buildPorts(name),
      ...spec,
    },
  };
}

/** The dual-stack fields of a spec that load balancers need. */
export const DUAL_STACK = { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" };

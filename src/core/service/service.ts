import * as z from "zod";

/** A port of a Service, with the fields that load balancers use. */
export const ServicePort = z.object({
  name: z.string().optional(),
  /** The API server's default. */
  protocol: z.string().prefault("TCP"),
  appProtocol: z.string().optional(),
  port: z.int(),
  targetPort: z.union([z.int(), z.string()]).optional(),
  nodePort: z.int().optional(),
});
export type ServicePort = z.output<typeof ServicePort>;

/**
 * One address of a load balancer in a Service's status. It is verbatim, because a precondition on it would
 * otherwise never match.
 */
export const Ingress = z.looseObject({
  hostname: z.string().optional(),
  ip: z.string().optional(),
  ipMode: z.string().optional(),
  ports: z.array(z.unknown()).optional(),
});
export type Ingress = z.output<typeof Ingress>;

/** A Service, with the fields that decisions read. */
export const Service = z.object({
  metadata: z.object({
    namespace: z.string().min(1),
    name: z.string().min(1),
    uid: z.string().min(1),
    resourceVersion: z.string().min(1),
    generation: z.int().optional(),
    creationTimestamp: z.string(),
    deletionTimestamp: z.string().optional(),
    finalizers: z.array(z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    /** A snapshot has only the labels that identify a cloud's address. */
    labels: z.record(z.string(), z.string()).optional(),
  }),
  spec: z.object({
    type: z.string().optional(),
    loadBalancerClass: z.string().optional(),
    loadBalancerIP: z.string().optional(),
    loadBalancerSourceRanges: z.array(z.string()).optional(),
    ports: z.array(ServicePort).optional(),
    sessionAffinity: z.string().optional(),
    externalTrafficPolicy: z.string().optional(),
    healthCheckNodePort: z.int().optional(),
    ipFamilies: z.array(z.string()).optional(),
    ipFamilyPolicy: z.string().optional(),
  }),
  status: z
    .object({ loadBalancer: z.object({ ingress: z.array(Ingress).optional() }).optional() })
    .optional(),
});
export type Service = z.output<typeof Service>;

import * as z from "zod";

const Tags = {
  freeformTags: z.record(z.string(), z.string()).optional(),
  definedTags: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
};

const ofBackend = {
  ipAddress: z.union([z.ipv4(), z.ipv6()]),
  port: z.int().min(1).max(65_535),
  weight: z.int().optional(),
};

const ofHealthChecker = {
  protocol: z.enum(["HTTP", "TCP"]),
  port: z.int().min(0).max(65_535).optional(),
  urlPath: z.string().optional(),
  retries: z.int().min(1).optional(),
  returnCode: z.int().optional(),
  responseBodyRegex: z.string().optional(),
};

const ofListener = {
  defaultBackendSetName: z.string().min(1),
  port: z.int().min(1).max(65_535),
};

const name = z.string().min(1).max(32);

/** The parts of a load balancer in request bodies, as its API takes them. */
export const LB = {
  backendSet: z.strictObject({
    policy: z.enum(["ROUND_ROBIN", "LEAST_CONNECTIONS", "IP_HASH"]),
    backends: z.array(
      z.strictObject({
        ...ofBackend,
        weight: z.int().default(1),
        backup: z.boolean().default(false),
        drain: z.boolean().default(false),
        offline: z.boolean().default(false),
      }),
    ),
    healthChecker: z.strictObject({
      ...ofHealthChecker,
      responseBodyRegex: z.string().default(".*"),
      intervalInMillis: z.int().min(1_000).max(1_800_000).optional(),
      timeoutInMillis: z.int().optional(),
    }),
  }),
  listener: z.strictObject({
    ...ofListener,
    protocol: z.enum(["TCP", "HTTP", "HTTP2", "GRPC"]),
    connectionConfiguration: z
      .strictObject({
        idleTimeout: z.int().min(1).max(7_200),
        backendTcpProxyProtocolVersion: z.int().min(1).max(2).optional(),
      })
      .optional(),
    ruleSetNames: z.array(z.string()).optional(),
  }),
  ruleSet: z.strictObject({
    items: z
      .array(z.looseObject({ action: z.string() }))
      .min(1)
      .max(20),
  }),
  shape: z.strictObject({
    shapeName: z.string().min(1),
    shapeDetails: z
      .strictObject({ minimumBandwidthInMbps: z.int().min(10), maximumBandwidthInMbps: z.int().max(8_192) })
      .optional(),
  }),
};

/** The parts of a network load balancer in request bodies, as its API takes them. */
export const NLB = {
  backendSet: z.strictObject({
    policy: z.enum(["FIVE_TUPLE", "THREE_TUPLE", "TWO_TUPLE"]),
    isPreserveSource: z.boolean().optional(),
    ipVersion: z.enum(["IPV4", "IPV6"]).optional(),
    backends: z.array(
      z.strictObject({
        ...ofBackend,
        isBackup: z.boolean().optional(),
        isDrain: z.boolean().optional(),
        isOffline: z.boolean().optional(),
        name: z.string().optional(),
      }),
    ),
    healthChecker: z.strictObject({
      ...ofHealthChecker,
      intervalInMillis: z.int().min(10_000).max(1_800_000).optional(),
      timeoutInMillis: z.int().optional(),
    }),
  }),
  listener: z.strictObject({
    ...ofListener,
    protocol: z.enum(["TCP", "UDP", "TCP_AND_UDP"]),
    ipVersion: z.enum(["IPV4", "IPV6"]).optional(),
    isPpv2Enabled: z.boolean().optional(),
  }),
};

const Reserved = z.array(z.strictObject({ id: z.string() })).optional();

/** The request body that creates a load balancer. */
export const NewLoadBalancer = z.strictObject({
  compartmentId: z.string().min(1),
  displayName: z.string().min(1).max(1_024),
  ...LB.shape.shape,
  subnetIds: z.array(z.string()).min(1).max(2),
  isPrivate: z.boolean().optional(),
  ipMode: z.enum(["IPV4", "IPV6"]).optional(),
  backendSets: z.record(name, LB.backendSet).optional(),
  listeners: z.record(z.string(), LB.listener).optional(),
  ruleSets: z.record(name, LB.ruleSet).optional(),
  networkSecurityGroupIds: z.array(z.string()).max(5).optional(),
  reservedIps: Reserved,
  ...Tags,
});

/** The request body that creates a network load balancer. */
export const NewNetworkLoadBalancer = z.strictObject({
  compartmentId: z.string().min(1),
  displayName: z.string().min(1).max(1_024),
  subnetId: z.string().min(1),
  isPrivate: z.boolean().optional(),
  nlbIpVersion: z.enum(["IPV4", "IPV6", "IPV4_AND_IPV6"]).optional(),
  backendSets: z.record(name, NLB.backendSet).optional(),
  listeners: z.record(z.string(), NLB.listener.extend({ name: z.string().min(1) })).optional(),
  networkSecurityGroupIds: z.array(z.string()).max(5).optional(),
  reservedIps: Reserved,
  assignedPrivateIpv4: z.ipv4().optional(),
  assignedIpv6: z.ipv6().optional(),
  ...Tags,
});

import * as z from "zod";
import type { LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";

const id = z.string().min(1);
const Tags = z.record(z.string(), z.string()).nullish();

/** A backend in the API; other settings of an operator, such as `drain`, are kept. */
export const Backend = z.looseObject({ ipAddress: z.string().nullish(), port: z.int() });
export type Backend = z.output<typeof Backend>;

const HealthChecker = z.looseObject({
  protocol: z.string(),
  port: z.int().nullish(),
  urlPath: z.string().nullish(),
  retries: z.int().nullish(),
  intervalInMillis: z.int().nullish(),
  timeoutInMillis: z.int().nullish(),
  returnCode: z.int().nullish(),
});

export const BackendSet = z.looseObject({
  policy: z.string(),
  backends: z.array(Backend).nullish(),
  healthChecker: HealthChecker,
  isPreserveSource: z.boolean().nullish(),
  ipVersion: z.string().nullish(),
  sessionPersistenceConfiguration: z.unknown().optional(),
  lbCookieSessionPersistenceConfiguration: z.unknown().optional(),
});
export type BackendSet = z.output<typeof BackendSet>;

export const Listener = z.looseObject({
  defaultBackendSetName: z.string(),
  port: z.int(),
  protocol: z.string(),
  connectionConfiguration: z
    .looseObject({
      idleTimeout: z.int().nullish(),
      backendTcpProxyProtocolVersion: z.int().nullish(),
    })
    .nullish(),
  ruleSetNames: z.array(z.string()).nullish(),
  ipVersion: z.string().nullish(),
  isPpv2Enabled: z.boolean().nullish(),
});
export type Listener = z.output<typeof Listener>;

/** A load balancer of either type, as a single read returns it. */
export const Balancer = z.object({
  id,
  compartmentId: id,
  displayName: z.string(),
  lifecycleState: z.string(),
  lifecycleDetails: z.string().nullish(),
  shapeName: z.string().nullish(),
  shapeDetails: z.object({ minimumBandwidthInMbps: z.int(), maximumBandwidthInMbps: z.int() }).nullish(),
  isPrivate: z.boolean().nullish(),
  ipAddresses: z.array(z.object({ ipAddress: z.string(), isPublic: z.boolean().nullish() })).nullish(),
  backendSets: z.record(z.string(), BackendSet).nullish(),
  listeners: z.record(z.string(), Listener).nullish(),
  ruleSets: z
    .record(z.string(), z.looseObject({ items: z.array(z.record(z.string(), z.unknown())).nullish() }))
    .nullish(),
  networkSecurityGroupIds: z.array(z.string()).nullish(),
  freeformTags: Tags,
});
export type Balancer = z.output<typeof Balancer>;

/** A load balancer in a list. */
export const ListedBalancer = Balancer.pick({
  id: true,
  compartmentId: true,
  displayName: true,
  lifecycleState: true,
  freeformTags: true,
});
export type ListedBalancer = z.output<typeof ListedBalancer>;

/** The fields of a subnet that load balancers depend on. */
export const Subnet = z.object({
  id,
  vcnId: id,
  /** Absent for a regional subnet. */
  availabilityDomain: z.string().nullish(),
  freeformTags: Tags,
});
export type Subnet = z.output<typeof Subnet>;

/** A network security group. */
export const Group = z.object({
  id,
  vcnId: id,
  compartmentId: id,
  displayName: z.string().nullish(),
  lifecycleState: z.string(),
  freeformTags: Tags,
});
export type Group = z.output<typeof Group>;

const Ports = z
  .object({ destinationPortRange: z.object({ min: z.int(), max: z.int() }).nullish() })
  .nullish();

/** A rule of a network security group. */
export const Rule = z.object({
  id: id.nullish(),
  direction: z.string(),
  protocol: z.string(),
  source: z.string().nullish(),
  sourceType: z.string().nullish(),
  destination: z.string().nullish(),
  destinationType: z.string().nullish(),
  description: z.string().nullish(),
  isStateless: z.boolean().nullish(),
  /** False once the group that the rule names is deleted. */
  isValid: z.boolean().nullish(),
  tcpOptions: Ports,
  udpOptions: Ports,
});
export type Rule = z.output<typeof Rule>;

/** A reserved public IP address. */
export const PublicIp = z.object({
  id,
  compartmentId: id,
  ipAddress: z.string(),
  lifetime: z.string(),
  lifecycleState: z.string(),
  freeformTags: Tags,
});
export type PublicIp = z.output<typeof PublicIp>;

/** A work request of a load balancer. */
export const WorkRequest = z.object({
  type: z.string().nullish(),
  lifecycleState: z.string(),
  message: z.string().nullish(),
  timeAccepted: z.string().nullish(),
  timeFinished: z.string().nullish(),
  errorDetails: z.array(z.object({ message: z.string().nullish() })).nullish(),
});
export type WorkRequest = z.output<typeof WorkRequest>;

/** An observed load balancer of a Service. */
export interface ObservedBalancer {
  readonly kind: LoadBalancerKind;
  readonly balancer: Balancer;
  /**
   * The version of the whole load balancer: a change that names it is rejected if another change came first.
   */
  readonly etag?: string;
  /** Whether an accepted change is still in progress. */
  readonly isBusy: boolean;
  /**
   * A recorded work request changed its network security groups; OCI keeps work requests for a limited time.
   */
  readonly changedGroups?: true;
  /** The error of the last change, if it failed recently. */
  readonly failure?: string;
}

/** A network security group with its rules. */
export interface ObservedGroup {
  readonly group: Group;
  readonly rules: readonly Rule[];
}

/** The addresses of an instance. */
export interface InstanceAddresses {
  readonly ipv4?: string;
  readonly ipv6?: string;
}

/** OCI's resources of a Service, as the capability observes them; JSON. */
export interface OciState {
  /** The existing ones with its names, of both types; several of one type in the order of the list. */
  readonly found: readonly ObservedBalancer[];
  readonly several?: readonly string[];
  /** Groups with the Service's name. */
  readonly groups: readonly ObservedGroup[];
  /** Groups that its annotations or rules of its managed group name, by id; null if not visible. */
  readonly named: Readonly<Record<string, ObservedGroup | null>>;
  readonly subnets: Readonly<Record<string, Subnet | null>>;
  /** By instance id. */
  readonly addresses: Readonly<Record<string, InstanceAddresses>>;
  /** The public address in `spec.loadBalancerIP`; null if not visible. */
  readonly publicIp?: PublicIp | null;
  /** A slow change was ordered. */
  readonly isOrdered?: true;
}

import {
  accept,
  type Reader,
  readBoolean,
  readEnum,
  readInteger,
  readList,
  readText,
  reject,
} from "#clouds/annotations/readers.ts";
import { readLabelSelector } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { readRuleSets } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import { readDefinedTags, readFreeformTags } from "#clouds/oci/load-balancers/tags.ts";
import { canonicalizeIp } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";

/** The type of a Service's load balancer: one of the service "load balancer", or a network load balancer. */
export type LoadBalancerKind = "lb" | "nlb";

/** Prefixes of annotation names: for load balancers, for both types, for network load balancers. */
export const LB_PREFIX = "service.beta.kubernetes.io/oci-load-balancer-";
export const OCI_PREFIX = "oci.oraclecloud.com/";
export const NLB_PREFIX = "oci-network-load-balancer.oraclecloud.com/";

/** All prefixes. */
export const PREFIXES = [LB_PREFIX, OCI_PREFIX, NLB_PREFIX] as const;

/** The annotation with the desired type. */
export const TYPE = `${OCI_PREFIX}load-balancer-type`;

/** The annotation that says where rules for clients and the load balancer are managed. */
export const RULE_MODE = `${OCI_PREFIX}security-rule-management-mode`;

/** Settings that annotations can make, whatever annotation sets them for a type. */
const SETTING_READERS = {
  internal: readBoolean,
  shape: readText(/^(?:flexible|\d{1,5}Mbps(?:-Micro)?)$/i, "100Mbps, 400Mbps, 8000Mbps or flexible"),
  shapeFlexMin: readBandwidth,
  shapeFlexMax: readBandwidth,
  subnet1: readOcid("subnet"),
  subnet2: readOcid("subnet"),
  idleTimeout: readInteger(1, 7_200, { unit: " (seconds)" }),
  proxyProtocolVersion: readInteger(1, 2),
  securityListMode: readEnum(["All", "Frontend", "None"], "anyCase"),
  securityRuleMode: readEnum(["SL-All", "SL-Frontend", "NSG", "None"], "anyCase"),
  healthCheckRetries: readInteger(1, 100),
  healthCheckTimeout: readInteger(1, 600_000, { unit: " (milliseconds)" }),
  lbHealthCheckInterval: readInteger(1_000, 1_800_000, { unit: " (milliseconds)" }),
  nlbHealthCheckInterval: readInteger(10_000, 1_800_000, { unit: " (milliseconds)" }),
  backendProtocol: readEnum(["TCP", "HTTP", "GRPC"], "anyCase"),
  securityGroups: readList(/^ocid1\.networksecuritygroup\.[\w.-]{1,200}$/, {
    atMost: 5,
    allowed: "at most 5 OCIDs of network security groups, between commas, none twice",
  }),
  backendSecurityGroups: readList(/^ocid1\.networksecuritygroup\.[\w.-]{1,200}$/, {
    atMost: 5,
    allowed: "at most 5 OCIDs of network security groups, between commas, none twice",
  }),
  lbPolicy: readEnum(["ROUND_ROBIN", "LEAST_CONNECTIONS", "IP_HASH"], "anyCase"),
  nlbPolicy: readEnum(["FIVE_TUPLE", "THREE_TUPLE", "TWO_TUPLE"], "anyCase"),
  freeformTags: readFreeformTags,
  definedTags: readDefinedTags,
  freeformTagsBefore: readFreeformTags,
  definedTagsBefore: readDefinedTags,
  nodeLabelSelector: readLabelSelector,
  ruleSets: readRuleSets,
  ingressIPMode: readAnyText,
  compartment: readOcid("compartment|tenancy"),
  type: readAnyText,
  preserveSource: readBoolean,
  isPpv2Enabled: readBoolean,
  externalIPOnly: readBoolean,
  assignedPrivateIPv4: readAddress(4),
  assignedIPv6: readAddress(6),
  certificateOfSecret: ((_written) => reject("nothing", "SecretsNotRead")) satisfies Reader<never>,
  workloadIdentity: ((_written) => reject("nothing", "NotAllowed")) satisfies Reader<never>,
} as const;

/** The name of a setting, as readers and issues use it. */
export type SettingName = keyof typeof SETTING_READERS;

type SettingValue<Each> = Each extends Reader<infer Value> ? Exclude<Value, undefined> : never;

/** The settings of a Service's annotations; absent if not set. */
export type AnnotationSettings = {
  readonly [Each in SettingName]?: SettingValue<(typeof SETTING_READERS)[Each]>;
};

/** The setting that an annotation makes for each type that supports it. */
export type AnnotationMeaning = Readonly<Partial<Record<LoadBalancerKind, SettingName>>>;

/** The annotations by full name. Limits are those of OCI's APIs. An empty value counts as missing. */
export const ANNOTATIONS: Readonly<Record<string, AnnotationMeaning>> = {
  [`${LB_PREFIX}internal`]: { lb: "internal" },
  [`${LB_PREFIX}shape`]: { lb: "shape" },
  [`${LB_PREFIX}shape-flex-min`]: { lb: "shapeFlexMin" },
  [`${LB_PREFIX}shape-flex-max`]: { lb: "shapeFlexMax" },
  [`${LB_PREFIX}subnet1`]: { lb: "subnet1" },
  [`${LB_PREFIX}subnet2`]: { lb: "subnet2" },
  [`${LB_PREFIX}ssl-ports`]: { lb: "certificateOfSecret" },
  [`${LB_PREFIX}tls-secret`]: { lb: "certificateOfSecret" },
  [`${LB_PREFIX}tls-backendset-secret`]: { lb: "certificateOfSecret" },
  [`${LB_PREFIX}connection-idle-timeout`]: { lb: "idleTimeout" },
  [`${LB_PREFIX}connection-proxy-protocol-version`]: { lb: "proxyProtocolVersion" },
  [`${LB_PREFIX}security-list-management-mode`]: { lb: "securityListMode" },
  [`${LB_PREFIX}health-check-retries`]: { lb: "healthCheckRetries" },
  [`${LB_PREFIX}health-check-interval`]: { lb: "lbHealthCheckInterval" },
  [`${LB_PREFIX}health-check-timeout`]: { lb: "healthCheckTimeout" },
  [`${LB_PREFIX}backend-protocol`]: { lb: "backendProtocol" },
  [TYPE]: { lb: "type", nlb: "type" },
  [`${OCI_PREFIX}oci-network-security-groups`]: { lb: "securityGroups" },
  [`${OCI_PREFIX}loadbalancer-policy`]: { lb: "lbPolicy" },
  [`${OCI_PREFIX}initial-defined-tags-override`]: { lb: "definedTags" },
  [`${OCI_PREFIX}initial-freeform-tags-override`]: { lb: "freeformTags" },
  [`${OCI_PREFIX}node-label-selector`]: { lb: "nodeLabelSelector" },
  [RULE_MODE]: { lb: "securityRuleMode", nlb: "securityRuleMode" },
  [`${OCI_PREFIX}oci-backend-network-security-group`]: {
    lb: "backendSecurityGroups",
    nlb: "backendSecurityGroups",
  },
  [`${OCI_PREFIX}oci-load-balancer-listener-ssl-config`]: { lb: "certificateOfSecret" },
  [`${OCI_PREFIX}oci-load-balancer-backendset-ssl-config`]: { lb: "certificateOfSecret" },
  [`${OCI_PREFIX}oci-load-balancer-rule-sets`]: { lb: "ruleSets" },
  [`${OCI_PREFIX}ingress-ip-mode`]: { lb: "ingressIPMode", nlb: "ingressIPMode" },
  [`${OCI_PREFIX}compartment-id`]: { lb: "compartment", nlb: "compartment" },
  [`${OCI_PREFIX}workload-service-account`]: { lb: "workloadIdentity", nlb: "workloadIdentity" },
  [`${NLB_PREFIX}internal`]: { nlb: "internal" },
  [`${NLB_PREFIX}subnet`]: { nlb: "subnet1" },
  [`${NLB_PREFIX}oci-network-security-groups`]: { nlb: "securityGroups" },
  [`${NLB_PREFIX}health-check-retries`]: { nlb: "healthCheckRetries" },
  [`${NLB_PREFIX}health-check-interval`]: { nlb: "nlbHealthCheckInterval" },
  [`${NLB_PREFIX}health-check-timeout`]: { nlb: "healthCheckTimeout" },
  [`${NLB_PREFIX}backend-policy`]: { nlb: "nlbPolicy" },
  [`${NLB_PREFIX}security-list-management-mode`]: { nlb: "securityListMode" },
  [`${NLB_PREFIX}initial-defined-tags-override`]: { nlb: "definedTags" },
  [`${NLB_PREFIX}initial-freeform-tags-override`]: { nlb: "freeformTags" },
  [`${NLB_PREFIX}defined-tags`]: { nlb: "definedTagsBefore" },
  [`${NLB_PREFIX}freeform-tags`]: { nlb: "freeformTagsBefore" },
  [`${NLB_PREFIX}node-label-selector`]: { nlb: "nodeLabelSelector" },
  [`${NLB_PREFIX}is-preserve-source`]: { nlb: "preserveSource" },
  [`${NLB_PREFIX}is-ppv2-enabled`]: { nlb: "isPpv2Enabled" },
  [`${NLB_PREFIX}external-ip-only`]: { nlb: "externalIPOnly" },
  [`${NLB_PREFIX}assigned-private-ipv4`]: { nlb: "assignedPrivateIPv4" },
  [`${NLB_PREFIX}assigned-ipv6`]: { nlb: "assignedIPv6" },
};

/** Returns the reader of a setting. */
export function getReader(setting: SettingName): Reader<unknown> {
  return SETTING_READERS[setting];
}

/** Finds the annotation of a setting for a type, for issues. */
export function findAnnotation(kind: LoadBalancerKind, setting: SettingName): string {
  const found = Object.entries(ANNOTATIONS).find(([, meaning]) => meaning[kind] === setting);
  return found?.[0] ?? TYPE;
}

/** Reads a bandwidth in megabits per second and clamps it to the limits. */
function readBandwidth(written: string) {
  const digits = /^(\d{1,9})(?:Mbps)?$/i.exec(written)?.[1];
  if (digits === undefined) return reject("a number of megabits per second such as 10 or 10Mbps");
  return accept(Math.min(MAX_BANDWIDTH, Math.max(MIN_BANDWIDTH, Number(digits))));
}

const MIN_BANDWIDTH = 10;
const MAX_BANDWIDTH = 8_192;

function readAnyText(written: string) {
  return accept(written);
}

function readOcid(type: string): Reader<string> {
  const name = type.split("|")[0];
  return readText(new RegExp(`^ocid1\\.(?:${type})\\.[\\w.-]{1,200}$`), `the OCID of a ${name}`);
}

function readAddress(family: 4 | 6): Reader<string> {
  return (written) =>
    parseIp(written)?.family === family && written.includes(":") === (family === 6)
      ? accept(canonicalizeIp(written) ?? written)
      : reject(`one IPv${family} address`);
}

import {
  boolean,
  is,
  list,
  mayBe,
  oneOf,
  type Reader,
  text,
  wholeNumber,
} from "#clouds/annotations/reading.ts";
import { labelSelector } from "#clouds/oci/load-balancers/annotations/label-selector.ts";
import { ruleSets } from "#clouds/oci/load-balancers/annotations/rule-sets.ts";
import { definedTags, freeformTags } from "#clouds/oci/load-balancers/annotations/tags.ts";
import { canonicalIp } from "#core/cidr.ts";
import { parseIp } from "#core/ip.ts";

/** What is made for a Service: a load balancer of the service of that name, or a network load balancer. */
export type LoadBalancerKind = "lb" | "nlb";

/** How the names of annotations begin: those of load balancers, those of both kinds, those of network load balancers. */
export const LB_PREFIX = "service.beta.kubernetes.io/oci-load-balancer-";
export const OCI_PREFIX = "oci.oraclecloud.com/";
export const NLB_PREFIX = "oci-network-load-balancer.oraclecloud.com/";

/** All of them. */
export const PREFIXES = [LB_PREFIX, OCI_PREFIX, NLB_PREFIX] as const;

/** The annotation that says which kind is wanted. */
export const TYPE = `${OCI_PREFIX}load-balancer-type`;

/** The annotation that says where rules that let clients and the load balancer through are kept. */
export const RULE_MODE = `${OCI_PREFIX}security-rule-management-mode`;

/** What annotations can say, whichever of them says it for a kind. */
const SAYINGS = {
  internal: boolean,
  shape: text(/^(?:flexible|\d{1,5}Mbps(?:-Micro)?)$/i, "100Mbps, 400Mbps, 8000Mbps or flexible"),
  shapeFlexMin: bandwidth,
  shapeFlexMax: bandwidth,
  subnet1: ocid("subnet"),
  subnet2: ocid("subnet"),
  idleTimeout: wholeNumber(1, 7_200, { unit: " (seconds)" }),
  proxyProtocolVersion: wholeNumber(1, 2),
  securityListMode: oneOf(["All", "Frontend", "None"], "anyCase"),
  securityRuleMode: oneOf(["SL-All", "SL-Frontend", "NSG", "None"], "anyCase"),
  healthCheckRetries: wholeNumber(1, 100),
  healthCheckTimeout: wholeNumber(1, 600_000, { unit: " (milliseconds)" }),
  lbHealthCheckInterval: wholeNumber(1_000, 1_800_000, { unit: " (milliseconds)" }),
  nlbHealthCheckInterval: wholeNumber(10_000, 1_800_000, { unit: " (milliseconds)" }),
  backendProtocol: oneOf(["TCP", "HTTP", "GRPC"], "anyCase"),
  securityGroups: list(/^ocid1\.networksecuritygroup\.[\w.-]{1,200}$/, {
    atMost: 5,
    allowed: "at most 5 OCIDs of network security groups, between commas, none twice",
  }),
  backendSecurityGroups: list(/^ocid1\.networksecuritygroup\.[\w.-]{1,200}$/, {
    atMost: 5,
    allowed: "at most 5 OCIDs of network security groups, between commas, none twice",
  }),
  lbPolicy: oneOf(["ROUND_ROBIN", "LEAST_CONNECTIONS", "IP_HASH"], "anyCase"),
  nlbPolicy: oneOf(["FIVE_TUPLE", "THREE_TUPLE", "TWO_TUPLE"], "anyCase"),
  freeformTags,
  definedTags,
  freeformTagsBefore: freeformTags,
  definedTagsBefore: definedTags,
  nodeLabelSelector: labelSelector,
  ruleSets,
  ingressIPMode: anyText,
  compartment: ocid("compartment|tenancy"),
  type: anyText,
  preserveSource: boolean,
  isPpv2Enabled: boolean,
  externalIPOnly: boolean,
  assignedPrivateIPv4: address(4),
  assignedIPv6: address(6),
  certificateOfSecret: ((_written) => mayBe("nothing", "SecretsNotRead")) satisfies Reader<never>,
  workloadIdentity: ((_written) => mayBe("nothing", "NotAllowed")) satisfies Reader<never>,
} as const;

type Saying = keyof typeof SAYINGS;

type ValueOf<Each> = Each extends Reader<infer Value> ? Exclude<Value, undefined> : never;

/** What the annotations of a Service say; absent where nothing is said. */
export type Said = { readonly [Each in Saying]?: ValueOf<(typeof SAYINGS)[Each]> };

/** What an annotation says of each kind that it holds for. */
export type Meaning = Readonly<Partial<Record<LoadBalancerKind, Saying>>>;

/** The annotations by their whole names. Limits are those of OCI's APIs. An empty value is as none. */
export const ANNOTATIONS: Readonly<Record<string, Meaning>> = {
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

/** The reader of what an annotation can say. */
export function readerOf(saying: Saying): Reader<unknown> {
  return SAYINGS[saying];
}

/** Which annotation says something of a kind, for problems. */
export function annotationOf(kind: LoadBalancerKind, saying: Saying): string {
  const found = Object.entries(ANNOTATIONS).find(([, meaning]) => meaning[kind] === saying);
  return found?.[0] ?? TYPE;
}

/** A bandwidth in megabits per second, to the limits of which it is cut. */
function bandwidth(written: string) {
  const digits = /^(\d{1,9})(?:Mbps)?$/i.exec(written)?.[1];
  if (digits === undefined) return mayBe("a number of megabits per second such as 10 or 10Mbps");
  return is(Math.min(MAX_BANDWIDTH, Math.max(MIN_BANDWIDTH, Number(digits))));
}

const MIN_BANDWIDTH = 10;
const MAX_BANDWIDTH = 8_192;

function anyText(written: string) {
  return is(written);
}

function ocid(type: string): Reader<string> {
  const name = type.split("|")[0];
  return text(new RegExp(`^ocid1\\.(?:${type})\\.[\\w.-]{1,200}$`), `the OCID of a ${name}`);
}

function address(family: 4 | 6): Reader<string> {
  return (written) =>
    parseIp(written)?.family === family && written.includes(":") === (family === 6)
      ? is(canonicalIp(written) ?? written)
      : mayBe(`one IPv${family} address`);
}

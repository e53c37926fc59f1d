import {
  accept,
  type Reader,
  readBoolean,
  readEnum,
  readInteger,
  readText,
  reject,
  splitItems,
} from "#clouds/annotations/readers.ts";
import { canonicalizeCidr, canonicalizeIp } from "#core/cidr.ts";
import { LOAD_BALANCER_ID_ANNOTATION } from "#core/contracts.ts";
import type { Service } from "#core/service/service.ts";

/** The id of a load balancer, a certificate or a subnet; nothing else may become part of a path. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const readUuid = readText(UUID, "a UUID");

/** Reads comma-separated port numbers. */
const readPorts: Reader<readonly number[]> = (written) => {
  const items = splitItems(written);
  const isValid = items.length <= MAX_ITEMS && items.every((item) => readPort(item).ok);
  return isValid ? accept([...new Set(items.map(Number))]) : reject("ports between commas, such as 443,8443");
};

/** Reads a port number. */
const readPort = readInteger(1, 65_535);

/** Reads comma-separated firewall rules, with networks in canonical form. */
const readFirewallRules: Reader<readonly string[]> = (written) => {
  const items = splitItems(written);
  const rules = items.slice(0, MAX_ITEMS).map(parseFirewallRule);
  const isValid = items.length <= MAX_ITEMS && rules.every((rule) => rule !== undefined);
  return isValid
    ? accept([...new Set(rules.filter((rule) => rule !== undefined))].sort())
    : reject("addresses and networks between commas, such as ip:192.0.2.1,cidr:198.51.100.0/24");
};

/** Accepts any value: only the presence counts. */
const readPresence: Reader<true> = () => accept(true);

/** More than a load balancer allows, and few enough to make any tenant's text cheap to read. */
const MAX_ITEMS = 1_000;

/**
 * The reader of every annotation, by the part of its name after
 * `service.beta.kubernetes.io/do-loadbalancer-`.
 */
export const ANNOTATIONS = {
  name: readText(/^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$/, "letters, digits, dots and dashes"),
  type: readEnum(["REGIONAL_NETWORK", "REGIONAL"]),
  network: readEnum(["EXTERNAL", "INTERNAL"]),
  "network-stack": readEnum(["IPV4", "DUALSTACK"]),
  protocol: readEnum(["tcp", "http", "https", "http2"]),
  "http-ports": readPorts,
  "tls-ports": readPorts,
  "http2-ports": readPorts,
  "http3-port": readPort,
  "certificate-id": readUuid,
  "certificate-name": readText(/^[^\p{Cc}]{1,255}$/u, "the name of a certificate"),
  "tls-passthrough": readBoolean,
  hostname: readText(
    /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
    "a name of the DNS",
  ),
  "healthcheck-check-interval-seconds": readInteger(3, 300),
  "healthcheck-response-timeout-seconds": readInteger(3, 300),
  "healthcheck-unhealthy-threshold": readInteger(2, 10),
  "healthcheck-healthy-threshold": readInteger(2, 10),
  "override-health-check": readPresence,
  "healthcheck-port": readPort,
  "healthcheck-path": readText(/^\/[!-~]{0,1023}$/, "a path such as /healthz"),
  "healthcheck-protocol": readEnum(["http", "https", "tcp"]),
  "size-unit": readInteger(0, 100),
  "size-slug": readEnum(["lb-small", "lb-medium", "lb-large"]),
  algorithm: readEnum(["round_robin", "least_connections"]),
  "sticky-sessions-type": readEnum(["none", "cookies"]),
  "sticky-sessions-cookie-name": readText(
    /^[\w.-]{2,40}$/,
    "2 to 40 letters, digits, dots, dashes, underscores",
  ),
  "sticky-sessions-cookie-ttl": readInteger(1, 34_650_000),
  "redirect-http-to-https": readBoolean,
  "enable-proxy-protocol": readBoolean,
  "enable-backend-keepalive": readBoolean,
  "disable-lets-encrypt-dns-records": readBoolean,
  "http-idle-timeout-seconds": readInteger(30, 600),
  "allow-rules": readFirewallRules,
  "deny-rules": readFirewallRules,
  ip: readText(/^\d{1,3}(\.\d{1,3}){3}$/, "an IPv4 address"),
  "subnet-uuid": readUuid,
} as const satisfies Readonly<Record<string, Reader<unknown>>>;

export type AnnotationSuffix = keyof typeof ANNOTATIONS;

/** The values of a Service's annotations; absent if not set. */
export type Annotations = {
  readonly [Suffix in AnnotationSuffix]?: (typeof ANNOTATIONS)[Suffix] extends Reader<infer Value>
    ? Value
    : never;
};

/** The types of load balancers that are created. */
export type LoadBalancerType = "REGIONAL" | "REGIONAL_NETWORK";

function parseFirewallRule(item: string): string | undefined {
  if (item.startsWith("ip:")) {
    const address = canonicalizeIp(item.slice(3));
    return address === undefined ? undefined : `ip:${address}`;
  }
  if (!item.startsWith("cidr:")) return undefined;
  const network = canonicalizeCidr(item.slice(5));
  return network === undefined ? undefined : `cidr:${network}`;
}

/** Prefix of most annotation names. */
export const ANNOTATION_PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";

/** Formats an annotation's full name. */
export function formatAnnotationName(suffix: AnnotationSuffix): string {
  return `${ANNOTATION_PREFIX}${suffix}`;
}

/** The id of a Service's load balancer; we write it, as the stock controller does. */
export const ID_ANNOTATION = LOAD_BALANCER_ID_ANNOTATION;

/** Says that the load balancer is left to another owner. */
export const DISOWN_ANNOTATION = "service.kubernetes.io/do-loadbalancer-disown";

/**
 * Whether the load balancer of a Service must be left alone, neither changed nor deleted; undefined if the
 * value is invalid.
 */
export function readDisowned({ metadata: { annotations } }: Pick<Service, "metadata">): boolean | undefined {
  const written = (annotations?.[DISOWN_ANNOTATION] ?? "").trim();
  if (written === "") return false;
  const read = readBoolean(written);
  return read.ok ? read.value : undefined;
}

/** Whether the load balancer is certainly disowned. */
export function isDisowned(service: Pick<Service, "metadata">): boolean {
  return readDisowned(service) === true;
}

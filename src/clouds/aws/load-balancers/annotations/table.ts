import { accept, type Reader, readList, reject, splitItems } from "#clouds/annotations/readers.ts";
import { readAdditionalTags } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import {
  parseInteger,
  parsePairs,
  readBoolean,
  readEnum,
  readInteger,
  readTargetNodeLabels,
  readText,
} from "#clouds/aws/load-balancers/annotations/readers.ts";
import type { ServicePort } from "#core/service/service.ts";

/** The type of a Service's load balancer: of ELB or of ELBv2. */
export type LoadBalancerKind = "classic" | "network";

/** The reader of an annotation for each load balancer type that supports it. */
export interface Annotation<Value> {
  readonly classic?: Reader<Value>;
  readonly network?: Reader<Value>;
  /** For the other type it is rejected instead of ignored. */
  readonly refusedElsewhere?: true;
}

/** Reads `target-group-attributes`. */
const readTargetGroupAttributes: Reader<TargetGroupAttributes> = (written) => {
  const pairs = parsePairs(written);
  const isGood = pairs.every(([key, value]) => NAMES.has(key) && (value === "true" || value === "false"));
  if (!isGood || new Set(pairs.map(([key]) => key)).size !== pairs.length) return reject(ALLOWED);
  return accept(Object.fromEntries(pairs.map(([key, value]) => [key, value === "true"])));
};

const NAMES: ReadonlySet<string> = new Set([
  "preserve_client_ip.enabled",
  "proxy_protocol_v2.enabled",
] satisfies (keyof TargetGroupAttributes)[]);

const ALLOWED =
  "preserve_client_ip.enabled and proxy_protocol_v2.enabled, once each, as key=true or key=false";

/** Reads `ssl-ports`: names or numbers of ports; undefined means all ports. */
const readTlsPorts: Reader<PortSet | undefined> = (written) => {
  const items = splitItems(written);
  if (items.length === 0 || (items.length === 1 && items[0] === "*")) return accept(undefined);
  const numbers = items.flatMap((item) => parseInteger(item) ?? []);
  const names = items.filter((item) => parseInteger(item) === undefined).map((item) => item.toLowerCase());
  const isGood = numbers.every((number) => number >= 1 && number <= 65_535) && names.every(isPortName);
  return isGood
    ? accept({ numbers, names })
    : reject("* or names and numbers of the Service's ports, as 443,https");
};

/**
 * The annotations, by the part of the name after `service.beta.kubernetes.io/aws-load-balancer-`. Limits are
 * those of AWS's APIs. An empty value counts as missing, except for `subnets`.
 */
export const ANNOTATIONS = {
  type: defineBoth(readAnyText),
  /** As in the stock controller, every value except exactly `false` means internal. */
  internal: defineBoth((written) => accept(written !== "false")),
  /** Unchanged: comma-separated identifiers or names. */
  subnets: defineBoth((written) =>
    splitItems(written).length > 0 ? accept(written) : reject("ids or names of subnets, between commas"),
  ),
  "eip-allocations": defineNetwork(
    readList(/^eipalloc-[0-9a-z]+$/, {
      atMost: 20,
      allowed: "allocation ids such as eipalloc-0123456789abcdef0, one for each subnet and none twice",
    }),
  ),
  "private-ipv4-addresses": defineNetwork(
    readList(/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/, {
      atMost: 20,
      allowed: "IPv4 addresses, one for each subnet and none twice",
    }),
  ),
  "additional-resource-tags": defineBoth(readAdditionalTags),
  "proxy-protocol": defineClassic(readEnum(["*"])),
  "target-group-attributes": { network: readTargetGroupAttributes, refusedElsewhere: true },
  "access-log-enabled": defineBoth(readBoolean),
  "access-log-emit-interval": defineClassic((written) => {
    const minutes = parseInteger(written.trim());
    return minutes === 5 || minutes === 60 ? accept(minutes) : reject("5 or 60 (minutes)");
  }),
  "access-log-s3-bucket-name": defineBoth(
    readText(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "the name of an S3 bucket"),
  ),
  "access-log-s3-bucket-prefix": defineBoth(
    readText(/^[^\p{C}]{1,512}$/u, "a prefix of keys of an S3 bucket, such as logs/production"),
  ),
  "connection-draining-enabled": defineClassic(readBoolean),
  "connection-draining-timeout": defineClassic(readInteger(1, 3_600, " (seconds)")),
  "connection-idle-timeout": defineClassic(readInteger(1, 4_000, " (seconds)")),
  "cross-zone-load-balancing-enabled": defineBoth(readBoolean),
  "security-groups": defineBoth(readSecurityGroups()),
  "extra-security-groups": { classic: readSecurityGroups(), refusedElsewhere: true },
  "ssl-cert": defineBoth(
    readText(
      /^arn:[\w-]+:(?:acm:[\w-]+:\d{12}:certificate|iam::\d{12}:server-certificate)\/[\w/+=,.@-]{1,512}$/i,
      "the ARN of a certificate of ACM or IAM",
    ),
  ),
  "ssl-ports": defineBoth(readTlsPorts),
  "ssl-negotiation-policy": defineBoth(
    readText(/^[\w-]{1,128}$/, "the name of a security policy such as ELBSecurityPolicy-TLS-1-2-2017-01"),
  ),
  // A network load balancer uses TLS towards its targets for ssl, and plain TCP for the others.
  "backend-protocol": defineBoth(readEnum(["http", "https", "ssl", "tcp"])),
  "healthcheck-protocol": {
    classic: readEnum(["TCP", "HTTP", "HTTPS", "SSL"], "anyCase"),
    network: readEnum(["TCP", "HTTP", "HTTPS"], "anyCase"),
  } satisfies Annotation<"TCP" | "HTTP" | "HTTPS" | "SSL">,
  "healthcheck-port": defineBoth<number | "traffic-port">((written) => {
    const port = parseInteger(written.trim());
    if (written.trim() === "traffic-port") return accept("traffic-port");
    return port !== undefined && port >= 1 && port <= 65_535
      ? accept(port)
      : reject("traffic-port or a port from 1 to 65535");
  }),
  "healthcheck-path": defineBoth(readText(/^\/[!-~]{0,1000}$/, "a path such as /healthz, without spaces")),
  "healthcheck-interval": defineBoth(readInteger(5, 300, " (seconds)")),
  "healthcheck-timeout": {
    classic: readInteger(2, 60, " (seconds)"),
    network: readInteger(2, 120, " (seconds)"),
  },
  "healthcheck-healthy-threshold": defineBoth(readInteger(2, 10)),
  "healthcheck-unhealthy-threshold": defineBoth(readInteger(2, 10)),
  "target-node-labels": defineBoth(readTargetNodeLabels),
} as const;

/** The part of an annotation's name after `service.beta.kubernetes.io/aws-load-balancer-`. */
export type AnnotationSuffix = keyof typeof ANNOTATIONS;

type EntryValue<Entry> = Entry extends Annotation<infer Value> ? Exclude<Value, undefined> : never;

/** The values of a Service's annotations by suffix; absent if not set. */
export type Annotations = {
  readonly [Suffix in AnnotationSuffix]?: EntryValue<(typeof ANNOTATIONS)[Suffix]>;
};

function defineBoth<Value>(reader: Reader<Value>): {
  readonly classic: Reader<Value>;
  readonly network: Reader<Value>;
} {
  return { classic: reader, network: reader };
}

function defineClassic<Value>(reader: Reader<Value>): { readonly classic: Reader<Value> } {
  return { classic: reader };
}

function defineNetwork<Value>(reader: Reader<Value>): { readonly network: Reader<Value> } {
  return { network: reader };
}

function readAnyText(written: string) {
  return accept(written);
}

/** AWS attaches at most five groups to a load balancer. */
function readSecurityGroups() {
  return readList(/^sg-[0-9a-z]+$/, {
    atMost: 5,
    allowed: "at most 5 ids of security groups such as sg-0123456789abcdef0, between commas, none twice",
  });
}

/** Attributes of target groups that an annotation can set. */
interface TargetGroupAttributes {
  readonly "preserve_client_ip.enabled"?: boolean;
  readonly "proxy_protocol_v2.enabled"?: boolean;
}

/** Ports of a Service by number, or by lower-case name. */
interface PortSet {
  readonly numbers: readonly number[];
  readonly names: readonly string[];
}

/** Whether a set includes a port. */
export function isAmong(ports: PortSet | undefined, { port, name }: ServicePort): boolean {
  if (ports === undefined || ports.numbers.includes(port)) return true;
  return name !== undefined && ports.names.includes(name.toLowerCase());
}

/** Whether a text is a DNS label, as names of a Service's ports are. */
function isPortName(name: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

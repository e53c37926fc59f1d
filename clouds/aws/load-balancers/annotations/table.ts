import { is, itemsOf, list, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { additionalTags } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import {
  boolean,
  numberOf,
  oneOf,
  text,
  wholeNumber,
} from "#clouds/aws/load-balancers/annotations/reading.ts";
import { targetGroupAttributes } from "#clouds/aws/load-balancers/annotations/target-group-attributes.ts";
import { targetNodeLabels } from "#clouds/aws/load-balancers/annotations/target-node-labels.ts";
import { tlsPorts } from "#clouds/aws/load-balancers/annotations/tls-ports.ts";

/** What is made for a Service: a load balancer of ELB, or of ELBv2. */
export type LoadBalancerKind = "classic" | "network";

/** How an annotation is read for each kind of load balancer that it holds for. */
export interface Annotation<Value> {
  readonly classic?: Reader<Value>;
  readonly network?: Reader<Value>;
  /** For a kind that it does not hold for it is not merely ignored. */
  readonly refusedElsewhere?: true;
}

/**
 * The annotations, by what follows `service.beta.kubernetes.io/aws-load-balancer-`. Limits are those of AWS's APIs. An empty value
 * is as none, except of `subnets`.
 */
export const ANNOTATIONS = {
  type: both(anyText),
  /** As the stock controller has it, whatever is not exactly `false` is internal. */
  internal: both((written) => is(written !== "false")),
  /** As it is written: identifiers or names between commas. */
  subnets: both((written) =>
    itemsOf(written).length > 0 ? is(written) : mayBe("ids or names of subnets, between commas"),
  ),
  "eip-allocations": network(
    list(/^eipalloc-[0-9a-z]+$/, {
      atMost: 20,
      allowed: "allocation ids such as eipalloc-0123456789abcdef0, one for each subnet and none twice",
    }),
  ),
  "private-ipv4-addresses": network(
    list(/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/, {
      atMost: 20,
      allowed: "IPv4 addresses, one for each subnet and none twice",
    }),
  ),
  "additional-resource-tags": both(additionalTags),
  "proxy-protocol": classic(oneOf(["*"])),
  "target-group-attributes": { network: targetGroupAttributes, refusedElsewhere: true },
  "access-log-enabled": both(boolean),
  "access-log-emit-interval": classic((written) => {
    const minutes = numberOf(written.trim());
    return minutes === 5 || minutes === 60 ? is(minutes) : mayBe("5 or 60 (minutes)");
  }),
  "access-log-s3-bucket-name": both(text(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "the name of an S3 bucket")),
  "access-log-s3-bucket-prefix": both(
    text(/^[^\p{C}]{1,512}$/u, "a prefix of keys of an S3 bucket, such as logs/production"),
  ),
  "connection-draining-enabled": classic(boolean),
  "connection-draining-timeout": classic(wholeNumber(1, 3_600, " (seconds)")),
  "connection-idle-timeout": classic(wholeNumber(1, 4_000, " (seconds)")),
  "cross-zone-load-balancing-enabled": both(boolean),
  "security-groups": both(securityGroups()),
  "extra-security-groups": { classic: securityGroups(), refusedElsewhere: true },
  "ssl-cert": both(
    text(
      /^arn:[\w-]+:(?:acm:[\w-]+:\d{12}:certificate|iam::\d{12}:server-certificate)\/[\w/+=,.@-]{1,512}$/i,
      "the ARN of a certificate of ACM or IAM",
    ),
  ),
  "ssl-ports": both(tlsPorts),
  "ssl-negotiation-policy": both(
    text(/^[\w-]{1,128}$/, "the name of a security policy such as ELBSecurityPolicy-TLS-1-2-2017-01"),
  ),
  // A network load balancer speaks TLS to its targets for ssl; to it the others are plain TCP.
  "backend-protocol": both(oneOf(["http", "https", "ssl", "tcp"])),
  "healthcheck-protocol": {
    classic: oneOf(["TCP", "HTTP", "HTTPS", "SSL"], "anyCase"),
    network: oneOf(["TCP", "HTTP", "HTTPS"], "anyCase"),
  } satisfies Annotation<"TCP" | "HTTP" | "HTTPS" | "SSL">,
  "healthcheck-port": both<number | "traffic-port">((written) => {
    const port = numberOf(written.trim());
    if (written.trim() === "traffic-port") return is("traffic-port");
    return port !== undefined && port >= 1 && port <= 65_535
      ? is(port)
      : mayBe("traffic-port or a port from 1 to 65535");
  }),
  "healthcheck-path": both(text(/^\/[!-~]{0,1000}$/, "a path such as /healthz, without spaces")),
  "healthcheck-interval": both(wholeNumber(5, 300, " (seconds)")),
  "healthcheck-timeout": {
    classic: wholeNumber(2, 60, " (seconds)"),
    network: wholeNumber(2, 120, " (seconds)"),
  },
  "healthcheck-healthy-threshold": both(wholeNumber(2, 10)),
  "healthcheck-unhealthy-threshold": both(wholeNumber(2, 10)),
  "target-node-labels": both(targetNodeLabels),
} as const;

/** What follows `service.beta.kubernetes.io/aws-load-balancer-` in an annotation's name. */
export type AnnotationSuffix = keyof typeof ANNOTATIONS;

type ValueOf<Entry> = Entry extends Annotation<infer Value> ? Exclude<Value, undefined> : never;

/** What the annotations of a Service say, each by its suffix; absent where nothing is said. */
export type Annotations = { readonly [Suffix in AnnotationSuffix]?: ValueOf<(typeof ANNOTATIONS)[Suffix]> };

function both<Value>(reader: Reader<Value>): {
  readonly classic: Reader<Value>;
  readonly network: Reader<Value>;
} {
  return { classic: reader, network: reader };
}

function classic<Value>(reader: Reader<Value>): { readonly classic: Reader<Value> } {
  return { classic: reader };
}

function network<Value>(reader: Reader<Value>): { readonly network: Reader<Value> } {
  return { network: reader };
}

function anyText(written: string) {
  return is(written);
}

/** AWS attaches at most five groups. */
function securityGroups() {
  return list(/^sg-[0-9a-z]+$/, {
    atMost: 5,
    allowed: "at most 5 ids of security groups such as sg-0123456789abcdef0, between commas, none twice",
  });
}

import { boolean, oneOf, type Reader, text, wholeNumber } from "#clouds/annotations/reading.ts";
import {
  firewallRules,
  port,
  ports,
  presence,
} from "#clouds/digitalocean/load-balancers/annotations/reading.ts";

/** The id of a load balancer, of a certificate, of a subnet: nothing else may become part of a path. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const uuid = text(UUID, "a UUID");

/** Every annotation by what its name ends in after `service.beta.kubernetes.io/do-loadbalancer-`, with what reads it. */
export const ANNOTATIONS = {
  name: text(/^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?$/, "letters, digits, dots and dashes"),
  type: oneOf(["REGIONAL_NETWORK", "REGIONAL"]),
  network: oneOf(["EXTERNAL", "INTERNAL"]),
  "network-stack": oneOf(["IPV4", "DUALSTACK"]),
  protocol: oneOf(["tcp", "http", "https", "http2"]),
  "http-ports": ports,
  "tls-ports": ports,
  "http2-ports": ports,
  "http3-port": port,
  "certificate-id": uuid,
  "certificate-name": text(/^[^\p{Cc}]{1,255}$/u, "the name of a certificate"),
  "tls-passthrough": boolean,
  hostname: text(
    /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
    "a name of the DNS",
  ),
  "healthcheck-check-interval-seconds": wholeNumber(3, 300),
  "healthcheck-response-timeout-seconds": wholeNumber(3, 300),
  "healthcheck-unhealthy-threshold": wholeNumber(2, 10),
  "healthcheck-healthy-threshold": wholeNumber(2, 10),
  "override-health-check": presence,
  "healthcheck-port": port,
  "healthcheck-path": text(/^\/[!-~]{0,1023}$/, "a path such as /healthz"),
  "healthcheck-protocol": oneOf(["http", "https", "tcp"]),
  "size-unit": wholeNumber(0, 100),
  "size-slug": oneOf(["lb-small", "lb-medium", "lb-large"]),
  algorithm: oneOf(["round_robin", "least_connections"]),
  "sticky-sessions-type": oneOf(["none", "cookies"]),
  "sticky-sessions-cookie-name": text(/^[\w.-]{2,40}$/, "2 to 40 letters, digits, dots, dashes, underscores"),
  "sticky-sessions-cookie-ttl": wholeNumber(1, 34_650_000),
  "redirect-http-to-https": boolean,
  "enable-proxy-protocol": boolean,
  "enable-backend-keepalive": boolean,
  "disable-lets-encrypt-dns-records": boolean,
  "http-idle-timeout-seconds": wholeNumber(30, 600),
  "allow-rules": firewallRules,
  "deny-rules": firewallRules,
  ip: text(/^\d{1,3}(\.\d{1,3}){3}$/, "an IPv4 address"),
  "subnet-uuid": uuid,
} as const satisfies Readonly<Record<string, Reader<unknown>>>;

export type AnnotationSuffix = keyof typeof ANNOTATIONS;

/** What a Service's annotations say; what is not said is absent. */
export type Annotations = {
  readonly [Suffix in AnnotationSuffix]?: (typeof ANNOTATIONS)[Suffix] extends Reader<infer Value>
    ? Value
    : never;
};

/** The kinds of load balancers that are made. */
export type LoadBalancerType = "REGIONAL" | "REGIONAL_NETWORK";

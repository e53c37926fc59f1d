import * as z from "zod";

const stringList = () =>
  z
    .array(z.string())
    .nullish()
    .transform((list) => list ?? []);
const flag = () => z.boolean().catch(false).prefault(false);

/** A rule in the API; missing fields have their default. */
export const ForwardingRule = z.object({
  entry_protocol: z.string(),
  entry_port: z.int(),
  target_protocol: z.string(),
  target_port: z.int(),
  certificate_id: z
    .string()
    .nullish()
    .transform((id) => id ?? ""),
  tls_passthrough: flag(),
});
export type ForwardingRule = z.output<typeof ForwardingRule>;

/** Missing fields have the API's own defaults. */
export const HealthCheck = z.object({
  protocol: z.string().prefault("http"),
  port: z.int().prefault(80),
  path: z
    .string()
    .nullish()
    .transform((path) => path || "/"),
  check_interval_seconds: z.int().prefault(10),
  response_timeout_seconds: z.int().prefault(5),
  unhealthy_threshold: z.int().prefault(3),
  healthy_threshold: z.int().prefault(5),
  proxy_protocol: z.boolean().nullish(),
});
export type HealthCheck = z.output<typeof HealthCheck>;

const StickySessions = z.object({
  type: z.string().prefault("none"),
  cookie_name: z.string().nullish(),
  cookie_ttl_seconds: z.int().nullish(),
});

/**
 * A load balancer in the API; a global one has no region. Unknown fields are kept, because a replacement
 * without them would reset them to their default.
 */
export const LoadBalancer = z.looseObject({
  id: z.string().min(1),
  name: z.string(),
  status: z.string(),
  ip: z
    .string()
    .nullish()
    .transform((ip) => ip ?? ""),
  ipv6: z
    .string()
    .nullish()
    .transform((ip) => ip ?? ""),
  region: z
    .object({ slug: z.string() })
    .nullish()
    .transform((region) => region?.slug ?? ""),
  type: z.string().prefault("REGIONAL"),
  network: z.string().prefault("EXTERNAL"),
  network_stack: z.string().prefault("IPV4"),
  vpc_uuid: z.string().nullish(),
  subnet_uuid: z.string().nullish(),
  tags: stringList(),
  droplet_ids: z
    .array(z.union([z.int(), z.string()]).transform(String))
    .nullish()
    .transform((ids) => ids ?? []),
  forwarding_rules: z
    .array(ForwardingRule)
    .nullish()
    .transform((rules) => rules ?? []),
  health_check: HealthCheck.nullish().transform((check) => check ?? HealthCheck.parse({})),
  sticky_sessions: StickySessions.nullish().transform((sticky) => sticky ?? { type: "none" }),
  firewall: z
    .object({ allow: stringList(), deny: stringList() })
    .nullish()
    .transform((firewall) => firewall ?? { allow: [], deny: [] }),
  size_unit: z.int().nullish(),
  size: z.string().nullish(),
  redirect_http_to_https: flag(),
  enable_proxy_protocol: flag(),
  enable_backend_keepalive: flag(),
  disable_lets_encrypt_dns_records: flag(),
  http_idle_timeout_seconds: z.int().nullish(),
});
export type LoadBalancer = z.output<typeof LoadBalancer>;

/** The answer with one load balancer. */
export const LoadBalancerAnswer = z.object({ load_balancer: LoadBalancer });

/** The fields of a certificate in use. */
export const Certificate = z.object({
  id: z.string().min(1),
  name: z.string(),
  type: z.string().optional(),
});
export type Certificate = z.output<typeof Certificate>;

/** The answer with one certificate. */
export const CertificateAnswer = z.object({ certificate: Certificate });

/** One page of a list of certificates. */
export const CertificatesPage = z.object({ certificates: z.array(Certificate) });

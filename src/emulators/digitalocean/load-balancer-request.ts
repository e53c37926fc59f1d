import * as z from "zod";

const Port = z.int().min(1).max(65_535);
const ENTRY = ["http", "https", "http2", "http3", "tcp", "udp"] as const;

/** A rule as sent and as kept. */
export const ForwardingRule = z.strictObject({
  entry_protocol: z.enum(ENTRY),
  entry_port: Port,
  target_protocol: z.enum(["http", "https", "http2", "tcp", "udp"]),
  target_port: Port,
  certificate_id: z.string().prefault(""),
  tls_passthrough: z.boolean().prefault(false),
});
export type ForwardingRule = z.output<typeof ForwardingRule>;

const HealthCheck = z.strictObject({
  protocol: z.enum(["http", "https", "tcp"]).prefault("http"),
  port: Port.prefault(80),
  path: z.string().startsWith("/").prefault("/"),
  check_interval_seconds: z.int().min(3).max(300).prefault(10),
  response_timeout_seconds: z.int().min(3).max(300).prefault(5),
  unhealthy_threshold: z.int().min(2).max(10).prefault(3),
  healthy_threshold: z.int().min(2).max(10).prefault(5),
  proxy_protocol: z.boolean().prefault(false),
});

const StickySessions = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("none") }),
  z.strictObject({
    type: z.literal("cookies"),
    cookie_name: z.string().min(2).max(40),
    cookie_ttl_seconds: z.int().min(1),
  }),
]);

/** `ip:` and an address, or `cidr:` and a network. */
const FirewallRule = z.string().regex(/^(ip:[\da-fA-F.:]+|cidr:[\da-fA-F.:]+\/\d{1,3})$/);

/** A droplet's ID, a JSON number of any length. */
const DropletId = z.union([z.int().min(1), z.bigint().min(1n)]).transform(String);

/** The body of a creation or change: only the listed fields, with the API's defaults. */
export const LoadBalancerRequest = z.strictObject({
  name: z.string().min(1).max(255),
  region: z.string(),
  type: z.enum(["REGIONAL", "REGIONAL_NETWORK"]).optional(),
  network: z.enum(["EXTERNAL", "INTERNAL"]).optional(),
  network_stack: z.enum(["IPV4", "DUALSTACK"]).optional(),
  vpc_uuid: z.string().optional(),
  subnet_uuid: z.string().optional(),
  project_id: z.string().optional(),
  tags: z.array(z.string().regex(/^[\w:-]{1,255}$/)).optional(),
  droplet_ids: z.array(DropletId).prefault([]),
  forwarding_rules: z.array(ForwardingRule).min(1),
  health_check: HealthCheck.prefault({}),
  sticky_sessions: StickySessions.prefault({ type: "none" }),
  firewall: z
    .strictObject({
      allow: z
        .array(FirewallRule)
        .nullish()
        .transform((list) => list ?? []),
      deny: z
        .array(FirewallRule)
        .nullish()
        .transform((list) => list ?? []),
    })
    .prefault({}),
  size_unit: z.int().min(1).max(100).optional(),
  size: z.enum(["lb-small", "lb-medium", "lb-large"]).optional(),
  redirect_http_to_https: z.boolean().prefault(false),
  enable_proxy_protocol: z.boolean().prefault(false),
  enable_backend_keepalive: z.boolean().prefault(false),
  disable_lets_encrypt_dns_records: z.boolean().prefault(false),
  http_idle_timeout_seconds: z.int().min(30).max(600).prefault(60),
  tls_cipher_policy: z.enum(["DEFAULT", "STRONG"]).prefault("DEFAULT"),
  /** Only validates. */
  validate_only: z.boolean().optional(),
});
export type LoadBalancerRequest = z.output<typeof LoadBalancerRequest>;

/** A creation may name the address; a change may not. */
export const CreateRequest = z.strictObject({ ...LoadBalancerRequest.shape, ip: z.string().optional() });

/** The droplets to add to a load balancer, or to remove from it. */
export const DropletsRequest = z.strictObject({ droplet_ids: z.array(DropletId).min(1) });

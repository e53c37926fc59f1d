import { describe, expect, test } from "vitest";
import { ANNOTATIONS, type AnnotationSuffix } from "#clouds/digitalocean/load-balancers/annotations/table.ts";
import { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import { digitalOceanLoadBalancerModel as model } from "#clouds/digitalocean/load-balancers/model.ts";
import type { DigitalOceanState } from "#clouds/digitalocean/load-balancers/state.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import { LoadBalancerRequest } from "#emulators/digitalocean/load-balancer-request.ts";
import {
  buildService,
  buildSettings,
  DEFAULT_NAME,
  PREFIX,
  type Traits,
} from "#test/clouds/digitalocean/load-balancers/round.ts";

const CERTIFICATE = "892071a0-bb95-49bc-8021-3afd67a210b1";
const SUBNET = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const ALLOW = { certificates: ["web"], ips: ["198.51.100.77"], subnets: [SUBNET] };

const STATE: DigitalOceanState = {
  balancers: [],
  targets: [
    { kind: "droplet", node: "node-a", id: "1", hasPublicV4: true, hasPublicV6: true, hasPrivateV4: true },
  ],
  certificates: [{ id: CERTIFICATE, name: "web", type: "lets_encrypt" }],
};

/**
 * Returns the request that creates a Service's load balancer; or the code and the short annotation of its
 * rejection.
 */
function madeOf(traits: Traits, config: Record<string, unknown> = {}): unknown {
  const settings = buildSettings({ allow: ALLOW, ...config });
  const question: LoadBalancerQuestion = { service: buildService(traits), wanted: true, nodes: [] };
  const step = model.precheck(question, settings) ?? model.planStep(question, STATE, settings);
  if (step.kind === "act") return bodyOf(step.actions[0].parameters["body"]);
  if (step.kind !== "refused") return step;
  const { code, field } = step.issue;
  return field === undefined ? code : `${code} ${field.replace(PREFIX, "")}`;
}

/** Returns the body as the API would take it, or throws. */
function bodyOf(body: unknown): Record<string, unknown> {
  const { ip, droplet_ids: ids, ...rest } = body as Record<string, unknown>;
  LoadBalancerRequest.parse({ ...rest, droplet_ids: (ids as string[]).map(Number) });
  return body as Record<string, unknown>;
}

const REGIONAL = { type: "REGIONAL" };
const WITH_CERTIFICATE = { ...REGIONAL, "certificate-id": CERTIFICATE };
const rule = (entry: string, port: number, target: string, targetPort: number, more: object = {}) => ({
  entry_protocol: entry,
  entry_port: port,
  target_protocol: target,
  target_port: targetPort,
  certificate_id: "",
  tls_passthrough: false,
  ...more,
});
const HTTP = rule("tcp", 80, "tcp", 30_080);
const HTTPS = rule("tcp", 443, "tcp", 30_443);
const rules = (...all: object[]) => ({ forwarding_rules: all });
const check = (more: object) => ({
  health_check: {
    protocol: "http",
    port: 10_256,
    path: "/healthz",
    check_interval_seconds: 3,
    response_timeout_seconds: 5,
    unhealthy_threshold: 3,
    healthy_threshold: 5,
    ...more,
  },
});
const used = { certificate_id: CERTIFICATE };

/** By the suffix of the annotation: the annotations, and the result. */
const ROWS: Readonly<Record<AnnotationSuffix, readonly (readonly [Record<string, string>, unknown])[]>> = {
  name: [
    [{ name: "shop" }, { name: "shop" }],
    [{ name: "" }, { name: DEFAULT_NAME }],
    [{ name: "a shop" }, "InvalidAnnotation name"],
    [{ name: "-" }, "InvalidAnnotation name"],
  ],
  type: [
    [{ type: "REGIONAL" }, { type: "REGIONAL", network_stack: "DUALSTACK" }],
    [{ type: "REGIONAL_NETWORK" }, { type: "REGIONAL_NETWORK" }],
    [{ type: "GLOBAL" }, "InvalidAnnotation type"],
    [{ type: "regional" }, "InvalidAnnotation type"],
  ],
  network: [
    [{ network: "INTERNAL" }, { network: "INTERNAL", network_stack: "IPV4" }],
    [{ network: "EXTERNAL" }, { network: "EXTERNAL" }],
    [{ network: "internal" }, "InvalidAnnotation network"],
  ],
  "network-stack": [
    [{ "network-stack": "IPV4" }, { network_stack: "IPV4" }],
    [{ "network-stack": "DUALSTACK" }, { network_stack: "DUALSTACK" }],
    [{ ...REGIONAL, "network-stack": "IPV4" }, { network_stack: "IPV4" }],
    [{ "network-stack": "IPV6" }, "InvalidAnnotation network-stack"],
    [{ network: "INTERNAL", "network-stack": "DUALSTACK" }, "InvalidAnnotation network-stack"],
  ],
  protocol: [
    [
      { ...REGIONAL, protocol: "http" },
      rules(rule("http", 80, "http", 30_080), rule("http", 443, "http", 30_443)),
    ],
    [{ ...REGIONAL, protocol: "tcp" }, rules(HTTP, HTTPS)],
    [{ protocol: "http" }, rules(rule("tcp", 80, "tcp", 80), rule("tcp", 443, "tcp", 443))],
    [
      { ...WITH_CERTIFICATE, protocol: "http2" },
      rules(rule("http2", 80, "http", 30_080, used), rule("https", 443, "http", 30_443, used)),
    ],
    [{ ...REGIONAL, protocol: "https" }, "InvalidAnnotation certificate-id"],
    [{ ...REGIONAL, protocol: "http3" }, "InvalidAnnotation protocol"],
  ],
  "http-ports": [
    [{ ...REGIONAL, "http-ports": " 80 , 8080" }, rules(rule("http", 80, "http", 30_080), HTTPS)],
    [{ ...REGIONAL, "http-ports": "80,http" }, "InvalidAnnotation http-ports"],
    [{ ...REGIONAL, "http-ports": "0" }, "InvalidAnnotation http-ports"],
  ],
  "tls-ports": [
    [{ ...WITH_CERTIFICATE, "tls-ports": "80" }, rules(rule("https", 80, "http", 30_080, used), HTTPS)],
    [
      { ...REGIONAL, "tls-ports": "443", "tls-passthrough": "true" },
      rules(HTTP, rule("https", 443, "https", 30_443, { tls_passthrough: true })),
    ],
    [{ ...REGIONAL, "tls-ports": "443" }, "InvalidAnnotation certificate-id"],
    [{ ...WITH_CERTIFICATE, "tls-ports": "443", "http-ports": "80,443" }, "InvalidAnnotation tls-ports"],
  ],
  "http2-ports": [
    [{ ...WITH_CERTIFICATE, "http2-ports": "443" }, rules(HTTP, rule("http2", 443, "http", 30_443, used))],
    [
      { ...REGIONAL, "http2-ports": "443", "tls-passthrough": "true" },
      rules(HTTP, rule("http2", 443, "http2", 30_443, { tls_passthrough: true })),
    ],
    [{ ...WITH_CERTIFICATE, "http2-ports": "443", "tls-ports": "443" }, "InvalidAnnotation http2-ports"],
    [{ ...WITH_CERTIFICATE, "http2-ports": "443", "http-ports": "443" }, "InvalidAnnotation http2-ports"],
  ],
  "http3-port": [
    [
      { ...WITH_CERTIFICATE, "http3-port": "443" },
      rules(HTTP, rule("https", 443, "http", 30_443, used), rule("http3", 443, "http", 30_443, used)),
    ],
    [{ ...WITH_CERTIFICATE, "http3-port": "8443" }, "InvalidAnnotation http3-port"],
    [{ ...REGIONAL, "http3-port": "443" }, "InvalidAnnotation http3-port"],
    [{ ...REGIONAL, "http3-port": "443", "tls-passthrough": "true" }, "InvalidAnnotation http3-port"],
    [{ ...WITH_CERTIFICATE, "http3-port": "443,80" }, "InvalidAnnotation http3-port"],
  ],
  "certificate-id": [
    [WITH_CERTIFICATE, rules(HTTP, rule("https", 443, "http", 30_443, used))],
    [{ "certificate-id": CERTIFICATE }, rules(rule("tcp", 80, "tcp", 80), rule("tcp", 443, "tcp", 443))],
    [{ ...REGIONAL, "certificate-id": SUBNET }, "CertificateNotUsable certificate-id"],
    [{ ...REGIONAL, "certificate-id": "../load_balancers" }, "InvalidAnnotation certificate-id"],
  ],
  "certificate-name": [
    [{ ...REGIONAL, "certificate-name": "web" }, rules(HTTP, rule("https", 443, "http", 30_443, used))],
    [{ ...REGIONAL, "certificate-name": "shop" }, "CertificateNotUsable certificate-name"],
  ],
  "tls-passthrough": [
    [
      { ...REGIONAL, "tls-passthrough": "T" },
      rules(HTTP, rule("https", 443, "https", 30_443, { tls_passthrough: true })),
    ],
    [{ ...REGIONAL, "tls-passthrough": "0" }, rules(HTTP, HTTPS)],
    [{ ...WITH_CERTIFICATE, "tls-passthrough": "true" }, "InvalidAnnotation tls-passthrough"],
    [{ ...REGIONAL, "tls-passthrough": "yes" }, "InvalidAnnotation tls-passthrough"],
  ],
  hostname: [
    [{ hostname: "web.example.com" }, {}],
    [{ hostname: "web example" }, "InvalidAnnotation hostname"],
  ],
  "healthcheck-check-interval-seconds": [
    [
      { "healthcheck-check-interval-seconds": "300" },
      check({ check_interval_seconds: 300, proxy_protocol: false }),
    ],
    [{ "healthcheck-check-interval-seconds": "2" }, "InvalidAnnotation healthcheck-check-interval-seconds"],
  ],
  "healthcheck-response-timeout-seconds": [
    [
      { "healthcheck-response-timeout-seconds": "10" },
      check({ response_timeout_seconds: 10, proxy_protocol: false }),
    ],
    [
      { "healthcheck-response-timeout-seconds": "5s" },
      "InvalidAnnotation healthcheck-response-timeout-seconds",
    ],
  ],
  "healthcheck-unhealthy-threshold": [
    [{ "healthcheck-unhealthy-threshold": "2" }, check({ unhealthy_threshold: 2, proxy_protocol: false })],
    [{ "healthcheck-unhealthy-threshold": "11" }, "InvalidAnnotation healthcheck-unhealthy-threshold"],
  ],
  "healthcheck-healthy-threshold": [
    [{ "healthcheck-healthy-threshold": "10" }, check({ healthy_threshold: 10, proxy_protocol: false })],
    [{ "healthcheck-healthy-threshold": "-1" }, "InvalidAnnotation healthcheck-healthy-threshold"],
  ],
  "override-health-check": [
    [{ "override-health-check": "" }, check({ protocol: "tcp", port: 30_080, path: "/" })],
    [{ "override-health-check": "false" }, check({ protocol: "tcp", port: 30_080, path: "/" })],
  ],
  "healthcheck-port": [
    [{ "healthcheck-port": "443" }, check({ proxy_protocol: false })],
    [
      { "override-health-check": "true", "healthcheck-port": "443" },
      check({ protocol: "tcp", port: 30_443, path: "/" }),
    ],
    [{ "override-health-check": "true", "healthcheck-port": "8080" }, "InvalidAnnotation healthcheck-port"],
    [{ "override-health-check": "true", "healthcheck-port": "80,443" }, "InvalidAnnotation healthcheck-port"],
  ],
  "healthcheck-path": [
    [{ "healthcheck-path": "/up" }, check({ proxy_protocol: false })],
    [
      { "override-health-check": "true", "healthcheck-path": "/up" },
      check({ protocol: "http", port: 30_080, path: "/up" }),
    ],
    [{ "override-health-check": "true", "healthcheck-path": "up" }, "InvalidAnnotation healthcheck-path"],
  ],
  "healthcheck-protocol": [
    [
      { "override-health-check": "true", "healthcheck-protocol": "https", "healthcheck-path": "/up" },
      check({ protocol: "https", port: 30_080, path: "/up" }),
    ],
    [
      { "override-health-check": "true", "healthcheck-protocol": "udp" },
      "InvalidAnnotation healthcheck-protocol",
    ],
  ],
  "size-unit": [
    [{ "size-unit": "100" }, { size_unit: 100 }],
    [{ "size-unit": "101" }, "InvalidAnnotation size-unit"],
    [{ "size-unit": "2", "size-slug": "lb-large" }, "InvalidAnnotation size-slug"],
  ],
  "size-slug": [
    [{ "size-slug": "lb-medium" }, { size: "lb-medium" }],
    [{ "size-unit": "0", "size-slug": "lb-large" }, { size: "lb-large" }],
    [{ "size-slug": "lb-huge" }, "InvalidAnnotation size-slug"],
  ],
  algorithm: [
    [{ algorithm: "least_connections" }, {}],
    [{ algorithm: "random" }, "InvalidAnnotation algorithm"],
  ],
  "sticky-sessions-type": [
    [{ "sticky-sessions-type": "none" }, { sticky_sessions: { type: "none" } }],
    [{ "sticky-sessions-type": "cookies" }, "InvalidAnnotation sticky-sessions-cookie-name"],
    [{ "sticky-sessions-type": "ip" }, "InvalidAnnotation sticky-sessions-type"],
  ],
  "sticky-sessions-cookie-name": [
    [
      {
        "sticky-sessions-type": "cookies",
        "sticky-sessions-cookie-name": "SID",
        "sticky-sessions-cookie-ttl": "60",
      },
      { sticky_sessions: { type: "cookies", cookie_name: "SID", cookie_ttl_seconds: 60 } },
    ],
    [{ "sticky-sessions-cookie-name": "SID" }, { sticky_sessions: { type: "none" } }],
    [{ "sticky-sessions-cookie-name": "a b" }, "InvalidAnnotation sticky-sessions-cookie-name"],
  ],
  "sticky-sessions-cookie-ttl": [
    [
      { "sticky-sessions-type": "cookies", "sticky-sessions-cookie-name": "SID" },
      "InvalidAnnotation sticky-sessions-cookie-ttl",
    ],
    [{ "sticky-sessions-cookie-ttl": "soon" }, "InvalidAnnotation sticky-sessions-cookie-ttl"],
  ],
  "redirect-http-to-https": [
    [{ "redirect-http-to-https": "true" }, { redirect_http_to_https: true }],
    [{ "redirect-http-to-https": "on" }, "InvalidAnnotation redirect-http-to-https"],
  ],
  "enable-proxy-protocol": [
    [{ "enable-proxy-protocol": "1" }, { enable_proxy_protocol: true }],
    [{ "enable-proxy-protocol": "tRUE" }, "InvalidAnnotation enable-proxy-protocol"],
  ],
  "enable-backend-keepalive": [
    [{ "enable-backend-keepalive": "True" }, { enable_backend_keepalive: true }],
    [{ "enable-backend-keepalive": "F" }, { enable_backend_keepalive: false }],
    [{ "enable-backend-keepalive": "no" }, "InvalidAnnotation enable-backend-keepalive"],
  ],
  "disable-lets-encrypt-dns-records": [
    [{ "disable-lets-encrypt-dns-records": "t" }, { disable_lets_encrypt_dns_records: true }],
    [{ "disable-lets-encrypt-dns-records": "2" }, "InvalidAnnotation disable-lets-encrypt-dns-records"],
  ],
  "http-idle-timeout-seconds": [
    [{ "http-idle-timeout-seconds": "600" }, { http_idle_timeout_seconds: 600 }],
    [{ "http-idle-timeout-seconds": "29" }, "InvalidAnnotation http-idle-timeout-seconds"],
  ],
  "allow-rules": [
    [
      { "allow-rules": "ip:192.0.2.1, cidr:198.51.100.7/24" },
      { firewall: { allow: ["cidr:198.51.100.0/24", "ip:192.0.2.1"], deny: [] } },
    ],
    [{ "allow-rules": "192.0.2.1" }, "InvalidAnnotation allow-rules"],
    [
      { "allow-rules": "ip:2001:DB8:0::1,ip:2001:db8::1" },
      { firewall: { allow: ["ip:2001:db8::1"], deny: [] } },
    ],
    [{ "allow-rules": "ip:192.0.2.0/24" }, "InvalidAnnotation allow-rules"],
  ],
  "deny-rules": [
    [{ "deny-rules": "cidr:2001:DB8::/32" }, { firewall: { allow: [], deny: ["cidr:2001:db8::/32"] } }],
    [{ "deny-rules": "cidr:anywhere" }, "InvalidAnnotation deny-rules"],
  ],
  ip: [
    [{ ip: "198.51.100.77" }, { ip: "198.51.100.77" }],
    [{ ip: "198.51.100.78" }, "NotAllowed ip"],
    [{ ip: "mine" }, "InvalidAnnotation ip"],
  ],
  "subnet-uuid": [
    [{ "subnet-uuid": SUBNET }, { subnet_uuid: SUBNET }],
    [{ "subnet-uuid": CERTIFICATE }, "NotAllowed subnet-uuid"],
    [{ "subnet-uuid": "subnet-1" }, "InvalidAnnotation subnet-uuid"],
  ],
};

describe.each(Object.entries(ROWS))("%s", (suffix, rows) => {
  test.for(rows)("%j", ([annotations, expected]) => {
    expect(Object.hasOwn(ANNOTATIONS, suffix)).toBe(true);
    const made = madeOf({ annotations });
    if (typeof expected === "string") expect(made).toBe(expected);
    else expect(made).toMatchObject({ region: "fra1", ...(expected as object) });
  });
});

describe("a Service", () => {
  const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 };
  const dns = { ports: [{ protocol: "UDP", port: 53, nodePort: 30_053 }] };
  const rows: readonly (readonly [string, Traits, Record<string, unknown>, unknown])[] = [
    [
      "without annotations",
      {},
      {},
      {
        name: DEFAULT_NAME,
        type: "REGIONAL_NETWORK",
        network: "EXTERNAL",
        network_stack: "DUALSTACK",
        tags: [],
        ...check({ proxy_protocol: false }),
        sticky_sessions: { type: "none" },
        firewall: { allow: [], deny: [] },
        redirect_http_to_https: false,
        enable_proxy_protocol: false,
        enable_backend_keepalive: false,
        disable_lets_encrypt_dns_records: false,
        droplet_ids: ["1"],
      },
    ],
    [
      "in a cluster with an ID",
      {},
      { clusterID: "c1" },
      { tags: ["k8s:c1", "k8s-service-name:default:web"] },
    ],
    [
      "with a name in its annotation",
      { annotations: { name: "shop" } },
      {},
      { tags: ["k8s-service:3c9f1f4e-6f5d-4b8c-9a55-0f1e2d3c4b5a"] },
    ],
    [
      "in a cluster with another default type",
      {},
      { defaultLoadBalancerType: "REGIONAL" },
      { type: "REGIONAL", ...rules(HTTP, HTTPS) },
    ],
    ["with local traffic", { spec: local }, {}, check({ port: 32_000, proxy_protocol: false })],
    ["of UDP", { spec: dns }, {}, rules(rule("udp", 53, "udp", 53))],
    [
      "of UDP, in addition to HTTP",
      { spec: dns, annotations: { ...REGIONAL, protocol: "http" } },
      {},
      rules(rule("udp", 53, "udp", 30_053)),
    ],
    [
      "of UDP only, with an overridden health check",
      { spec: dns, annotations: { "override-health-check": "" } },
      {},
      "InvalidAnnotation healthcheck-port",
    ],
    [
      "with source ranges",
      { spec: { loadBalancerSourceRanges: ["10.1.2.3/8"] }, annotations: { "allow-rules": "ip:192.0.2.1" } },
      {},
      { firewall: { allow: ["cidr:10.0.0.0/8"], deny: [] } },
    ],
    [
      "with an invalid source range",
      { spec: { loadBalancerSourceRanges: ["10.1.2.3"] } },
      {},
      "InvalidSourceRanges spec.loadBalancerSourceRanges",
    ],
    [
      "of SCTP",
      { spec: { ports: [{ protocol: "SCTP", port: 80, nodePort: 30_080 }] } },
      {},
      "UnsupportedProtocol spec.ports[0].protocol",
    ],
    ["without ports", { spec: { ports: [] } }, {}, "NoPorts spec.ports"],
    ["without node ports", { spec: { ports: [{ port: 80 }] } }, {}, rules(rule("tcp", 80, "tcp", 80))],
    [
      "without node ports, for HTTP",
      { spec: { ports: [{ port: 80 }] }, annotations: REGIONAL },
      {},
      "NoNodePort spec.ports[0].nodePort",
    ],
    [
      "on the first of the reserved ports",
      { spec: { ports: [{ port: 50_053, nodePort: 30_080 }] } },
      {},
      "InvalidField spec.ports[0].port",
    ],
    [
      "on the last of the reserved ports",
      { spec: { ports: [{ port: 50_055, nodePort: 30_080 }] } },
      {},
      "InvalidField spec.ports[0].port",
    ],
    [
      "outside the reserved ports",
      { spec: { ports: [{ port: 50_056, nodePort: 30_080 }] } },
      {},
      rules(rule("tcp", 50_056, "tcp", 50_056)),
    ],
    [
      "with an invalid ID",
      { annotations: { "kubernetes.digitalocean.com/load-balancer-id": "mine" } },
      {},
      "InvalidAnnotation kubernetes.digitalocean.com/load-balancer-id",
    ],
    [
      "with an invalid disown annotation",
      { annotations: { "service.kubernetes.io/do-loadbalancer-disown": "maybe" } },
      {},
      "InvalidAnnotation service.kubernetes.io/do-loadbalancer-disown",
    ],
  ];
  test.for(rows)("%s", ([, traits, config, expected]) => {
    const made = madeOf(traits, config);
    if (typeof expected === "string") expect(made).toBe(expected);
    else expect(made).toMatchObject(expected as object);
  });

  test("without a VPC in the configuration the API chooses one", () => {
    const settings = buildSettings({ vpc: undefined });
    const step = model.planStep({ service: buildService(), wanted: true, nodes: [] }, STATE, settings);
    expect(step.kind === "act" ? step.actions[0].parameters["body"] : step).not.toHaveProperty("vpc_uuid");
  });

  test("with an unknown annotation is served, and gets a Warning", () => {
    const settings = buildSettings();
    const there = LoadBalancer.parse({
      ...bodyOf(madeOf({ annotations: {} })),
      id: SUBNET,
      status: "active",
      ip: "198.51.100.1",
      region: { slug: "fra1" },
    });
    const annotations = {
      typo: "x",
      type: "REGIONAL_NETWORK",
      "kubernetes.digitalocean.com/load-balancer-id": SUBNET,
    };
    const question = { service: buildService({ annotations }), wanted: true, nodes: [] };
    expect(model.planStep(question, { ...STATE, balancers: [there] }, settings)).toMatchObject({
      kind: "settled",
      warnings: [
        {
          code: "UnknownAnnotation",
          field: `${PREFIX}typo`,
          allowed: expect.stringContaining(`${PREFIX}type`),
        },
      ],
    });
  });
});

test("the desired hash includes rare settings, and excludes annotations of others", () => {
  const settings = buildSettings();
  const base = model.describeDesired(buildService(), settings);
  expect(
    model.describeDesired(buildService({ annotations: { "example.com/touched": "yes" } }), settings),
  ).toBe(base);
  const others: Traits[] = [
    { annotations: { hostname: "web.example.com" } },
    { annotations: { "kubernetes.digitalocean.com/load-balancer-id": SUBNET } },
    { spec: { externalTrafficPolicy: "Local", healthCheckNodePort: 32_000 } },
    { spec: { loadBalancerSourceRanges: ["10.0.0.0/8"] } },
    { spec: { ports: [{ port: 80, nodePort: 30_081 }] } },
  ];
  const hashes = others.map((traits) => model.describeDesired(buildService(traits), settings));
  hashes.push(model.describeDesired(buildService(), buildSettings({ clusterID: "c2" })));
  expect(new Set([base, ...hashes]).size).toBe(others.length + 2);
});

describe("an immutable setting", () => {
  const rows: readonly (readonly [AnnotationSuffix, string])[] = [
    ["type", "REGIONAL"],
    ["network", "INTERNAL"],
    ["network-stack", "IPV4"],
    ["ip", "198.51.100.77"],
    ["subnet-uuid", SUBNET],
  ];
  test.for(rows)("%s stays, with a Warning, and the rest is done", ([suffix, value]) => {
    const settings = buildSettings({ allow: ALLOW });
    const there = LoadBalancer.parse({
      ...bodyOf(madeOf({})),
      id: SUBNET,
      status: "active",
      ip: "198.51.100.1",
      region: { slug: "fra1" },
    });
    const service = buildService({
      annotations: {
        type: "REGIONAL_NETWORK",
        [suffix]: value,
        "size-unit": "4",
        "kubernetes.digitalocean.com/load-balancer-id": SUBNET,
      },
    });
    const question = { service, wanted: true, nodes: [] };
    const step = model.planStep(question, { ...STATE, balancers: [there] }, settings);
    if (step.kind !== "act") throw new Error(JSON.stringify(step));
    const body = step.actions[0].parameters["body"];
    expect(body).toMatchObject({
      type: "REGIONAL_NETWORK",
      network: "EXTERNAL",
      network_stack: "DUALSTACK",
      size_unit: 4,
    });
    expect(body).not.toHaveProperty("ip");
    const state = { ...STATE, balancers: [{ ...there, size_unit: 4 }] };
    expect(model.planStep(question, state, settings)).toMatchObject({
      kind: "settled",
      warnings: [{ code: "LoadBalancerImmutable", field: `${PREFIX}${suffix}`, value }],
    });
  });
});

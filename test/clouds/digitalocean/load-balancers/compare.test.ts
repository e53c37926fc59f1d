import { describe, expect, test } from "vitest";
import { LoadBalancer } from "#clouds/digitalocean/load-balancers/balancer.ts";
import {
  buildReplaceBody,
  type DesiredTarget,
  listDifferences,
} from "#clouds/digitalocean/load-balancers/body.ts";

const rule = (port: number) => ({
  entry_protocol: "tcp",
  entry_port: port,
  target_protocol: "tcp",
  target_port: port,
  certificate_id: "",
  tls_passthrough: false,
});

const WANTED: DesiredTarget = {
  name: "web",
  droplet_ids: ["1", "22"],
  forwarding_rules: [rule(80), rule(443)],
  health_check: {
    protocol: "http",
    port: 10_256,
    path: "/healthz",
    check_interval_seconds: 3,
    response_timeout_seconds: 5,
    unhealthy_threshold: 3,
    healthy_threshold: 5,
    proxy_protocol: false,
  },
  sticky_sessions: { type: "none" },
  firewall: { allow: ["cidr:10.0.0.0/8", "ip:192.0.2.1"], deny: [] },
  redirect_http_to_https: false,
  enable_proxy_protocol: false,
  enable_backend_keepalive: false,
  disable_lets_encrypt_dns_records: false,
};

const { proxy_protocol: _, ...CHECK } = WANTED.health_check;
const { certificate_id: __, tls_passthrough: ___, ...PLAIN_RULE } = rule(80);
const COOKIES = { type: "cookies", cookie_name: "SID", cookie_ttl_seconds: 60 } as const;

/** The load balancer as the API shows it. */
const SHOWN: Record<string, unknown> = {
  ...WANTED,
  id: "4de7ac8b-495b-4884-9a69-1050c6793cd6",
  status: "active",
  region: { slug: "fra1" },
};

const shown = (difference: Record<string, unknown>) => LoadBalancer.parse({ ...SHOWN, ...difference });

describe("equal settings in another notation", () => {
  test.for<[string, Record<string, unknown>, Partial<DesiredTarget>?]>([
    ["the settings as sent", {}],
    [
      "lists in another order",
      {
        droplet_ids: [22, 1],
        forwarding_rules: [rule(443), rule(80)],
        firewall: { allow: ["ip:192.0.2.1", "cidr:10.0.0.0/8"] },
      },
    ],
    ["rules without unused fields", { forwarding_rules: [PLAIN_RULE, rule(443)] }],
    [
      "null in place of unused fields",
      {
        forwarding_rules: [{ ...PLAIN_RULE, certificate_id: null }, rule(443)],
        subnet_uuid: null,
        tags: null,
      },
    ],
    ["one unit by default", { size_unit: 1 }],
    ["one unit, by its legacy name", { size_unit: 1, size: "lb-small" }],
    ["three units, by their legacy name", { size_unit: 3, size: "lb-medium" }, { size: "lb-medium" }],
    ["three units, by number", { size_unit: 3 }, { size: "lb-medium" }],
    ["the default idle time", { http_idle_timeout_seconds: 60 }],
    ["the default algorithm", { algorithm: "round_robin" }],
    ["no sticky sessions", { sticky_sessions: {} }],
    ["no health check for the proxy protocol", { health_check: CHECK }],
    [
      "a default proxy protocol",
      { health_check: { ...CHECK, proxy_protocol: true } },
      { health_check: CHECK },
    ],
    [
      "an ignored path",
      { health_check: { ...CHECK, protocol: "tcp", path: "" } },
      { health_check: { ...CHECK, protocol: "tcp", path: "/" } },
    ],
    ["additional settings of the API", { project_id: "p", tls_cipher_policy: "STRONG" }],
  ])("%s", ([, there, wanted]) => {
    expect(listDifferences(shown(there), { ...WANTED, ...wanted })).toEqual([]);
  });
});

describe("different settings", () => {
  test.for<[string, Record<string, unknown>, Partial<DesiredTarget>?]>([
    ["name", { name: "shop" }],
    ["droplet_ids", { droplet_ids: [1] }],
    ["droplet_ids", { droplet_ids: [] }],
    ["forwarding_rules", { forwarding_rules: [rule(80)] }],
    ["forwarding_rules", { forwarding_rules: [rule(80), { ...rule(443), tls_passthrough: true }] }],
    ["health_check", { health_check: {} }],
    ["health_check", { health_check: { ...CHECK, proxy_protocol: true } }],
    ["sticky_sessions", { sticky_sessions: COOKIES }],
    [
      "sticky_sessions",
      { sticky_sessions: COOKIES },
      { sticky_sessions: { ...COOKIES, cookie_ttl_seconds: 61 } },
    ],
    ["firewall", { firewall: {} }],
    ["firewall", { firewall: { ...WANTED.firewall, deny: ["ip:192.0.2.2"] } }],
    ["size", { size_unit: 2 }],
    ["size", { size_unit: 1 }, { size_unit: 2 }],
    ["http_idle_timeout_seconds", { http_idle_timeout_seconds: 600 }],
    ["redirect_http_to_https", { redirect_http_to_https: true }],
    ["enable_proxy_protocol", { enable_proxy_protocol: true }],
    ["enable_backend_keepalive", { enable_backend_keepalive: true }],
    ["disable_lets_encrypt_dns_records", { disable_lets_encrypt_dns_records: true }],
  ])("%s", ([key, there, wanted]) => {
    expect(listDifferences(shown(there), { ...WANTED, ...wanted })).toEqual([key]);
  });
});

test("a replacement keeps extra settings, except the API's own additions", () => {
  const there = shown({
    ...{ ip: "198.51.100.1", ipv6: "", created_at: "2026", algorithm: "round_robin", tag: "" },
    ...{
      project_id: "p",
      tls_cipher_policy: "STRONG",
      something_new: [1],
      size_unit: 7,
      http_idle_timeout_seconds: 99,
    },
    ...{ vpc_uuid: "v", subnet_uuid: null, type: "REGIONAL", network: "INTERNAL", network_stack: "IPV4" },
  });
  const { droplet_ids: ids, ...rest } = WANTED;
  expect(buildReplaceBody(there, WANTED, ["k8s:c1"])).toEqual({
    ...rest,
    ...{ droplet_ids: ids, tags: ["k8s:c1"], region: "fra1", vpc_uuid: "v" },
    ...{ type: "REGIONAL", network: "INTERNAL", network_stack: "IPV4" },
    ...{ project_id: "p", tls_cipher_policy: "STRONG", something_new: [1] },
  });
});

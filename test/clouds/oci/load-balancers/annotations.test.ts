import { describe, expect, test } from "vitest";
import {
  getLoadBalancerKind,
  readAnnotations,
} from "#clouds/oci/load-balancers/annotations/read-annotations.ts";
import { ANNOTATIONS, type LoadBalancerKind } from "#clouds/oci/load-balancers/annotations/table.ts";
import { toIssueCode } from "#core/service/issues.ts";
import { buildAnnotations } from "#test/clouds/oci/load-balancers/service.ts";

const NSG = "ocid1.networksecuritygroup.oc1.phx.g1";
const SUBNET = "ocid1.subnet.oc1.phx.s1";

/** An annotation, its value, and the result of reading it; for a rejected one its code. */
const ROWS: readonly (readonly [name: string, written: string, read: unknown])[] = [
  ["lb:internal", "true", { internal: true }],
  ["lb:internal", "False", { internal: false }],
  ["lb:internal", "yes", "InvalidAnnotation"],
  ["lb:shape", "400Mbps", { shape: "400Mbps" }],
  ["lb:shape", "Flexible", { shape: "Flexible" }],
  ["lb:shape", "huge", "InvalidAnnotation"],
  ["lb:shape-flex-min", "10Mbps", { shapeFlexMin: 10 }],
  ["lb:shape-flex-min", "3", { shapeFlexMin: 10 }],
  ["lb:shape-flex-min", "-3", "InvalidAnnotation"],
  ["lb:shape-flex-max", "100000", { shapeFlexMax: 8192 }],
  ["lb:shape-flex-max", "ten", "InvalidAnnotation"],
  ["lb:subnet1", SUBNET, { subnet1: SUBNET }],
  ["lb:subnet1", "ocid1.instance.oc1.phx.i1", "InvalidAnnotation"],
  ["lb:subnet1", `${SUBNET}/../x`, "InvalidAnnotation"],
  ["lb:subnet2", SUBNET, { subnet2: SUBNET }],
  ["lb:subnet2", "s2", "InvalidAnnotation"],
  ["lb:ssl-ports", "443", "SecretsNotRead"],
  ["lb:tls-secret", "web/tls", "SecretsNotRead"],
  ["lb:tls-backendset-secret", "tls", "SecretsNotRead"],
  ["lb:connection-idle-timeout", "100", { idleTimeout: 100 }],
  ["lb:connection-idle-timeout", "0", "InvalidAnnotation"],
  ["lb:connection-proxy-protocol-version", "2", { proxyProtocolVersion: 2 }],
  ["lb:connection-proxy-protocol-version", "3", "InvalidAnnotation"],
  ["lb:security-list-management-mode", "None", { securityListMode: "None" }],
  ["lb:security-list-management-mode", "all", { securityListMode: "All" }],
  ["lb:security-list-management-mode", "NSG", "InvalidAnnotation"],
  ["lb:health-check-retries", "5", { healthCheckRetries: 5 }],
  ["lb:health-check-retries", "many", "InvalidAnnotation"],
  ["lb:health-check-interval", "1000", { lbHealthCheckInterval: 1000 }],
  ["lb:health-check-interval", "999", "InvalidAnnotation"],
  ["lb:health-check-interval", "1800001", "InvalidAnnotation"],
  ["lb:health-check-timeout", "500", { healthCheckTimeout: 500 }],
  ["lb:health-check-timeout", "1.5", "InvalidAnnotation"],
  ["lb:backend-protocol", "http", { backendProtocol: "HTTP" }],
  ["lb:backend-protocol", "GRPC", { backendProtocol: "GRPC" }],
  ["lb:backend-protocol", "SMTP", "InvalidAnnotation"],
  ["oci:load-balancer-type", "lb", { type: "lb" }],
  ["oci:oci-network-security-groups", `${NSG}, ${NSG}2`, { securityGroups: [NSG, `${NSG}2`] }],
  ["oci:oci-network-security-groups", `${NSG},${NSG}`, "InvalidAnnotation"],
  [
    "oci:oci-network-security-groups",
    [1, 2, 3, 4, 5, 6].map((n) => `${NSG}${n}`).join(),
    "InvalidAnnotation",
  ],
  ["oci:loadbalancer-policy", "IP_HASH", { lbPolicy: "IP_HASH" }],
  ["oci:loadbalancer-policy", "FIVE_TUPLE", "InvalidAnnotation"],
  ["oci:initial-defined-tags-override", '{"a":{"b":"c"}}', { definedTags: { a: { b: "c" } } }],
  ["oci:initial-defined-tags-override", '{"a":"b"}', "InvalidAnnotation"],
  ["oci:initial-freeform-tags-override", '{"a":"b"}', { freeformTags: { a: "b" } }],
  ["oci:initial-freeform-tags-override", "a=b", "InvalidAnnotation"],
  ["oci:initial-freeform-tags-override", '{"serverless-ccm-cluster":"b"}', "ReservedTag"],
  ["oci:initial-freeform-tags-override", '{"serviceuid":"b"}', "ReservedTag"],
  ["oci:node-label-selector", "a=b", { nodeLabelSelector: [{ operator: "in", key: "a", values: ["b"] }] }],
  ["oci:node-label-selector", "a=", "InvalidAnnotation"],
  ["oci:security-rule-management-mode", "NSG", { securityRuleMode: "NSG" }],
  ["oci:security-rule-management-mode", "SL-Frontend", { securityRuleMode: "SL-Frontend" }],
  ["oci:security-rule-management-mode", "All", "InvalidAnnotation"],
  ["oci:oci-backend-network-security-group", NSG, { backendSecurityGroups: [NSG] }],
  ["oci:oci-backend-network-security-group", "g1", "InvalidAnnotation"],
  ["oci:oci-load-balancer-listener-ssl-config", "{}", "SecretsNotRead"],
  ["oci:oci-load-balancer-backendset-ssl-config", "{}", "SecretsNotRead"],
  [
    "oci:oci-load-balancer-rule-sets",
    '{"r":{"items":[{"action":"REMOVE_HTTP_REQUEST_HEADER","header":"X"}]}}',
    { ruleSets: { r: { items: [{ action: "REMOVE_HTTP_REQUEST_HEADER", header: "X" }] } } },
  ],
  [
    "oci:oci-load-balancer-rule-sets",
    '{"r":{"items":[{"action":"REMOVE_HTTP_REQUEST_HEADER","header":"X","unheard":"of"}]}}',
    "InvalidAnnotation",
  ],
  ["oci:oci-load-balancer-rule-sets", '{"r":{"items":[{"action":"EXPLODE"}]}}', "InvalidAnnotation"],
  ["oci:oci-load-balancer-rule-sets", '{"r":{"items":[]}}', "InvalidAnnotation"],
  [
    "oci:oci-load-balancer-rule-sets",
    '{"../r":{"items":[{"action":"REMOVE_HTTP_REQUEST_HEADER","header":"X"}]}}',
    "InvalidAnnotation",
  ],
  ["oci:ingress-ip-mode", "proxy", { ingressIPMode: "proxy" }],
  ["oci:compartment-id", "ocid1.compartment.oc1..c1", { compartment: "ocid1.compartment.oc1..c1" }],
  ["oci:compartment-id", "c1", "InvalidAnnotation"],
  ["oci:workload-service-account", "sa", "NotAllowed"],
];

const NETWORK_ROWS: readonly (readonly [name: string, written: string, read: unknown])[] = [
  ["oci:load-balancer-type", "nlb", { type: "nlb" }],
  ["oci:security-rule-management-mode", "None", { securityRuleMode: "None" }],
  ["oci:oci-backend-network-security-group", NSG, { backendSecurityGroups: [NSG] }],
  ["oci:ingress-ip-mode", "VIP", { ingressIPMode: "VIP" }],
  ["oci:compartment-id", "ocid1.tenancy.oc1..t1", { compartment: "ocid1.tenancy.oc1..t1" }],
  ["oci:workload-service-account", "sa", "NotAllowed"],
  ["nlb:internal", "1", { internal: true }],
  ["nlb:internal", "maybe", "InvalidAnnotation"],
  ["nlb:subnet", SUBNET, { subnet1: SUBNET }],
  ["nlb:subnet", "s", "InvalidAnnotation"],
  ["nlb:oci-network-security-groups", NSG, { securityGroups: [NSG] }],
  ["nlb:oci-network-security-groups", "sg-1", "InvalidAnnotation"],
  ["nlb:health-check-retries", "1", { healthCheckRetries: 1 }],
  ["nlb:health-check-retries", "0", "InvalidAnnotation"],
  ["nlb:health-check-interval", "10000", { nlbHealthCheckInterval: 10_000 }],
  ["nlb:health-check-interval", "9999", "InvalidAnnotation"],
  ["nlb:health-check-timeout", "3000", { healthCheckTimeout: 3_000 }],
  ["nlb:health-check-timeout", "", {}],
  ["nlb:backend-policy", "two_tuple", { nlbPolicy: "TWO_TUPLE" }],
  ["nlb:backend-policy", "ROUND_ROBIN", "InvalidAnnotation"],
  ["nlb:security-list-management-mode", "Frontend", { securityListMode: "Frontend" }],
  ["nlb:security-list-management-mode", "Some", "InvalidAnnotation"],
  ["nlb:initial-defined-tags-override", '{"a":{"b":1}}', { definedTags: { a: { b: 1 } } }],
  ["nlb:initial-defined-tags-override", "[]", "InvalidAnnotation"],
  ["nlb:initial-freeform-tags-override", '{"a":"b"}', { freeformTags: { a: "b" } }],
  ["nlb:initial-freeform-tags-override", '{"CreatedBy":"b"}', "ReservedTag"],
  ["nlb:defined-tags", '{"a":{"b":"c"}}', { definedTagsBefore: { a: { b: "c" } } }],
  ["nlb:defined-tags", "{", "InvalidAnnotation"],
  ["nlb:freeform-tags", '{"a":"b"}', { freeformTagsBefore: { a: "b" } }],
  ["nlb:freeform-tags", '{"a":1}', "InvalidAnnotation"],
  ["nlb:node-label-selector", "!spot", { nodeLabelSelector: [{ operator: "absent", key: "spot" }] }],
  ["nlb:node-label-selector", "a in b", "InvalidAnnotation"],
  ["nlb:is-preserve-source", "false", { preserveSource: false }],
  ["nlb:is-preserve-source", "no", "InvalidAnnotation"],
  ["nlb:is-ppv2-enabled", "true", { isPpv2Enabled: true }],
  ["nlb:is-ppv2-enabled", "2", "InvalidAnnotation"],
  ["nlb:external-ip-only", "true", { externalIPOnly: true }],
  ["nlb:external-ip-only", "only", "InvalidAnnotation"],
  ["nlb:assigned-private-ipv4", "10.0.0.9", { assignedPrivateIPv4: "10.0.0.9" }],
  ["nlb:assigned-private-ipv4", "::ffff:10.0.0.9", "InvalidAnnotation"],
  ["nlb:assigned-ipv6", "2603:C020::9", { assignedIPv6: "2603:c020::9" }],
  ["nlb:assigned-ipv6", "10.0.0.9", "InvalidAnnotation"],
];

describe.each([
  ["lb", ROWS],
  ["nlb", NETWORK_ROWS],
] as const)("%s", (kind, rows) => {
  test.each(rows)("%s: %s", (name, written, expected) => {
    const read = readAnnotations(kind, buildAnnotations({ [name]: written }));
    if (typeof expected !== "string") {
      expect(read).toEqual({ kind: "read", annotationSettings: expected, warnings: [] });
      return;
    }
    const issue = read.kind === "refused" ? read.issue : undefined;
    expect(issue).toEqual({
      code: expected,
      field: Object.keys(buildAnnotations({ [name]: written }))[0],
      value: written,
      allowed: expect.stringMatching(/\w/),
    });
    expect(toIssueCode(issue ?? { code: "" })).toBe(expected);
  });

  test("every supported annotation has a row", () => {
    const names = rows.map(([name]) => Object.keys(buildAnnotations({ [name]: "" }))[0]);
    const held = Object.entries(ANNOTATIONS).flatMap(([name, meaning]) =>
      meaning[kind] === undefined ? [] : name,
    );
    expect(new Set(names)).toEqual(new Set(held));
  });
});

test.each([
  ["lb", "nlb:is-ppv2-enabled", "UnsupportedAnnotation", /load-balancer-type is nlb/],
  ["nlb", "lb:shape", "UnsupportedAnnotation", /type lb/],
  ["nlb", "lb:internal", "UnsupportedAnnotation", /oci-network-load-balancer\.oraclecloud\.com\/internal/],
  ["lb", "lb:shpae", "UnknownAnnotation", /perhaps service\.beta\.kubernetes\.io\/oci-load-balancer-shape$/],
  ["lb", "oci:something-else-entirely-different", "UnknownAnnotation", /no effect$/],
  ["lb", "oci:constructor", "UnknownAnnotation", /no effect/],
] as const)("for %s %s is a warning", (kind: LoadBalancerKind, name, code, allowed) => {
  const read = readAnnotations(kind, buildAnnotations({ [name]: "x" }));
  expect(read).toMatchObject({
    kind: "read",
    annotationSettings: {},
    warnings: [{ code, allowed: expect.stringMatching(allowed) }],
  });
});

test.each([
  [undefined, "lb"],
  ["lb", "lb"],
  ["NLB", "nlb"],
  [" nlb ", "nlb"],
  ["network", "lb"],
])("the type %s is %s", (type, kind) => {
  expect(
    getLoadBalancerKind(type === undefined ? {} : buildAnnotations({ "oci:load-balancer-type": type })),
  ).toBe(kind);
});

import { expect, test } from "vitest";
import { SETTABLE_KEYS } from "#clouds/aws/load-balancers/annotations/additional-tags.ts";
import {
  ANNOTATION_PREFIX,
  readAnnotations,
} from "#clouds/aws/load-balancers/annotations/read-annotations.ts";
import {
  ANNOTATIONS,
  type AnnotationSuffix,
  type LoadBalancerKind,
} from "#clouds/aws/load-balancers/annotations/table.ts";

const ACM = "arn:aws:acm:eu-central-1:123456789012:certificate/0b2d5f6c-7a8e-4f0a-9b1c-2d3e4f5a6b7c";
const IAM = "arn:aws-cn:iam::123456789012:server-certificate/team/web@example.com";

const BOTH: readonly LoadBalancerKind[] = ["classic", "network"];
const CLASSIC: readonly LoadBalancerKind[] = ["classic"];
const NETWORK: readonly LoadBalancerKind[] = ["network"];

type Row = readonly [AnnotationSuffix, readonly LoadBalancerKind[], string, unknown];

/** An annotation's value, and the result of reading it; `undefined` is as if the annotation were missing. */
const READ: readonly Row[] = [
  ["type", BOTH, "nlb", "nlb"],
  ["internal", BOTH, "true", true],
  ["internal", BOTH, "0.0.0.0/0", true],
  ["internal", BOTH, "False", true],
  ["internal", BOTH, "false", false],
  ["internal", BOTH, "", undefined],
  ["subnets", BOTH, "subnet-1, one by name", "subnet-1, one by name"],
  ["eip-allocations", NETWORK, "eipalloc-1, eipalloc-0a", ["eipalloc-1", "eipalloc-0a"]],
  ["private-ipv4-addresses", NETWORK, "10.0.0.1,10.255.0.250", ["10.0.0.1", "10.255.0.250"]],
  [
    "additional-resource-tags",
    BOTH,
    "Team=a b, Cost= 7,Lone,Empty=,=x,",
    { Team: "a b", Cost: " 7", Lone: "", Empty: "" },
  ],
  ["additional-resource-tags", BOTH, "a=b=c,a=d", { a: "d" }],
  ["additional-resource-tags", BOTH, "my.kubernetes.io/x=1", { "my.kubernetes.io/x": "1" }],
  ["additional-resource-tags", BOTH, "__proto__=1", Object.fromEntries([["__proto__", "1"]])],
  ["proxy-protocol", CLASSIC, "*", "*"],
  [
    "target-group-attributes",
    NETWORK,
    "preserve_client_ip.enabled=false",
    { "preserve_client_ip.enabled": false },
  ],
  [
    "target-group-attributes",
    NETWORK,
    "proxy_protocol_v2.enabled=true,preserve_client_ip.enabled=true",
    { "proxy_protocol_v2.enabled": true, "preserve_client_ip.enabled": true },
  ],
  ["access-log-emit-interval", CLASSIC, "5", 5],
  ["access-log-emit-interval", CLASSIC, "060", 60],
  ["access-log-enabled", BOTH, "f", false],
  ["access-log-s3-bucket-name", BOTH, "my.logs-1", "my.logs-1"],
  ["access-log-s3-bucket-prefix", BOTH, "logs/production", "logs/production"],
  ["connection-draining-enabled", CLASSIC, "True", true],
  ["connection-draining-enabled", CLASSIC, "1", true],
  ["connection-draining-timeout", CLASSIC, "1", 1],
  ["connection-draining-timeout", CLASSIC, "3600", 3600],
  ["connection-idle-timeout", CLASSIC, "+4000", 4000],
  ["connection-idle-timeout", CLASSIC, " 1 ", 1],
  ["cross-zone-load-balancing-enabled", BOTH, "TRUE", true],
  ["cross-zone-load-balancing-enabled", BOTH, "FALSE", false],
  ["security-groups", BOTH, "sg-1,, sg-0a ", ["sg-1", "sg-0a"]],
  ["security-groups", BOTH, " , ", undefined],
  ["extra-security-groups", CLASSIC, "sg-1", ["sg-1"]],
  ["ssl-cert", BOTH, ACM, ACM],
  ["ssl-cert", BOTH, ` ${IAM} `, IAM],
  ["ssl-ports", BOTH, "*", undefined],
  ["ssl-ports", BOTH, "443, HTTPS", { numbers: [443], names: ["https"] }],
  [
    "ssl-negotiation-policy",
    BOTH,
    "ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
    "ELBSecurityPolicy-TLS13-1-2-Res-2021-06",
  ],
  ["backend-protocol", BOTH, "ssl", "ssl"],
  ["backend-protocol", BOTH, "http", "http"],
  ["healthcheck-protocol", BOTH, "http", "HTTP"],
  ["healthcheck-protocol", CLASSIC, "Ssl", "SSL"],
  ["healthcheck-port", BOTH, "traffic-port", "traffic-port"],
  ["healthcheck-port", BOTH, "65535", 65535],
  ["healthcheck-path", BOTH, "/healthz?deep=1", "/healthz?deep=1"],
  ["healthcheck-interval", BOTH, "5", 5],
  ["healthcheck-timeout", CLASSIC, "60", 60],
  ["healthcheck-timeout", NETWORK, "120", 120],
  ["healthcheck-healthy-threshold", BOTH, "2", 2],
  ["healthcheck-unhealthy-threshold", BOTH, "10", 10],
  ["target-node-labels", BOTH, "pool=edge,example.com/any", { pool: "edge", "example.com/any": "" }],
  ["target-node-labels", BOTH, "=edge", undefined],
];

test.each(
  READ.flatMap(([suffix, kinds, written, value]) =>
    kinds.map((kind) => [suffix, written, kind, value] as const),
  ),
)("%s: %s is read for a %s load balancer", (suffix, written, kind, value) => {
  const read = readAnnotations(kind, { [ANNOTATION_PREFIX + suffix]: written });

  expect(read).toEqual({
    kind: "read",
    annotations: value === undefined ? {} : { [suffix]: value },
    warnings: [],
  });
});

type Refused = readonly [AnnotationSuffix, readonly LoadBalancerKind[], string, string];

/** An annotation's value, and the allowed values that the message names. */
const REFUSED: readonly Refused[] = [
  ["subnets", BOTH, "", "ids or names of subnets"],
  ["subnets", BOTH, " , ", "ids or names of subnets"],
  ["eip-allocations", NETWORK, "eip-1", "eipalloc-0123456789abcdef0"],
  ["eip-allocations", NETWORK, "eipalloc-1,eipalloc-1", "none twice"],
  ["private-ipv4-addresses", NETWORK, "10.0.0", "IPv4 addresses"],
  ["private-ipv4-addresses", NETWORK, "10.0.0.1.", "IPv4 addresses"],
  ["private-ipv4-addresses", NETWORK, "10.0.0.256", "IPv4 addresses"],
  ["private-ipv4-addresses", NETWORK, "fd00::1", "IPv4 addresses"],
  ["additional-resource-tags", BOTH, "a=*", "letters, digits"],
  ["additional-resource-tags", BOTH, `${"k".repeat(129)}=1`, "1 to 128"],
  ["additional-resource-tags", BOTH, `k=${"v".repeat(257)}`, "at most 256"],
  [
    "additional-resource-tags",
    BOTH,
    Array.from({ length: 41 }, (_, index) => `k${index}`).join(),
    "at most 40 tags",
  ],
  ["proxy-protocol", CLASSIC, "true", "*"],
  ["target-group-attributes", NETWORK, "preserve_client_ip.enabled=True", "as key=true or key=false"],
  ["target-group-attributes", NETWORK, "preserve_client_ip.enabled", "as key=true or key=false"],
  ["target-group-attributes", NETWORK, "stickiness.enabled=true", "preserve_client_ip.enabled"],
  [
    "target-group-attributes",
    NETWORK,
    "proxy_protocol_v2.enabled=true,proxy_protocol_v2.enabled=false",
    "once each",
  ],
  ["access-log-emit-interval", CLASSIC, "10", "5 or 60"],
  ["access-log-enabled", BOTH, "yes", "true or false"],
  ["access-log-s3-bucket-name", BOTH, "My_Bucket", "S3 bucket"],
  ["access-log-s3-bucket-name", BOTH, "ab", "S3 bucket"],
  ["access-log-s3-bucket-prefix", BOTH, "a\nb", "prefix"],
  ["connection-draining-enabled", CLASSIC, "on", "true or false"],
  ["connection-draining-timeout", CLASSIC, "0", "1 to 3600"],
  ["connection-draining-timeout", CLASSIC, "3601", "1 to 3600"],
  ["connection-idle-timeout", CLASSIC, "60s", "1 to 4000"],
  ["connection-idle-timeout", CLASSIC, "4001", "1 to 4000"],
  ["connection-idle-timeout", CLASSIC, "1e3", "1 to 4000"],
  ["cross-zone-load-balancing-enabled", BOTH, "yes", "true or false"],
  ["security-groups", BOTH, "default", "ids of security groups"],
  ["security-groups", BOTH, "sg-1,sg-1", "none twice"],
  ["security-groups", BOTH, "sg-1,sg-2,sg-3,sg-4,sg-5,sg-6", "at most 5"],
  ["extra-security-groups", CLASSIC, "sg-*", "ids of security groups"],
  ["ssl-cert", BOTH, "my-cert", "ARN of a certificate"],
  ["ssl-cert", BOTH, `${ACM},${ACM}`, "ARN of a certificate"],
  ["ssl-cert", BOTH, "arn:aws:s3:::bucket", "ARN of a certificate"],
  ["ssl-ports", BOTH, "443,0", "names and numbers"],
  ["ssl-ports", BOTH, "443-445,*", "names and numbers"],
  ["ssl-negotiation-policy", BOTH, "a policy", "ELBSecurityPolicy"],
  ["backend-protocol", BOTH, "HTTP", "http, https, ssl or tcp"],
  ["backend-protocol", BOTH, "grpc", "http, https, ssl or tcp"],
  ["healthcheck-protocol", NETWORK, "ssl", "TCP, HTTP or HTTPS"],
  ["healthcheck-protocol", CLASSIC, "udp", "TCP, HTTP, HTTPS or SSL"],
  ["healthcheck-port", BOTH, "0", "1 to 65535"],
  ["healthcheck-port", BOTH, "http", "traffic-port"],
  ["healthcheck-path", BOTH, "healthz", "/healthz"],
  ["healthcheck-path", BOTH, "/a b", "without spaces"],
  ["healthcheck-interval", BOTH, "4", "5 to 300"],
  ["healthcheck-interval", BOTH, "301", "5 to 300"],
  ["healthcheck-timeout", CLASSIC, "61", "2 to 60"],
  ["healthcheck-timeout", NETWORK, "121", "2 to 120"],
  ["healthcheck-timeout", BOTH, "1", "2 to"],
  ["healthcheck-healthy-threshold", BOTH, "1", "2 to 10"],
  ["healthcheck-unhealthy-threshold", BOTH, "11", "2 to 10"],
  ["healthcheck-unhealthy-threshold", BOTH, "9".repeat(400), "2 to 10"],
  ["target-node-labels", BOTH, "a b=c", "labels as key=value"],
  ["target-node-labels", BOTH, `pool=${"x".repeat(64)}`, "labels as key=value"],
];

test.each(
  REFUSED.flatMap(([suffix, kinds, written, allowed]) =>
    kinds.map((kind) => [suffix, written, kind, allowed] as const),
  ),
)("%s: %s is rejected for a %s load balancer", (suffix, written, kind, allowed) => {
  const read = readAnnotations(kind, { [ANNOTATION_PREFIX + suffix]: written });

  expect(read).toEqual({
    kind: "refused",
    issue: {
      code: "InvalidAnnotation",
      field: ANNOTATION_PREFIX + suffix,
      value: written,
      allowed: expect.stringContaining(allowed),
    },
  });
});

test("every annotation is in the table of read values, and all but these in that of rejected ones", () => {
  const read = new Set(READ.map(([suffix]) => suffix));
  const refused = new Set(REFUSED.map(([suffix]) => suffix));

  expect([...read].sort()).toEqual(Object.keys(ANNOTATIONS).sort());
  expect(Object.keys(ANNOTATIONS).filter((suffix) => !refused.has(suffix as AnnotationSuffix))).toEqual([
    "type",
    "internal",
  ]);
});

test("with several errors in one Service, the first by name is reported, so that it stays the same from round to round", () => {
  const faults = {
    [`${ANNOTATION_PREFIX}ssl-cert`]: "x",
    [`${ANNOTATION_PREFIX}backend-protocol`]: "grpc",
    [`${ANNOTATION_PREFIX}healthcheck-port`]: "x",
  };

  expect(readAnnotations("classic", faults)).toMatchObject({
    issue: { field: `${ANNOTATION_PREFIX}backend-protocol` },
  });
});

test.each([
  ["classic", "eip-allocations", "eipalloc-1", /unless .*-type is nlb/],
  ["network", "proxy-protocol", "*", /for classic load balancers/],
  ["network", "connection-idle-timeout", "none of it is read", /for classic load balancers/],
] as const)(
  "for a %s load balancer %s has no effect, and a message says so",
  (kind, suffix, value, allowed) => {
    const read = readAnnotations(kind, { [ANNOTATION_PREFIX + suffix]: value });

    expect(read).toEqual({
      kind: "read",
      annotations: {},
      warnings: [
        {
          code: "UnsupportedAnnotation",
          field: ANNOTATION_PREFIX + suffix,
          value,
          allowed: expect.stringMatching(allowed),
        },
      ],
    });
  },
);

test.each([
  ["classic", "target-group-attributes"],
  ["network", "extra-security-groups"],
] as const)("for a %s load balancer %s is rejected, as by the stock controller", (kind, suffix) => {
  expect(readAnnotations(kind, { [ANNOTATION_PREFIX + suffix]: "sg-1" })).toMatchObject({
    kind: "refused",
    issue: { code: "UnsupportedAnnotation", field: ANNOTATION_PREFIX + suffix },
  });
});

test.each([
  ["ssl-certs", /perhaps .*-ssl-cert$/],
  ["nlb-target-type", /no effect$/],
  ["__proto__", /no effect$/],
])("an unknown annotation has no effect, and a message says so: %s", (suffix, allowed) => {
  const all = Object.fromEntries([[ANNOTATION_PREFIX + suffix, "x"]]);

  expect(readAnnotations("network", all)).toEqual({
    kind: "read",
    annotations: {},
    warnings: [
      {
        code: "UnknownAnnotation",
        field: ANNOTATION_PREFIX + suffix,
        allowed: expect.stringMatching(allowed),
      },
    ],
  });
});

test.each([[undefined], [{}], [{ "example.com/x": "1", "service.beta.kubernetes.io/other": "1" }]])(
  "annotations of others are ignored: %j",
  (all) => {
    expect(readAnnotations("classic", all)).toEqual({ kind: "read", annotations: {}, warnings: [] });
  },
);

test.each(["classic", "network"] as const)("access logs of a %s load balancer need a bucket", (kind) => {
  const enabled = { [`${ANNOTATION_PREFIX}access-log-enabled`]: "true" };
  const bucket = { [`${ANNOTATION_PREFIX}access-log-s3-bucket-name`]: "logs" };

  expect(readAnnotations(kind, enabled)).toMatchObject({
    issue: {
      field: `${ANNOTATION_PREFIX}access-log-s3-bucket-name`,
      allowed: expect.stringContaining("is true"),
    },
  });
  expect(readAnnotations(kind, { ...enabled, ...bucket })).toMatchObject({
    annotations: { "access-log-enabled": true, "access-log-s3-bucket-name": "logs" },
  });
});

test("the list of allowed values fits into an Event", () => {
  const said = REFUSED.flatMap(([suffix, kinds, written]) =>
    kinds.map((kind) => {
      const read = readAnnotations(kind, { [ANNOTATION_PREFIX + suffix]: written });
      return read.kind === "refused" ? (read.issue.allowed ?? "") : "";
    }),
  );
  said.push(SETTABLE_KEYS);

  expect(said.filter((allowed) => allowed === "" || allowed.length > 300)).toEqual([]);
});

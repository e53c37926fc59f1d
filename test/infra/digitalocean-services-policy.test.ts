import { afterAll, beforeAll, expect, it } from "vitest";
import type { ApiResponse } from "#kube/client/transport.ts";
import { getRefusal, type PolicyUnderTest, startPolicy } from "#test/infra/policy-under-test.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
const UUID = "892071a0-bb95-49bc-8021-3afd67a210bf";

/** Annotations, by the end of their name or by the whole name. */
type Said = Readonly<Record<string, string>>;

function named(said: Said): Record<string, string> {
  return Object.fromEntries(
    Object.entries(said).map(([name, value]) => [name.includes("/") ? name : `${PREFIX}${name}`, value]),
  );
}

const ALLOWED: [string, Said, object?][] = [
  ["nothing at all", {}],
  ["all that is empty", { type: "", "size-unit": " ", "tls-ports": "", "tls-passthrough": "" }],
  [
    "a network load balancer within",
    { type: "REGIONAL_NETWORK", network: "INTERNAL", "network-stack": "IPV4" },
  ],
  [
    "a whole one",
    {
      ...{
        type: "REGIONAL",
        protocol: "http",
        "http-ports": "80",
        "tls-ports": " 443, 8443 ",
        "http2-ports": "9443,",
      },
      ...{
        "certificate-id": UUID,
        "http3-port": "443",
        "redirect-http-to-https": "True",
        "size-unit": "100",
      },
      ...{
        "sticky-sessions-type": "cookies",
        "sticky-sessions-cookie-name": "a",
        "sticky-sessions-cookie-ttl": "1",
      },
      ...{ "allow-rules": "ip:192.0.2.1, cidr:2001:db8::/32", "deny-rules": "cidr:0.0.0.0/0" },
      ...{
        "http-idle-timeout-seconds": "600",
        "healthcheck-check-interval-seconds": "3",
        algorithm: "round_robin",
      },
      ...{ "override-health-check": "", "healthcheck-port": "80", "healthcheck-protocol": "http" },
      "kubernetes.digitalocean.com/load-balancer-id": UUID,
    },
  ],
  ["TLS passed through", { type: "REGIONAL", "tls-passthrough": "t" }],
  ["a size by name, beside no number", { "size-slug": "lb-small", "size-unit": "0" }],
  ["another controller's, whatever it says", { type: "GLOBAL" }, { loadBalancerClass: "example.com/other" }],
  ["none, whatever it says", { type: "GLOBAL" }, { type: "ClusterIP" }],
  ["one that is disowned", { type: "GLOBAL", "service.kubernetes.io/do-loadbalancer-disown": "true" }],
];

const REFUSED: [string, Said, string, object?][] = [
  ["a kind that there is not", { type: "GLOBAL" }, "REGIONAL, REGIONAL_NETWORK"],
  ["a network in small letters", { network: "internal" }, "EXTERNAL, INTERNAL"],
  ["a stack of its own", { "network-stack": "IPV6" }, "IPV4, DUALSTACK"],
  ["HTTP/3 as the protocol of all", { protocol: "http3" }, "http3-port"],
  ["a health check by UDP", { "healthcheck-protocol": "udp" }, "http, https, tcp"],
  ["an unknown size", { "size-slug": "huge" }, "lb-small"],
  ["an unknown algorithm", { algorithm: "random" }, "round_robin"],
  ["sessions by address", { "sticky-sessions-type": "ip" }, "none, cookies"],
  ["a flag that is neither", { "enable-proxy-protocol": "yes" }, "true or false"],
  ["too many units", { "size-unit": "101" }, "from 0 to 100"],
  ["units in words", { "size-unit": "two" }, "from 0 to 100"],
  ["too short a time", { "http-idle-timeout-seconds": "29" }, "from 30 to 600"],
  ["a check too often", { "healthcheck-check-interval-seconds": "1" }, "from 3 to 300"],
  ["a port beyond the last", { "healthcheck-port": "65536" }, "from 1 to 65535"],
  ["ports in words", { "http-ports": "80,https" }, "ports between commas"],
  ["a port beyond the last in a list", { "tls-ports": "443,70000" }, "ports between commas"],
  ["one port as two things", { "http-ports": "80,443", "http2-ports": "443" }, "stands in one of"],
  ["one port as two other things", { "tls-ports": "443", "http2-ports": "443" }, "stands in one of"],
  ["invalid rules", { "allow-rules": "192.0.2.1" }, "addresses and networks"],
  ["a certificate by name where its id belongs", { "certificate-id": "web" }, "UUIDs"],
  [
    "a load balancer by name",
    { "kubernetes.digitalocean.com/load-balancer-id": "web" },
    "the id of a load balancer",
  ],
  ["half disowned", { "service.kubernetes.io/do-loadbalancer-disown": "maybe" }, "true or false"],
  ["TLS passed through and ended", { "tls-passthrough": "true", "certificate-name": "web" }, "leave out one"],
  ["HTTP/3 without a certificate", { "http3-port": "443" }, "needs a certificate"],
  ["two sizes", { "size-slug": "lb-small", "size-unit": "2" }, "leave out one"],
  ["a cookie without a name", { "sticky-sessions-type": "cookies" }, "sticky-sessions-cookie-name"],
  ["both families within", { network: "INTERNAL", "network-stack": "DUALSTACK" }, "IPv4 alone"],
  ["SCTP", {}, "TCP and UDP", { ports: [{ port: 80, protocol: "SCTP" }] }],
  ["a port that is kept", {}, "50053 to 50055", { ports: [{ port: 50054 }] }],
  [
    "a check at a port that it has not",
    { "override-health-check": "", "healthcheck-port": "81" },
    "a TCP port of the Service",
  ],
];

describeWithPart("control-plane", "infra/admission/digitalocean: what Services say", (binaries) => {
  let under: PolicyUnderTest;
  let count = 0;

  beforeAll(async () => {
    under = await startPolicy(binaries, ["digitalocean/services.yaml"], async (policy) => {
      under = policy;
      return create({ type: "GLOBAL" });
    });
  });
  afterAll(() => under?.cluster.close());

  function create(said: Said, spec: object = {}, user = "admin"): Promise<ApiResponse> {
    count += 1;
    const body = {
      metadata: { name: `service-${count}`, annotations: named(said) },
      spec: { type: "LoadBalancer", ports: [{ port: 80 }], ...spec },
    };
    return under.send(user, { method: "POST", path: SERVICES, body });
  }

  function patch(name: string, body: object): Promise<ApiResponse> {
    const contentType = "application/merge-patch+json" as never;
    return under.send("admin", { method: "PATCH", path: `${SERVICES}/${name}`, body, contentType });
  }

  it.each(ALLOWED.map(([given, said, spec]) => ({ given, said, spec })))(
    "accepts $given",
    async ({ said, spec }) => {
      expect(getRefusal(await create(said, spec))).toEqual([201, ""]);
    },
  );

  it.each(REFUSED.map(([given, said, says, spec]) => ({ given, said, says, spec })))(
    "rejects $given",
    async ({ said, says, spec }) => {
      expect(getRefusal(await create(said, spec))).toEqual([422, expect.stringContaining(says)]);
    },
  );

  it("checks changes, and ignores what was invalid before", async () => {
    const wrong = named({ type: "GLOBAL" });
    expect(getRefusal(await create({ type: "GLOBAL" }, { type: "ClusterIP" }))[0]).toBe(201);
    const name = `service-${count}`;
    expect(getRefusal(await patch(name, { spec: { type: "LoadBalancer" } }))[0]).toBe(422);
    const right = Object.fromEntries(Object.keys(wrong).map((key) => [key, "REGIONAL"]));
    const both = {
      metadata: { annotations: right, finalizers: ["example.com/a"] },
      spec: { type: "LoadBalancer" },
    };
    expect(getRefusal(await patch(name, both))).toEqual([200, ""]);
    expect(getRefusal(await patch(name, { metadata: { annotations: wrong } }))[0]).toBe(422);
    await under.send("admin", { method: "DELETE", path: `${SERVICES}/${name}` });
    expect(getRefusal(await patch(name, { metadata: { annotations: wrong, finalizers: null } }))).toEqual([
      200,
      "",
    ]);
  });
});

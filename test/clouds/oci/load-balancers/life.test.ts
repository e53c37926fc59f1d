import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildNetworkService,
  buildQuestion,
  buildService,
  CLUSTER,
  NODES,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";

const TAGS = { "serverless-ccm-cluster": CLUSTER };

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account);
});
afterEach(async () => {
  player.close();
  await account.close();
});

const away = (service: Service): LoadBalancerQuestion => ({ service, wanted: false, nodes: [] });
const onlyTargets = (service: Service, nodes: LoadBalancerQuestion["nodes"]): LoadBalancerQuestion => ({
  ...buildQuestion(service, nodes),
  onlyTargets: true,
});
const living = (kind: "lb" | "nlb") =>
  [...account[kind].balancers.values()].filter(({ lifecycleState }) => lifecycleState !== "DELETED");
const theOne = (kind: "lb" | "nlb") => {
  const [one, ...others] = living(kind);
  if (one === undefined || others.length > 0) throw new Error(`there are ${living(kind).length}`);
  return one;
};

describe("a load balancer", () => {
  test("is created by one request, and is waited for", async () => {
    const first = await player.round(buildQuestion(buildService()));
    expect(first).toMatchObject({
      actions: ["lb:CreateLoadBalancer"],
      end: { kind: "wait", afterSeconds: 10 },
    });
    const { end, actions } = await player.settle(buildQuestion(buildService()));
    expect(actions).toEqual([]);
    expect(end).toEqual({ kind: "settled", ingress: [{ ip: "203.0.113.1", ipMode: "VIP" }], warnings: [] });
    expect(theOne("lb")).toMatchObject({
      displayName: UID,
      freeformTags: { ...TAGS, "serverless-ccm-service": "default/web" },
      isPrivate: false,
      others: { shapeName: "100Mbps", subnetIds: ["ocid1.subnet.oc1.phx.s1"] },
      listeners: { "TCP-80": { defaultBackendSetName: "TCP-80", port: 80, protocol: "TCP" } },
      backendSets: {
        "TCP-80": {
          policy: "ROUND_ROBIN",
          backends: [
            { ipAddress: "10.0.0.1", port: 30_080, weight: 1 },
            { ipAddress: "10.0.0.2", port: 30_080, weight: 1 },
          ],
          healthChecker: {
            ...{ protocol: "HTTP", port: 10_256, urlPath: "/healthz", retries: 3, returnCode: 200 },
            ...{ intervalInMillis: 10_000, timeoutInMillis: 3_000 },
          },
        },
      },
    });
  });

  test("is created once, though the lists hide it for a while", async () => {
    account.lb.hideNew = 3;
    for (let rounds = 0; rounds < 3; rounds += 1) await player.round(buildQuestion(buildService()));
    await player.settle(buildQuestion(buildService()));
    expect(account.lb.balancers.size).toBe(1);
  });

  test("that is gone is created again with another token", async () => {
    await player.settle(buildQuestion(buildService()));
    await player.settle(away(buildService()));
    expect(living("lb")).toEqual([]);
    await player.settle(buildQuestion(buildService()));
    expect([account.lb.balancers.size, living("lb").length]).toEqual([2, 1]);
  });

  test("is deleted, and is waited for", async () => {
    await player.settle(buildQuestion(buildService()));
    const first = await player.round(away(buildService()));
    expect(first).toMatchObject({ actions: ["lb:DeleteLoadBalancer"], end: { kind: "wait" } });
    expect((await player.settle(away(buildService()))).end).toEqual({
      kind: "settled",
      ingress: [],
      warnings: [],
    });
    expect(living("lb")).toEqual([]);
  });

  test("is changed one part at a time, superfluous listeners first", async () => {
    const ports = (...all: readonly number[]) =>
      all.map((port) => ({ protocol: "TCP", port, nodePort: 30_000 + port }));
    await player.settle(buildQuestion(buildService({}, { ports: ports(80, 81) })));
    const changed = buildService(
      {
        "lb:shape": "flexible",
        "lb:shape-flex-min": "10",
        "lb:shape-flex-max": "5",
        "lb:connection-proxy-protocol-version": "2",
        "oci:loadbalancer-policy": "IP_HASH",
      },
      { ports: ports(80, 82) },
    );
    const { actions, end } = await player.settle(buildQuestion(changed));
    expect(actions).toEqual([
      "lb:DeleteListener",
      "lb:DeleteBackendSet",
      "lb:UpdateBackendSet",
      "lb:CreateBackendSet",
      "lb:UpdateListener",
      "lb:CreateListener",
      "lb:UpdateLoadBalancerShape",
    ]);
    expect(end.kind).toBe("settled");
    expect(theOne("lb")).toMatchObject({
      others: {
        shapeName: "flexible",
        shapeDetails: { minimumBandwidthInMbps: 10, maximumBandwidthInMbps: 10 },
      },
      listeners: {
        "TCP-80": { connectionConfiguration: { idleTimeout: 300, backendTcpProxyProtocolVersion: 2 } },
      },
      backendSets: { "TCP-80": { policy: "IP_HASH" } },
    });
    expect(Object.keys(theOne("lb").listeners).sort()).toEqual(["TCP-80", "TCP-82"]);
    expect(Object.keys(theOne("lb").backendSets).sort()).toEqual(["TCP-80", "TCP-82"]);
    // A flexible one stays flexible, and the connection setting is undone.
    expect((await player.settle(buildQuestion(buildService({}, { ports: ports(80, 82) })))).actions).toEqual([
      "lb:UpdateBackendSet",
      "lb:UpdateBackendSet",
      "lb:UpdateListener",
      "lb:UpdateListener",
    ]);
    expect(theOne("lb").listeners["TCP-80"]).toMatchObject({ connectionConfiguration: { idleTimeout: 300 } });
  });

  test("has rule sets for HTTP listeners, and loses them", async () => {
    const rules = '{"headers":{"items":[{"action":"REMOVE_HTTP_REQUEST_HEADER","header":"X"}]}}';
    const http = { "lb:backend-protocol": "HTTP" };
    await player.settle(buildQuestion(buildService(http)));
    const withRules = { ...http, "oci:oci-load-balancer-rule-sets": rules };
    expect((await player.settle(buildQuestion(buildService(withRules)))).actions).toEqual([
      "lb:CreateRuleSet",
      "lb:UpdateListener",
    ]);
    expect(theOne("lb")).toMatchObject({
      listeners: { "HTTP-80": { defaultBackendSetName: "TCP-80", ruleSetNames: ["headers"] } },
      ruleSets: { headers: { items: [{ action: "REMOVE_HTTP_REQUEST_HEADER", header: "X" }] } },
    });
    const other = { ...http, "oci:oci-load-balancer-rule-sets": rules.replace('"X"', '"Y"') };
    expect((await player.settle(buildQuestion(buildService(other)))).actions).toEqual(["lb:UpdateRuleSet"]);
    expect((await player.settle(buildQuestion(buildService(http)))).actions).toEqual([
      "lb:UpdateListener",
      "lb:DeleteRuleSet",
    ]);
    expect(theOne("lb").ruleSets).toEqual({});
  });

  test("keeps rule sets whose defaults the API shows, and those with unusual names", async () => {
    const conditions = [{ attributeName: "PATH", attributeValue: "/", operator: "EXACT_MATCH" }];
    const sets = {
      constructor: { items: [{ action: "REDIRECT", conditions, redirectUri: { port: 443 } }] },
      methods: { items: [{ action: "CONTROL_ACCESS_USING_HTTP_METHODS", allowedMethods: ["GET"] }] },
    };
    const said = {
      "lb:backend-protocol": "HTTP",
      "oci:oci-load-balancer-rule-sets": JSON.stringify(sets),
    };
    await player.settle(buildQuestion(buildService({ "lb:backend-protocol": "HTTP" })));
    expect((await player.settle(buildQuestion(buildService(said)))).actions).toEqual([
      "lb:CreateRuleSet",
      "lb:CreateRuleSet",
      "lb:UpdateListener",
    ]);
    const there = theOne("lb").ruleSets;
    const uri = { protocol: "{protocol}", host: "{host}", port: 443, path: "{path}", query: "{query}" };
    there["constructor"] = {
      items: [{ action: "REDIRECT", conditions, redirectUri: uri, responseCode: 302, description: null }],
    };
    there["methods"] = {
      items: [{ action: "CONTROL_ACCESS_USING_HTTP_METHODS", allowedMethods: ["GET"], statusCode: 405 }],
    };
    expect((await player.settle(buildQuestion(buildService(said)))).actions).toEqual([]);
    const other = { ...said, "oci:oci-load-balancer-rule-sets": JSON.stringify(sets).replace("443", "8443") };
    expect((await player.settle(buildQuestion(buildService(other)))).actions).toEqual(["lb:UpdateRuleSet"]);
  });

  test("has two subnets if each is in one domain, and it is public", async () => {
    const { network } = account.oci;
    network.addSubnet({
      id: "ocid1.subnet.oc1.phx.ad1",
      ...{ availabilityDomain: "AD-1", freeformTags: TAGS },
    });
    network.addSubnet({
      id: "ocid1.subnet.oc1.phx.ad2",
      ...{ availabilityDomain: "AD-2", freeformTags: TAGS },
    });
    const said = { "lb:subnet1": "ocid1.subnet.oc1.phx.ad1", "lb:subnet2": "ocid1.subnet.oc1.phx.ad2" };
    await player.settle(buildQuestion(buildService(said)));
    expect(theOne("lb").others["subnetIds"]).toEqual(Object.values(said));
    await player.settle(away(buildService(said)));
    await player.settle(buildQuestion(buildService({ ...said, "lb:internal": "true" })));
    expect(theOne("lb")).toMatchObject({
      isPrivate: true,
      others: { subnetIds: ["ocid1.subnet.oc1.phx.ad1"] },
    });
  });

  test("takes a reserved address of the cluster", async () => {
    const address = account.addPublicIp("198.51.100.7", { freeformTags: TAGS });
    account.addPublicIp("198.51.100.8");
    account.addPublicIp("198.51.100.9", { freeformTags: TAGS, lifecycleState: "ASSIGNED" });
    for (const loadBalancerIP of ["198.51.100.1", "198.51.100.8", "198.51.100.9"]) {
      const { end } = await player.round(buildQuestion(buildService({}, { loadBalancerIP })));
      expect(end).toMatchObject({ kind: "refused", issue: { code: "ReservedIPNotUsable" } });
    }
    await player.round(buildQuestion(buildService({}, { loadBalancerIP: "198.51.100.7" })));
    expect(theOne("lb").others["reservedIps"]).toEqual([{ id: address.id }]);
  });
});

describe("a network load balancer", () => {
  const dns = {
    ports: [
      { protocol: "TCP", port: 53, nodePort: 30_053 },
      { protocol: "UDP", port: 53, nodePort: 30_053 },
      { protocol: "UDP", port: 54, nodePort: 30_054 },
    ],
  };

  test("serves TCP and UDP of one port on one listener, of each family", async () => {
    const service = buildNetworkService(
      { "nlb:is-ppv2-enabled": "true" },
      { ...dns, ipFamilies: ["IPv4", "IPv6"] },
    );
    const { end } = await player.settle(buildQuestion(service));
    expect(end).toMatchObject({
      kind: "settled",
      ingress: [{ ip: "203.0.113.1" }, { ip: "2603:c020::1" }, { ip: "10.0.250.1" }],
    });
    expect(theOne("nlb")).toMatchObject({
      displayName: `default/web/${UID}`,
      others: { subnetId: "ocid1.subnet.oc1.phx.s1", nlbIpVersion: "IPV4_AND_IPV6" },
      listeners: {
        "TCP_AND_UDP-53": { protocol: "TCP_AND_UDP", ipVersion: "IPV4", isPpv2Enabled: true },
        "TCP_AND_UDP-53-IPv6": { protocol: "TCP_AND_UDP", ipVersion: "IPV6" },
        "UDP-54": { protocol: "UDP", ipVersion: "IPV4" },
        "UDP-54-IPv6": { protocol: "UDP", ipVersion: "IPV6" },
      },
      backendSets: {
        "UDP-54": {
          policy: "FIVE_TUPLE",
          backends: [{ name: "10.0.0.1:30054" }, { name: "10.0.0.2:30054" }],
        },
        "UDP-54-IPv6": { backends: [{ ipAddress: "2603:c020::1:1" }, { ipAddress: "2603:c020::1:2" }] },
      },
    });
  });

  test("checks its own nodes' port and keeps clients' addresses if traffic is local", async () => {
    const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };
    await player.settle(buildQuestion(buildNetworkService({}, local)));
    expect(theOne("nlb").backendSets["TCP-80"]).toMatchObject({
      isPreserveSource: true,
      healthChecker: { port: 31_000 },
    });
    await player.settle(buildQuestion(buildNetworkService({ "nlb:is-preserve-source": "false" }, local)));
    expect(theOne("nlb").backendSets["TCP-80"]).toMatchObject({ isPreserveSource: false });
  });

  test.each([
    [{ "nlb:external-ip-only": "true" }, [{ ip: "203.0.113.1", ipMode: "VIP" }]],
    [
      { "oci:ingress-ip-mode": "Proxy" },
      [
        { ip: "203.0.113.1", ipMode: "Proxy" },
        { ip: "10.0.250.1", ipMode: "Proxy" },
      ],
    ],
    [
      { "nlb:internal": "true", "nlb:assigned-private-ipv4": "10.0.0.200" },
      [{ ip: "10.0.0.200", ipMode: "VIP" }],
    ],
  ])("publishes %j in the status", async (said, ingress) => {
    const { end } = await player.settle(buildQuestion(buildNetworkService(said as Record<string, string>)));
    expect(end).toMatchObject({ kind: "settled", ingress });
  });

  test("is changed, and deleted", async () => {
    await player.settle(buildQuestion(buildNetworkService({}, dns)));
    expect(
      (await player.settle(buildQuestion(buildNetworkService({ "nlb:is-ppv2-enabled": "true" })))).actions,
    ).toEqual([
      "nlb:DeleteListener",
      "nlb:DeleteListener",
      "nlb:DeleteBackendSet",
      "nlb:DeleteBackendSet",
      "nlb:CreateBackendSet",
      "nlb:CreateListener",
    ]);
    const { end, actions } = await player.settle(away(buildNetworkService()));
    expect([end.kind, actions, living("nlb")]).toEqual(["settled", ["nlb:DeleteLoadBalancer"], []]);
  });
});

describe("nodes", () => {
  test("that join and leave are backends, and nothing else is read", async () => {
    await player.settle(buildQuestion(buildService()));
    account.oci.requests.length = 0;
    const [one = { name: "" }] = NODES;
    const { actions } = await player.settle(onlyTargets(buildService(), [one]));
    expect(actions).toEqual(["lb:UpdateBackendSet"]);
    expect(theOne("lb").backendSets["TCP-80"]?.["backends"]).toEqual([
      { ipAddress: "10.0.0.1", port: 30_080, weight: 1, backup: false, drain: false, offline: false },
    ]);
    expect(account.oci.requests.some(({ path }) => /networkSecurityGroups|subnets|network/.test(path))).toBe(
      false,
    );
  });

  test("keep an operator's settings on their backends", async () => {
    await player.settle(buildQuestion(buildService(), NODES.slice(0, 1)));
    const backends = theOne("lb").backendSets["TCP-80"]?.["backends"] as Record<string, unknown>[];
    Object.assign(backends[0] ?? {}, { drain: true });
    await player.settle(onlyTargets(buildService(), NODES));
    expect(theOne("lb").backendSets["TCP-80"]?.["backends"]).toMatchObject([
      { drain: true },
      { ipAddress: "10.0.0.2" },
    ]);
  });

  test.each([
    ["Foreign", { kind: "error", code: "Foreign", message: "another's" }],
    ["not found", { kind: "not-found", message: "none" }],
  ] as const)("whose instance is %s are not backends", async (_, answer) => {
    player.answers = new Map([["ocid1.instance.oc1.phx.i2", answer]]);
    await player.settle(buildQuestion(buildService()));
    expect(theOne("lb").backendSets["TCP-80"]?.["backends"]).toMatchObject([{ ipAddress: "10.0.0.1" }]);
  });

  test("without a possible backend leave everything unchanged", async () => {
    await player.settle(buildQuestion(buildService()));
    player.answers = new Map(
      NODES.map(({ providerID }) => [providerID.slice(6), { kind: "not-found", message: "" }]),
    );
    const { end, actions } = await player.settle(buildQuestion(buildService()));
    expect([end, actions]).toMatchObject([{ kind: "refused", issue: { code: "LoadBalancerRefused" } }, []]);
  });

  test("that cannot be read leave everything unchanged", async () => {
    await player.settle(buildQuestion(buildService()));
    const answer = { kind: "error", code: "Throttled", message: "later" } as const;
    player.answers = new Map(NODES.map(({ providerID }) => [providerID.slice(6), answer]));
    await expect(player.round(buildQuestion(buildService()))).rejects.toThrow("Throttled");
  });

  test("are selected by label", async () => {
    const service = buildService({ "oci:node-label-selector": "pool=front" });
    const { end } = await player.settle(buildQuestion(service));
    expect(end).toMatchObject({ kind: "refused", issue: { code: "InvalidAnnotation" } });
    expect(living("lb")).toEqual([]);
  });

  test("that have all left leave a load balancer without backends", async () => {
    await player.settle(buildQuestion(buildService()));
    await player.settle(buildQuestion(buildService(), []));
    expect(theOne("lb").backendSets["TCP-80"]?.["backends"]).toEqual([]);
  });
});

import { describe, expect, test } from "vitest";
import { ANNOTATIONS, exposedServices, selectServices } from "#core/digitalocean/exposed-service.ts";
import { buildDesiredRules, listNamedLoadBalancers } from "#core/digitalocean/firewall/desired-rules.ts";
import { normalizeRules } from "#core/digitalocean/firewall/state.ts";
import { parseFirewallSettings } from "#core/digitalocean/firewall/watch.ts";
import {
  BALANCER,
  buildBalancedService,
  buildContext,
  buildNodePortService,
  buildRawService,
  buildRule,
  KNOWN,
  open,
  SETTINGS,
} from "#test/core/digitalocean/firewall/world.ts";

function rulesOf(services: readonly unknown[], cloud: Record<string, unknown> = {}, known = [KNOWN]) {
  const { related } = buildContext(services);
  const settings = parseFirewallSettings({ cloud: { ...SETTINGS.cloud, ...cloud } });
  if (settings === undefined) throw new Error("no firewall is configured");
  const { inbound, complaints } = buildDesiredRules(selectServices(related) ?? [], settings, known);
  return { inbound, complaints: complaints.map(({ service, code }) => `${service.name}: ${code}`) };
}

const managed = (text: string) => ({ annotations: { [ANNOTATIONS.managed]: text } });
const idOf = (id: string) => ({ annotations: { [ANNOTATIONS.loadBalancerID]: id } });
const PREFIX = "service.beta.kubernetes.io/do-loadbalancer-";
const typed = (text: string) => ({ annotations: { [ANNOTATIONS.type]: text } });

describe("the rules for Services", () => {
  test.each<[string, readonly unknown[], readonly unknown[], Record<string, unknown>?]>([
    ["without Services are empty", [], []],
    [
      "of type ClusterIP are empty",
      [buildRawService("web", { type: "ClusterIP", ports: [{ port: 80 }] })],
      [],
    ],
    [
      "open TCP and UDP node ports",
      [buildNodePortService("web", [30080, "udp/30053"])],
      [open(30080), open(30053, "udp")],
    ],
    ["ignore SCTP", [buildNodePortService("web", ["sctp/30080"])], []],
    ["ignore a node port that is not allocated yet", [buildNodePortService("web", [0])], []],
    ["are empty without ports", [buildRawService("web", { type: "NodePort" })], []],
    ["are empty if the annotation says false", [buildNodePortService("web", [30080], managed("False"))], []],
    [
      "open node ports if the annotation says true",
      [buildNodePortService("web", [30080], managed(" t "))],
      [open(30080)],
    ],
    [
      "open node ports if the annotation is empty",
      [buildNodePortService("web", [30080], managed(" "))],
      [open(30080)],
    ],
    [
      "open the ports of a load balancer that does not exist yet to all",
      [buildBalancedService("web", [443])],
      [open(10256), open(443)],
    ],
    [
      "admit health checks only from an existing load balancer",
      [buildBalancedService("web", [443], idOf(BALANCER))],
      [buildRule(10256, BALANCER), open(443)],
    ],
    [
      "use the healthCheckNodePort with externalTrafficPolicy Local",
      [
        buildBalancedService("web", [443], {
          ...idOf(BALANCER),
          ...{ externalTrafficPolicy: "Local", healthCheckNodePort: 31111 },
        }),
      ],
      [buildRule(10256, BALANCER), buildRule(31111, BALANCER), open(443)],
    ],
    [
      "use the default health check port until one is allocated",
      [buildBalancedService("web", [443], { ...idOf(BALANCER), externalTrafficPolicy: "Local" })],
      [buildRule(10256, BALANCER), open(443)],
    ],
    [
      "use the first TCP node port if the annotation overrides the health check",
      [
        buildRawService("web", {
          type: "LoadBalancer",
          ports: [
            { port: 53, nodePort: 30053, protocol: "UDP" },
            { port: 443, nodePort: 30443, protocol: "TCP" },
          ],
          annotations: { [`${PREFIX}override-health-check`]: "" },
        }),
      ],
      [open(30443), open(443), open(53, "udp")],
    ],
    [
      "use the node port of the named port if the annotation overrides the health check",
      [
        buildRawService("web", {
          type: "LoadBalancer",
          ports: [
            { port: 80, nodePort: 30080, protocol: "TCP" },
            { port: 443, nodePort: 30443, protocol: "TCP" },
          ],
          annotations: {
            [`${PREFIX}override-health-check`]: "",
            [`${PREFIX}healthcheck-port`]: "443",
          },
        }),
      ],
      [open(30443), open(443), open(80)],
    ],
    ["are empty for a REGIONAL load balancer", [buildBalancedService("web", [443], typed("REGIONAL"))], []],
    [
      "are empty for an internal load balancer",
      [buildBalancedService("web", [443], { annotations: { [ANNOTATIONS.network]: "INTERNAL" } })],
      [],
    ],
    [
      "are empty for another load balancer class",
      [buildBalancedService("web", [443], { loadBalancerClass: "example.com/other" })],
      [],
    ],
    [
      "are empty if the default type is REGIONAL",
      [buildBalancedService("web", [443])],
      [],
      { defaultLoadBalancerType: "REGIONAL" },
    ],
    [
      "open the ports if the annotation overrides the default type",
      [buildBalancedService("web", [443], { annotations: { ...typed("REGIONAL_NETWORK").annotations } })],
      [open(10256), open(443)],
      { defaultLoadBalancerType: "REGIONAL" },
    ],
    [
      "are sorted and without duplicates",
      [buildNodePortService("a", [30080]), buildNodePortService("b", [30080, 3001])],
      // Sorted as text, not by number.
      [open(30080), open(3001)].sort((a, b) => (a.ports < b.ports ? -1 : 1)),
    ],
    [
      "omit a load balancer as a source if the port is open to all",
      [buildBalancedService("a", [443], idOf(BALANCER)), buildBalancedService("b", [80])],
      [open(10256), open(443), open(80)],
    ],
  ])("%s", (_given, services, inbound, cloud) => {
    expect(rulesOf(services, cloud)).toEqual({ inbound, complaints: [] });
  });

  test("a load balancer ID that is not proven to be the cluster's admits no traffic", () => {
    expect(rulesOf([buildBalancedService("web", [443], idOf(BALANCER))], {}, []).inbound).toEqual([
      open(10256),
      open(443),
    ]);
  });

  test.each([
    ["type", "REGIONAL-NETWORK", ["web: TypeInvalid"]],
    ["type", "REGIONAL", []],
    ["network", "EXTERN", ["web: NetworkInvalid"]],
    ["network", "INTERNAL", []],
  ] as const)(
    "an existing load balancer keeps its ports if %s is %s, which cannot change it",
    (key, value, told) => {
      const annotations = { ...idOf(BALANCER).annotations, [ANNOTATIONS[key]]: value };
      expect(rulesOf([buildBalancedService("web", [443], { annotations })])).toEqual({
        inbound: [buildRule(10256, BALANCER), open(443)],
        complaints: told,
      });
    },
  );

  test("an existing internal load balancer has no ports, whatever its Service requests now", () => {
    const internal = { ...KNOWN, network: "INTERNAL" };
    expect(rulesOf([buildBalancedService("web", [443], idOf(BALANCER))], {}, [internal]).inbound).toEqual([]);
  });

  test("a health check that changes is admitted at both ports", () => {
    const service = buildBalancedService("web", [443], {
      ...idOf(BALANCER),
      ...{ externalTrafficPolicy: "Local", healthCheckNodePort: 31111 },
    });
    expect(rulesOf([service]).inbound).toEqual([
      buildRule(10256, BALANCER),
      buildRule(31111, BALANCER),
      open(443),
    ]);
  });

  test.each([
    [buildNodePortService("web", [30080], managed("perhaps")), "web: ManagedInvalid", [open(30080)]],
    [buildBalancedService("web", [443], typed("GLOBAL")), "web: TypeInvalid", []],
    [
      buildBalancedService("web", [443], { annotations: { [ANNOTATIONS.network]: "internal" } }),
      "web: NetworkInvalid",
      [],
    ],
  ])("an invalid Service is reported, and closes no other Service's ports: %#", (service, told, own) => {
    const { inbound, complaints } = rulesOf([service, buildNodePortService("other", [31000])]);
    expect(complaints).toEqual([told]);
    expect(inbound).toEqual([...own, open(31000)]);
  });
});

test("asks once about each valid ID that Services name", () => {
  const services = [
    buildBalancedService("a", [1], idOf(BALANCER)),
    buildBalancedService("b", [1], idOf(BALANCER)),
    buildBalancedService("c", [1], idOf("../account")),
    buildBalancedService("d", [1]),
    buildNodePortService("e", [30000]),
  ];
  expect(listNamedLoadBalancers(selectServices(buildContext(services).related) ?? [])).toEqual([BALANCER]);
});

describe("equivalent rules", () => {
  test.each([
    ["in another order, one of them twice", [open(2), open(1), open(2)], [open(1), open(2)]],
    [
      "of all ports, as the API has them",
      [{ ...open(0), ports: "all" }, open(0)],
      [{ ...open(0), ports: "" }],
    ],
    ["apart", [buildRule(1, "b"), buildRule(1, "a")], [buildRule(1, "a", "b")]],
    ["for everybody and one more", [open(1), buildRule(1, "a")], [open(1)]],
  ])("%s", (_given, rules, normal) => {
    expect(normalizeRules(rules)).toEqual(normal);
  });
});

describe("a Service in the firewall's projection", () => {
  test("is dropped without a name; with an invalid spec it exposes nothing, and counts", () => {
    expect(exposedServices.project({ metadata: { name: "web" } })).toBeUndefined();
    expect(exposedServices.project(buildRawService("web", { type: "NodePort", ports: 7 }))).toEqual({
      ...{ namespace: "default", name: "web", uid: "uid-web" },
    });
    expect(exposedServices.reads({} as never)).toBe("all");
  });

  test.each([
    ["comes and exposes nothing", undefined, buildRawService("web", { type: "ClusterIP" }), false],
    ["comes with a node port", undefined, buildNodePortService("web", [30080]), true],
    [
      "changes in what it does not expose",
      buildRawService("web", { type: "ClusterIP" }),
      buildRawService("web", {}),
      false,
    ],
    ["gets another port", buildNodePortService("web", [30080]), buildNodePortService("web", [30081]), true],
    ["stays as it is", buildNodePortService("web", [30080]), buildNodePortService("web", [30080]), false],
    ["goes", buildNodePortService("web", [30080]), undefined, true],
  ])("that %s", (_given, before, after, concerns) => {
    const project = (service: unknown) =>
      service === undefined ? undefined : exposedServices.project(service);
    expect(exposedServices.concerns?.(project(before), project(after))).toBe(concerns);
  });

  test("is sorted by name", () => {
    const { related } = buildContext([
      buildNodePortService("b", [1]),
      buildNodePortService("a", [1]),
      buildNodePortService("c", [1]),
    ]);
    expect(selectServices(related)?.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(selectServices({})).toBeUndefined();
    expect(selectServices({ services: { resourceVersion: "1", items: [{ name: 7 }] } })).toEqual([]);
  });
});

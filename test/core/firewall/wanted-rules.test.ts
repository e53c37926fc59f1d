import { describe, expect, test } from "vitest";
import { ANNOTATIONS, exposedServices, servicesIn } from "#core/firewall/exposed-service.ts";
import { normalRules } from "#core/firewall/rules.ts";
import { firewallSettingsOf } from "#core/firewall/settings.ts";
import { namedLoadBalancers, wantedRules } from "#core/firewall/wanted-rules.ts";
import {
  BALANCER,
  balanced,
  contextOf,
  from,
  nodePorts,
  open,
  raw,
  SETTINGS,
} from "#test/core/firewall/world.ts";

function rulesOf(services: readonly unknown[], cloud: Record<string, unknown> = {}, known = [BALANCER]) {
  const { related } = contextOf(services);
  const settings = firewallSettingsOf({ cloud: { ...SETTINGS.cloud, ...cloud } });
  if (settings === undefined) throw new Error("no firewall is configured");
  const { inbound, complaints } = wantedRules(servicesIn(related) ?? [], settings, new Set(known));
  return { inbound, complaints: complaints.map(({ service, code }) => `${service.name}: ${code}`) };
}

const managed = (text: string) => ({ annotations: { [ANNOTATIONS.managed]: text } });
const idOf = (id: string) => ({ annotations: { [ANNOTATIONS.loadBalancerID]: id } });
const typed = (text: string) => ({ annotations: { [ANNOTATIONS.type]: text } });

describe("what is let in for Services", () => {
  test.each<[string, readonly unknown[], readonly unknown[], Record<string, unknown>?]>([
    ["without any", [], []],
    ["a cluster address alone", [raw("web", { type: "ClusterIP", ports: [{ port: 80 }] })], []],
    ["node ports", [nodePorts("web", [30080, "udp/30053"])], [open(30080), open(30053, "udp")]],
    ["a protocol of its own", [nodePorts("web", ["sctp/30080"])], []],
    ["a port that is not given yet", [nodePorts("web", [0])], []],
    ["no ports", [raw("web", { type: "NodePort" })], []],
    ["managed by somebody else", [nodePorts("web", [30080], managed("False"))], []],
    ["managed in so many words", [nodePorts("web", [30080], managed(" t "))], [open(30080)]],
    ["nothing said", [nodePorts("web", [30080], managed(" "))], [open(30080)]],
    ["a load balancer that is not there yet", [balanced("web", [443])], [open(10256), open(443)]],
    ["one that is", [balanced("web", [443], idOf(BALANCER))], [from(10256, BALANCER), open(443)]],
    [
      "a health port of its own",
      [
        balanced("web", [443], {
          ...idOf(BALANCER),
          ...{ externalTrafficPolicy: "Local", healthCheckNodePort: 31111 },
        }),
      ],
      [from(31111, BALANCER), open(443)],
    ],
    [
      "a health port that is not given yet",
      [balanced("web", [443], { ...idOf(BALANCER), externalTrafficPolicy: "Local" })],
      [from(10256, BALANCER), open(443)],
    ],
    ["of the kind that is within", [balanced("web", [443], typed("REGIONAL"))], []],
    ["an internal one", [balanced("web", [443], { annotations: { [ANNOTATIONS.network]: "INTERNAL" } })], []],
    ["of another class", [balanced("web", [443], { loadBalancerClass: "example.com/other" })], []],
    ["of the kind by default", [balanced("web", [443])], [], { defaultLoadBalancerType: "REGIONAL" }],
    [
      "one that says otherwise than by default",
      [balanced("web", [443], { annotations: { ...typed("REGIONAL_NETWORK").annotations } })],
      [open(10256), open(443)],
      { defaultLoadBalancerType: "REGIONAL" },
    ],
    [
      "two that open the same port",
      [nodePorts("a", [30080]), nodePorts("b", [30080, 3001])],
      // As texts: 3001 is behind 30080 as little as before it is.
      [open(30080), open(3001)].sort((a, b) => (a.ports < b.ports ? -1 : 1)),
    ],
    [
      "what is open to everybody needs no load balancer",
      [balanced("a", [443], idOf(BALANCER)), balanced("b", [80])],
      [open(10256), open(443), open(80)],
    ],
  ])("%s", (_given, services, inbound, cloud) => {
    expect(rulesOf(services, cloud)).toEqual({ inbound, complaints: [] });
  });

  test("an id that is not known to be one of the cluster's lets nobody in", () => {
    expect(rulesOf([balanced("web", [443], idOf(BALANCER))], {}, []).inbound).toEqual([
      open(10256),
      open(443),
    ]);
  });

  test.each([
    [nodePorts("web", [30080], managed("perhaps")), "web: ManagedInvalid", [open(30080)]],
    [balanced("web", [443], typed("GLOBAL")), "web: TypeInvalid", []],
    [
      balanced("web", [443], { annotations: { [ANNOTATIONS.network]: "internal" } }),
      "web: NetworkInvalid",
      [],
    ],
  ])("one that cannot be made out is told, and keeps no other one's ports shut: %#", (service, told, own) => {
    const { inbound, complaints } = rulesOf([service, nodePorts("other", [31000])]);
    expect(complaints).toEqual([told]);
    expect(inbound).toEqual([...own, open(31000)]);
  });
});

test("of ids that Services name those are asked about that can be one, once", () => {
  const services = [
    balanced("a", [1], idOf(BALANCER)),
    balanced("b", [1], idOf(BALANCER)),
    balanced("c", [1], idOf("../account")),
    balanced("d", [1]),
    nodePorts("e", [30000]),
  ];
  expect(namedLoadBalancers(servicesIn(contextOf(services).related) ?? [])).toEqual([BALANCER]);
});

describe("rules that let through the same", () => {
  test.each([
    ["in another order, one of them twice", [open(2), open(1), open(2)], [open(1), open(2)]],
    [
      "of all ports, as the API has them",
      [{ ...open(0), ports: "all" }, open(0)],
      [{ ...open(0), ports: "" }],
    ],
    ["apart", [from(1, "b"), from(1, "a")], [from(1, "a", "b")]],
    ["for everybody and one more", [open(1), from(1, "a")], [open(1)]],
  ])("%s", (_given, rules, normal) => {
    expect(normalRules(rules)).toEqual(normal);
  });
});

describe("a Service as the firewall reads it", () => {
  test("that has no name is none; one whose spec is odd exposes nothing, and counts", () => {
    expect(exposedServices.project({ metadata: { name: "web" } })).toBeUndefined();
    expect(exposedServices.project(raw("web", { type: "NodePort", ports: 7 }))).toEqual({
      ...{ namespace: "default", name: "web", uid: "uid-web" },
    });
    expect(exposedServices.reads({} as never)).toBe("all");
  });

  test.each([
    ["comes and exposes nothing", undefined, raw("web", { type: "ClusterIP" }), false],
    ["comes with a node port", undefined, nodePorts("web", [30080]), true],
    ["changes in what it does not expose", raw("web", { type: "ClusterIP" }), raw("web", {}), false],
    ["gets another port", nodePorts("web", [30080]), nodePorts("web", [30081]), true],
    ["stays as it is", nodePorts("web", [30080]), nodePorts("web", [30080]), false],
    ["goes", nodePorts("web", [30080]), undefined, true],
  ])("that %s", (_given, before, after, concerns) => {
    const project = (service: unknown) =>
      service === undefined ? undefined : exposedServices.project(service);
    expect(exposedServices.concerns?.(project(before), project(after))).toBe(concerns);
  });

  test("comes in the order of names", () => {
    const { related } = contextOf([nodePorts("b", [1]), nodePorts("a", [1]), nodePorts("c", [1])]);
    expect(servicesIn(related)?.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(servicesIn({})).toBeUndefined();
    expect(servicesIn({ services: { resourceVersion: "1", items: [{ name: 7 }] } })).toEqual([]);
  });
});

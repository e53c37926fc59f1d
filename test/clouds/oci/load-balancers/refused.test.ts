import { describe, expect, test } from "vitest";
import { ociLoadBalancerModel } from "#clouds/oci/load-balancers/model.ts";
import { PROBLEMS } from "#core/service/problems.ts";
import {
  aNetworkService,
  annotations,
  aService,
  OTHER_COMPARTMENT,
  question,
  settings,
} from "#test/clouds/oci/load-balancers/service.ts";

const port = (more: Readonly<Record<string, unknown>> = {}) => ({
  protocol: "TCP",
  port: 80,
  nodePort: 30_080,
  ...more,
});
const MODE = "oci:security-rule-management-mode";
const GROUPS = [1, 2, 3, 4, 5].map((number) => `ocid1.networksecuritygroup.oc1.phx.g${number}`).join();

describe("before OCI is asked", () => {
  test.each([
    ["rules in security lists, as nothing says otherwise", aService({ [MODE]: "" }), "SecurityLists"],
    ["rules in security lists of both", aService({ [MODE]: "SL-All" }), "SecurityLists"],
    ["rules in security lists of the front", aService({ [MODE]: "SL-Frontend" }), "SecurityLists"],
    [
      "the older annotation",
      aService({ [MODE]: "", "lb:security-list-management-mode": "Frontend" }),
      "SecurityLists",
    ],
    [
      "the same of a network load balancer",
      aNetworkService({ [MODE]: "", "nlb:security-list-management-mode": "All" }),
      "SecurityLists",
    ],
    ["session affinity", aService({}, { sessionAffinity: "ClientIP" }), "SessionAffinity"],
    ["no ports", aService({}, { ports: [] }), "NoPorts"],
    ["no node port", aService({}, { ports: [port({ nodePort: undefined })] }), "NoNodePort"],
    ["UDP", aService({}, { ports: [port({ protocol: "UDP" })] }), "UnsupportedProtocol"],
    ["SCTP", aNetworkService({}, { ports: [port({ protocol: "SCTP" })] }), "UnsupportedProtocol"],
    [
      "two node ports of one port",
      aNetworkService({}, { ports: [port(), port({ protocol: "UDP", nodePort: 30_081 })] }),
      "MixedProtocols",
    ],
    [
      "both families of a load balancer",
      aService({}, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }),
      "IPFamilies",
    ],
    [
      "a source range that is none",
      aService({}, { loadBalancerSourceRanges: ["10.0.0.0"] }),
      "InvalidSourceRanges",
    ],
    [
      "an address of an internal one",
      aService({ "lb:internal": "true" }, { loadBalancerIP: "198.51.100.1" }),
      "InvalidField",
    ],
    ["a flexible shape without its lower limit", aService({ "lb:shape": "flexible" }), "InvalidAnnotation"],
    [
      "a flexible shape without its upper limit",
      aService({ "lb:shape": "flexible", "lb:shape-flex-min": "10" }),
      "InvalidAnnotation",
    ],
    ["a certificate of a Secret", aService({ "lb:tls-secret": "tls" }), "SecretsNotRead"],
    [
      "a compartment that is not configured",
      aService({ "oci:compartment-id": OTHER_COMPARTMENT }),
      "NotAllowed",
    ],
    ["workload identity", aService({ "oci:workload-service-account": "sa" }), "NotAllowed"],
    [
      "clients' addresses of all nodes",
      aNetworkService({ "nlb:is-preserve-source": "true" }),
      "InvalidAnnotation",
    ],
    [
      "rule sets of TCP",
      aService({ "oci:oci-load-balancer-rule-sets": '{"r":{"items":[{"action":"ALLOW"}]}}' }),
      "InvalidAnnotation",
    ],
    [
      "IPv6 where there is none",
      aNetworkService({ "nlb:assigned-ipv6": "2603:c020::1" }),
      "InvalidAnnotation",
    ],
    [
      "five groups beside the managed one",
      aService({ [MODE]: "NSG", "oci:oci-network-security-groups": GROUPS }),
      "InvalidAnnotation",
    ],
    ["a uid that leads elsewhere", aService({}, {}, { uid: "../x" }), "InvalidField"],
  ])("%s is refused", (_, service, code) => {
    const step = ociLoadBalancerModel.before(question(service), settings());
    expect(step).toMatchObject({ kind: "refused", problem: { code } });
    expect(Object.keys(PROBLEMS)).toContain(code);
  });

  test("a Service without a subnet is refused", () => {
    const step = ociLoadBalancerModel.before(question(aService()), settings({ loadBalancer: {} }));
    expect(step).toMatchObject({
      problem: { code: "InvalidAnnotation", field: expect.stringMatching(/subnet1$/) },
    });
  });

  test("the Warning about security lists names the setting", () => {
    const step = ociLoadBalancerModel.before(question(aService({ [MODE]: "" })), settings());
    const [field = ""] = Object.keys(annotations({ [MODE]: "" }));
    expect(step).toMatchObject({ problem: { field, allowed: `${field} as NSG or None` } });
  });

  test.each([
    ["None as configured", aService({ [MODE]: "" }), { subnet1: "s", securityListManagementMode: "None" }],
    ["NSG as configured", aService({ [MODE]: "" }), { subnet1: "s", securityListManagementMode: "NSG" }],
    ["nothing of a network load balancer", aNetworkService({ [MODE]: "" }), { subnet1: "s" }],
    [
      "the annotation over what is configured",
      aService(),
      { subnet1: "s", securityListManagementMode: "All" },
    ],
    [
      "an older annotation",
      aService({ [MODE]: "", "lb:security-list-management-mode": "None" }),
      { subnet1: "s" },
    ],
    [
      "a compartment that is configured",
      aService({ "oci:compartment-id": OTHER_COMPARTMENT }),
      { subnet1: "s" },
    ],
    [
      "both families, where one is enough",
      aService({}, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" }),
      { subnet1: "s" },
    ],
  ])("%s will do", (_, service, loadBalancer) => {
    const cloud = settings({ loadBalancer, compartments: [OTHER_COMPARTMENT] });
    expect(ociLoadBalancerModel.before(question(service), cloud)).toBeUndefined();
  });

  test("a class is another controller's, and what leaves is not read", () => {
    const classy = aService({}, { loadBalancerClass: "example.com/lb" });
    expect(ociLoadBalancerModel.before(question(classy), settings())).toEqual({ kind: "elsewhere" });
    const leaving = { service: aService({ [MODE]: "SL-All" }), wanted: false, nodes: [] };
    expect(ociLoadBalancerModel.before(leaving, settings())).toBeUndefined();
  });
});

import { describe, expect, test } from "vitest";
import { ociLoadBalancerModel } from "#clouds/oci/load-balancers/model.ts";
import { ISSUES } from "#core/service/issues.ts";
import {
  buildAnnotations,
  buildNetworkService,
  buildQuestion,
  buildService,
  buildSettings,
  OTHER_COMPARTMENT,
} from "#test/clouds/oci/load-balancers/service.ts";

const port = (more: Readonly<Record<string, unknown>> = {}) => ({
  protocol: "TCP",
  port: 80,
  nodePort: 30_080,
  ...more,
});
const MODE = "oci:security-rule-management-mode";
const GROUPS = [1, 2, 3, 4, 5].map((number) => `ocid1.networksecuritygroup.oc1.phx.g${number}`).join();

describe("before any request to OCI", () => {
  test.each([
    ["rules in security lists, the default", buildService({ [MODE]: "" }), "SecurityLists"],
    [
      "rules in the security lists of load balancer and nodes",
      buildService({ [MODE]: "SL-All" }),
      "SecurityLists",
    ],
    [
      "rules in the security lists of the load balancer",
      buildService({ [MODE]: "SL-Frontend" }),
      "SecurityLists",
    ],
    [
      "rules in security lists, by the older annotation",
      buildService({ [MODE]: "", "lb:security-list-management-mode": "Frontend" }),
      "SecurityLists",
    ],
    [
      "a wrong protocol of a network load balancer",
      buildNetworkService({ [MODE]: "", "nlb:security-list-management-mode": "All" }),
      "SecurityLists",
    ],
    ["session affinity", buildService({}, { sessionAffinity: "ClientIP" }), "SessionAffinity"],
    ["no ports", buildService({}, { ports: [] }), "NoPorts"],
    ["no node port", buildService({}, { ports: [port({ nodePort: undefined })] }), "NoNodePort"],
    ["UDP", buildService({}, { ports: [port({ protocol: "UDP" })] }), "UnsupportedProtocol"],
    ["SCTP", buildNetworkService({}, { ports: [port({ protocol: "SCTP" })] }), "UnsupportedProtocol"],
    [
      "two node ports for one port",
      buildNetworkService({}, { ports: [port(), port({ protocol: "UDP", nodePort: 30_081 })] }),
      "MixedProtocols",
    ],
    [
      "both address families for a load balancer",
      buildService({}, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }),
      "IPFamilies",
    ],
    [
      "an invalid source range",
      buildService({}, { loadBalancerSourceRanges: ["10.0.0.0"] }),
      "InvalidSourceRanges",
    ],
    [
      "an address for an internal load balancer",
      buildService({ "lb:internal": "true" }, { loadBalancerIP: "198.51.100.1" }),
      "InvalidField",
    ],
    [
      "a flexible shape without its lower limit",
      buildService({ "lb:shape": "flexible" }),
      "InvalidAnnotation",
    ],
    [
      "a flexible shape without its upper limit",
      buildService({ "lb:shape": "flexible", "lb:shape-flex-min": "10" }),
      "InvalidAnnotation",
    ],
    ["a certificate of a Secret", buildService({ "lb:tls-secret": "tls" }), "SecretsNotRead"],
    [
      "a compartment that is not configured",
      buildService({ "oci:compartment-id": OTHER_COMPARTMENT }),
      "NotAllowed",
    ],
    ["workload identity", buildService({ "oci:workload-service-account": "sa" }), "NotAllowed"],
    [
      "client addresses with externalTrafficPolicy Cluster",
      buildNetworkService({ "nlb:is-preserve-source": "true" }),
      "InvalidAnnotation",
    ],
    [
      "rule sets for TCP",
      buildService({ "oci:oci-load-balancer-rule-sets": '{"r":{"items":[{"action":"ALLOW"}]}}' }),
      "InvalidAnnotation",
    ],
    [
      "IPv6 without an IPv6 subnet",
      buildNetworkService({ "nlb:assigned-ipv6": "2603:c020::1" }),
      "InvalidAnnotation",
    ],
    [
      "five groups in addition to the managed one",
      buildService({ [MODE]: "NSG", "oci:oci-network-security-groups": GROUPS }),
      "InvalidAnnotation",
    ],
    ["a UID that contains a path", buildService({}, {}, { uid: "../x" }), "InvalidField"],
  ])("%s is rejected", (_, service, code) => {
    const step = ociLoadBalancerModel.precheck(buildQuestion(service), buildSettings());
    expect(step).toMatchObject({ kind: "refused", issue: { code } });
    expect(Object.keys(ISSUES)).toContain(code);
  });

  test("a Service without a subnet is rejected", () => {
    const step = ociLoadBalancerModel.precheck(
      buildQuestion(buildService()),
      buildSettings({ loadBalancer: {} }),
    );
    expect(step).toMatchObject({
      issue: { code: "InvalidAnnotation", field: expect.stringMatching(/subnet1$/) },
    });
  });

  test("the Warning about security lists names the setting", () => {
    const step = ociLoadBalancerModel.precheck(buildQuestion(buildService({ [MODE]: "" })), buildSettings());
    const [field = ""] = Object.keys(buildAnnotations({ [MODE]: "" }));
    expect(step).toMatchObject({ issue: { field, allowed: `${field} as NSG or None` } });
  });

  test.each([
    [
      "None as configured",
      buildService({ [MODE]: "" }),
      { subnet1: "s", securityListManagementMode: "None" },
    ],
    ["NSG as configured", buildService({ [MODE]: "" }), { subnet1: "s", securityListManagementMode: "NSG" }],
    ["nothing of a network load balancer", buildNetworkService({ [MODE]: "" }), { subnet1: "s" }],
    [
      "the annotation over what is configured",
      buildService(),
      { subnet1: "s", securityListManagementMode: "All" },
    ],
    [
      "an older annotation",
      buildService({ [MODE]: "", "lb:security-list-management-mode": "None" }),
      { subnet1: "s" },
    ],
    [
      "a compartment that is configured",
      buildService({ "oci:compartment-id": OTHER_COMPARTMENT }),
      { subnet1: "s" },
    ],
    [
      "both families, if one is enough",
      buildService({}, { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" }),
      { subnet1: "s" },
    ],
  ])("accepts subnets with %s", (_, service, loadBalancer) => {
    const cloud = buildSettings({ loadBalancer, compartments: [OTHER_COMPARTMENT] });
    expect(ociLoadBalancerModel.precheck(buildQuestion(service), cloud)).toBeUndefined();
  });

  test("a Service with a class belongs to another controller, and a deleted one is not validated", () => {
    const classy = buildService({}, { loadBalancerClass: "example.com/lb" });
    expect(ociLoadBalancerModel.precheck(buildQuestion(classy), buildSettings())).toEqual({
      kind: "foreign",
    });
    const leaving = { service: buildService({ [MODE]: "SL-All" }), wanted: false, nodes: [] };
    expect(ociLoadBalancerModel.precheck(leaving, buildSettings())).toBeUndefined();
  });
});

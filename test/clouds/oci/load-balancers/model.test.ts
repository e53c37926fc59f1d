import { expect, test } from "vitest";
import { describeOnOci, toIssue } from "#clouds/oci/load-balancers/model.ts";
import type { OciState } from "#clouds/oci/load-balancers/state.ts";
import { buildService, buildSettings, CLUSTER } from "#test/clouds/oci/load-balancers/service.ts";

const NOTHING: OciState = { found: [], groups: [], named: {}, subnets: {}, addresses: {} };

const seen = (cluster: string): OciState => ({
  ...NOTHING,
  found: [
    {
      kind: "lb",
      isBusy: true,
      failure: "a work request failed: no",
      balancer: {
        ...{
          id: "ocid1.loadbalancer.oc1.phx.b1",
          compartmentId: "c",
          displayName: "n",
          lifecycleState: "ACTIVE",
        },
        ipAddresses: [{ ipAddress: "203.0.113.1", isPublic: true }],
        listeners: { "TCP-80": { defaultBackendSetName: "TCP-80", port: 80, protocol: "TCP" } },
        backendSets: {
          "TCP-80": { policy: "ROUND_ROBIN", backends: [], healthChecker: { protocol: "HTTP" } },
        },
        freeformTags: { "serverless-ccm-cluster": cluster },
      },
    },
  ],
});

test.each([
  [NOTHING, "none"],
  [seen(CLUSTER), "service"],
  [seen("tenant-b"), "other"],
  [{ ...NOTHING, several: ["a", "b"] }, "other"],
] as const)("the existing parts are described %#", (state, belongsTo) => {
  expect(describeOnOci(buildService(), state, buildSettings()).belongsTo).toBe(belongsTo);
});

test("each part has a line", () => {
  expect(describeOnOci(buildService(), seen(CLUSTER), buildSettings()).lines).toEqual([
    "load balancer ocid1.loadbalancer.oc1.phx.b1, ACTIVE, at 203.0.113.1",
    "listener TCP-80: TCP:80 to TCP-80",
    "backend set TCP-80: 0 backends",
    "a work request is not done",
    "a work request failed: no",
  ]);
});

test.each([
  ["lb:CreateLoadBalancer", "LimitExceeded", "QuotaExceeded"],
  ["vcn:CreateNetworkSecurityGroup", "QuotaExceeded", "QuotaExceeded"],
  ["lb:UpdateRuleSet", "InvalidParameter", "InvalidAnnotation"],
  ["lb:UpdateRuleSet", "IncorrectState", undefined],
  ["lb:CreateListener", "InvalidParameter", undefined],
  ["lb:CreateListener", undefined, undefined],
])("%s rejected with %s is %s", (action, reason, code) => {
  expect(toIssue({ action, target: "x", parameters: {} }, { reason }, buildService())?.code).toBe(code);
});

import { expect, test } from "vitest";
import {
  formatLoadBalancerName,
  formatManagedGroupName,
  formatTargetGroupName,
  type TargetGroupNaming,
} from "#clouds/aws/load-balancers/names.ts";
import { formatSharedGroupName } from "#clouds/aws/load-balancers/network/shared-group.ts";

const BASE: TargetGroupNaming = {
  clusterTag: "cluster-a",
  namespace: "default",
  name: "service-a",
  servicePort: 80,
  nodePort: 8080,
  protocol: "TCP",
  targetType: "instance",
  healthCheckProtocol: "",
  healthCheckIntervalSeconds: 0,
};

/** The first nine are the stock controller's own vectors; the last two were made with coreutils' sha1sum. */
test.each<[Partial<TargetGroupNaming>, string]>([
  [{}, "k8s-default-servicea-7fa2e07508"],
  [{ clusterTag: "cluster-b" }, "k8s-default-servicea-719ee635da"],
  [{ namespace: "another" }, "k8s-another-servicea-f66e09847d"],
  [{ name: "service-b" }, "k8s-default-serviceb-196c19c881"],
  [{ servicePort: 9090 }, "k8s-default-servicea-06876706cb"],
  [{ nodePort: 9090 }, "k8s-default-servicea-119f844ec0"],
  [{ protocol: "UDP" }, "k8s-default-servicea-3868761686"],
  [{ targetType: "ip" }, "k8s-default-servicea-0fa31f4b0f"],
  [
    { targetType: "ip", healthCheckProtocol: "HTTP", healthCheckIntervalSeconds: 10 },
    "k8s-default-servicea-4028e49618",
  ],
  [
    { ...web(80, 30080, "TCP"), healthCheckProtocol: "TCP", healthCheckIntervalSeconds: 30 },
    "k8s-default-web-7d2505df92",
  ],
  [
    { ...web(443, 30443, "TLS"), healthCheckProtocol: "HTTP", healthCheckIntervalSeconds: 10 },
    "k8s-default-web-34ac97b7ea",
  ],
])("a target group of %j has the stock controller's name", (of, name) => {
  expect(formatTargetGroupName({ ...BASE, ...of })).toBe(name);
});

/** The last was made with sha256sum. */
test.each([
  ["consistent-cluster", "hash-ns", "hash-test", "deterministic-uid", "k8s-hashns-hashtest-4f98483bd9"],
  ["consistent-cluster", "hash-ns", "hash-test", "different-uid", "k8s-hashns-hashtest-7e5f9fc305"],
  ["kubernetes", "default", "web", "3f0e6a52-8d1b-4c7e-9a44-0b1c2d3e4f50", "k8s-default-web-a306cb4688"],
])("the managed group of %s %s/%s %s is %s", (clusterName, namespace, name, uid, group) => {
  expect(formatManagedGroupName({ clusterName, namespace, name, uid })).toBe(group);
});

test("a load balancer's name comes from the uid alone, and always satisfies AWS's rules", () => {
  expect(formatLoadBalancerName("3f0e6a52-8d1b-4c7e-9a44-0b1c2d3e4f50")).toBe(
    "a3f0e6a528d1b4c7e9a440b1c2d3e4f5",
  );
  expect(formatLoadBalancerName("a/b")).toBeUndefined();
});

test("the shared group's name comes from the cluster's tag, with any characters", () => {
  expect(formatSharedGroupName("prod")).toMatch(/^k8s-backend-prod-[\da-f]{10}$/);
  expect(formatSharedGroupName("a.b")).not.toBe(formatSharedGroupName("ab"));
  expect(formatSharedGroupName("x".repeat(200)).length).toBeLessThanOrEqual(255);
});

function web(servicePort: number, nodePort: number, protocol: string): Partial<TargetGroupNaming> {
  return { clusterTag: "prod", name: "web", servicePort, nodePort, protocol };
}

import { expect, test } from "vitest";
import { AwsCloudConfig } from "#clouds/aws/config.ts";
import { ALLOW_NOTHING } from "#test/clouds/aws/load-balancers/vpc/builders.ts";

const BASE = { provider: "aws", region: "eu-central-1", vpc: "vpc-1" };

test("the defaults of load balancers are those of the stock controller, and allow nothing of others", () => {
  expect(AwsCloudConfig.parse(BASE)).toMatchObject({
    legacyClusterTag: false,
    disableSecurityGroupIngress: false,
    clusterServiceLoadBalancerHealthProbeMode: "ServiceNodePort",
    clusterServiceSharedLoadBalancerHealthProbePort: 10256,
    clusterServiceSharedLoadBalancerHealthProbePath: "/healthz",
    replaceOnTypeChange: false,
    sharedBackendSecurityGroup: false,
    serviceNodePortRange: "30000-32767",
    allow: ALLOW_NOTHING,
  });
});

test.each([
  ["a subnet", { subnetID: "subnet-0a1" }],
  ["a group for classic load balancers", { elbSecurityGroup: "sg-0a1" }],
  ["managed groups", { nlbSecurityGroupMode: "Managed" }],
  [
    "resources by id and by tag",
    { allow: { subnets: ["subnet-1", { tag: "team", value: "a" }, { tag: "shared" }] } },
  ],
  ["security groups of nodes", { allow: { nodeSecurityGroups: ["sg-1", { tag: "team", value: "a" }] } }],
  ["the API server's own node ports", { serviceNodePortRange: "20000-22767" }],
  [
    "certificates by the beginning of their ARN",
    { allow: { certificates: ["arn:aws:acm:eu-central-1:1:*"] } },
  ],
])("%s may be configured", (_, keys) => {
  expect(AwsCloudConfig.parse({ ...BASE, ...keys })).toMatchObject(keys);
});

test.each<[path: string, keys: object]>([
  ["subnetID", { subnetID: "my-subnet" }],
  ["elbSecurityGroup", { elbSecurityGroup: "default" }],
  ["nlbSecurityGroupMode", { nlbSecurityGroupMode: "managed" }],
  ["clusterServiceLoadBalancerHealthProbeMode", { clusterServiceLoadBalancerHealthProbeMode: "shared" }],
  ["clusterServiceSharedLoadBalancerHealthProbePort", { clusterServiceSharedLoadBalancerHealthProbePort: 0 }],
  [
    "clusterServiceSharedLoadBalancerHealthProbePath",
    { clusterServiceSharedLoadBalancerHealthProbePath: "healthz" },
  ],
  ["allow.certificates.0", { allow: { certificates: [{ tag: "a" }] } }],
  ["allow.buckets.0", { allow: { buckets: [""] } }],
  ["allow.nodeSecurityGroups.0", { allow: { nodeSecurityGroups: [{ value: "a" }] } }],
  ...["", "30000", "0-10", "32767-30000", "30000-65536", "30000-32767,80"].map(
    (serviceNodePortRange): [string, object] => ["serviceNodePortRange", { serviceNodePortRange }],
  ),
  ["allow", { allow: { everything: true } }],
  ["sharedBackendSecurityGroup", { sharedBackendSecurityGroup: true, disableSecurityGroupIngress: true }],
])("%s is rejected if it cannot be valid", (path, keys) => {
  const parsed = AwsCloudConfig.safeParse({ ...BASE, ...keys });
  expect(parsed.error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
});

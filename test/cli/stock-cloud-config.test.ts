import { expect, test } from "vitest";
import { parse } from "yaml";
import { parseCloudConfig, translateStockConfig } from "#config/cloud-config.ts";

const INI = `
; of the stock controller
[Global]
Zone = us-west-2-lax-1a
Region = eu-central-1
VPC=vpc-0a ; ours
subnetid=subnet-1
RouteTableID=rtb-1
RoleARN="arn:aws:iam::123456789012:role/a-role-with-a-name-that-is-longer-than-a-line-of-eighty-characters"
SourceARN=arn:aws:eks:eu-central-1:123456789012:cluster/a
KubernetesClusterID=tenant-a
NodeIPFamilies=ipv6
NodeIPFamilies=ipv4
SupportedTopologyInstanceTypePattern=^p5
DisableSecurityGroupIngress=Yes
ElbSecurityGroup=sg-1
NLBSecurityGroupMode=Managed
ClusterServiceLoadBalancerHealthProbeMode=Shared
ClusterServiceSharedLoadBalancerHealthProbePort=9000
ClusterServiceSharedLoadBalancerHealthProbePath=/live
Unheard = of

[ServiceOverride "1"]
Region=eu-west-1
`;

test("the stock controller's INI is translated to equivalent YAML", () => {
  const { yaml, leftOut } = translateStockConfig(INI);
  expect(parse(yaml)).toEqual({
    region: "us-west-2",
    vpc: "vpc-0a",
    clusterTag: "tenant-a",
    roleArn:
      "arn:aws:iam::123456789012:role/a-role-with-a-name-that-is-longer-than-a-line-of-eighty-characters",
    sourceArn: "arn:aws:eks:eu-central-1:123456789012:cluster/a",
    nodeIPFamilies: ["ipv6", "ipv4"],
    topologyInstanceTypePattern: "^p5",
    subnetID: "subnet-1",
    routeTableIDs: ["rtb-1"],
    disableSecurityGroupIngress: true,
    elbSecurityGroup: "sg-1",
    nlbSecurityGroupMode: "Managed",
    clusterServiceLoadBalancerHealthProbeMode: "Shared",
    clusterServiceSharedLoadBalancerHealthProbePort: 9000,
    clusterServiceSharedLoadBalancerHealthProbePath: "/live",
  });
  expect(leftOut).toEqual(["Unheard", '[ServiceOverride "1"] Region']);
  expect(parseCloudConfig("aws", yaml, {}).kind).toBe("cloud");
});

test.each([
  ["KubernetesClusterTag=a", { clusterTag: "a", legacyClusterTag: true }],
  ["KubernetesClusterID=a", { clusterTag: "a" }],
  ["DisableSecurityGroupIngress=0", { disableSecurityGroupIngress: false }],
  ["DisableSecurityGroupIngress=perhaps", { disableSecurityGroupIngress: "perhaps" }],
  ["ElbSecurityGroup=", {}],
  ["KubernetesClusterTag=", {}],
  ["ClusterServiceSharedLoadBalancerHealthProbePort=0", {}],
  [
    "ClusterServiceSharedLoadBalancerHealthProbePort=x",
    { clusterServiceSharedLoadBalancerHealthProbePort: "x" },
  ],
])("of load balancers and tags: %s", (line, expected) => {
  const translated = translateStockConfig(`[Global]\n${line}\n`);
  expect(parse(translated.yaml)).toEqual(expected);
  expect(translated.leftOut).toEqual([]);
});

test("a region is used for a missing zone", () => {
  expect(parse(translateStockConfig("[Global]\nRegion=eu-central-1\n").yaml)).toEqual({
    region: "eu-central-1",
  });
});

test("a cloud-config in that format is a fault that shows the YAML, and the only one", () => {
  expect(parseCloudConfig("aws", "[Global]\nZone=eu-central-1a\nVPC=vpc-0a\nSomething=else\n", {})).toEqual({
    kind: "faults",
    faults: [
      {
        name: "--cloud-config",
        message:
          "is INI, as the stock controller reads it; write it as YAML:\n      region: eu-central-1\n      vpc: vpc-0a\n    without Something, which nothing here corresponds to",
      },
    ],
  });
});

import { expect, test } from "vitest";
import { toIssue } from "#clouds/aws/load-balancers/model.ts";
import { Service } from "#core/service/service.ts";

const PREFIX = "service.beta.kubernetes.io/aws-load-balancer-";

function service(annotations: Readonly<Record<string, string>>): Service {
  const named = Object.entries(annotations).map(([suffix, value]) => [`${PREFIX}${suffix}`, value]);
  return Service.parse({
    metadata: {
      namespace: "default",
      name: "web",
      uid: "uid-1",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      annotations: Object.fromEntries(named),
    },
    spec: {},
  });
}

const NAMED = { "ssl-cert": "arn:1", subnets: "subnet-1", "access-log-s3-bucket-name": "logs" };

test.each([
  ["elbv2:CreateListener", "CertificateNotFound", "CertificateNotUsable", "ssl-cert", "arn:1"],
  [
    "elb:SetLoadBalancerListenerSSLCertificate",
    "CertificateNotFound",
    "CertificateNotUsable",
    "ssl-cert",
    "arn:1",
  ],
  ["elbv2:CreateLoadBalancer", "SubnetNotFound", "SubnetNotFound", "subnets", "subnet-1"],
  [
    "elbv2:ModifyLoadBalancerAttributes",
    "InvalidConfigurationRequest",
    "BucketNotUsable",
    "access-log-s3-bucket-name",
    "logs",
  ],
])("%s: %s is %s of annotation %s", (action, reason, code, suffix, value) => {
  const refused = toIssue({ action, target: "web", parameters: {} }, { reason }, service(NAMED));
  expect(refused).toEqual({ code, field: `${PREFIX}${suffix}`, value });
});

test.each([
  ["ec2:AuthorizeSecurityGroupIngress", "RulesPerSecurityGroupLimitExceeded", "TooManyRules"],
  ["elbv2:CreateLoadBalancer", "TooManyLoadBalancers", "QuotaExceeded"],
  ["elb:CreateLoadBalancer", "TooManyAccessPoints", "QuotaExceeded"],
  ["ec2:CreateSecurityGroup", "SecurityGroupLimitExceeded", "QuotaExceeded"],
  ["elbv2:RegisterTargets", "TooManyTargets", "TooManyTargets"],
  ["elbv2:CreateLoadBalancer", "AvailabilityZoneNotSupported", "NoEligibleSubnet"],
  // Enabled after the observation, or attributes were not observed.
  ["elbv2:DeleteLoadBalancer", "OperationNotPermitted", "DeletionProtected"],
])("%s: %s is %s", (action, reason, code) => {
  expect(toIssue({ action, target: "web", parameters: {} }, { reason }, service({}))).toEqual({ code });
});

test.each([
  // No group was named: a new one of ours is not visible everywhere yet.
  ["elbv2:CreateLoadBalancer", "InvalidSecurityGroup"],
  ["elbv2:CreateListener", "InvalidConfigurationRequest"],
  ["elbv2:CreateListener", "TargetGroupNotFound"],
  ["elbv2:CreateListener", "DuplicateListener"],
  ["elbv2:CreateListener", "toString"],
  ["elbv2:ModifyLoadBalancerAttributes", "OperationNotPermitted"],
  ["elbv2:CreateListener", undefined],
  // Throttles, whose codes look like those of quotas.
  ["ec2:AuthorizeSecurityGroupIngress", "RequestLimitExceeded"],
  ["ec2:CreateSecurityGroup", "BandwidthLimitExceeded"],
  ["elbv2:CreateLoadBalancer", "TooManyRequestsException"],
  ["elbv2:CreateLoadBalancer", "TooManySomethingsNew"],
])("%s: %s is no issue that a user can fix", (action, reason) => {
  expect(toIssue({ action, target: "web", parameters: {} }, { reason }, service({}))).toBeUndefined();
});

test.each([
  [
    "a rule for one load balancer's clients",
    { IpRanges: [{ CidrIp: "0.0.0.0/0", Description: "kubernetes.io/rule/nlb/client=a1" }] },
    "TooManyNodeRules",
  ],
  [
    "a rule for the group of a classic load balancer",
    { UserIdGroupPairs: [{ GroupId: "sg-1" }] },
    "TooManyNodeRules",
  ],
  ["a rule of the load balancer's own group", { IpRanges: [{ CidrIp: "0.0.0.0/0" }] }, "TooManyRules"],
])("a used-up quota for %s names the owner of the limit", (_, peers, code) => {
  const parameters = {
    GroupId: "sg-nodes",
    IpPermissions: [{ IpProtocol: "tcp", FromPort: 1, ToPort: 1, ...peers }],
  };
  const action = { action: "ec2:AuthorizeSecurityGroupIngress", target: "sg-nodes", parameters };
  expect(toIssue(action, { reason: "RulesPerSecurityGroupLimitExceeded" }, service({}))).toEqual({ code });
});

import { expect, test } from "vitest";
import { answerError } from "#clouds/aws/actions/answer-error.ts";
import { awsError } from "#test/clouds/aws/ec2-world.ts";

const NONE = {};
const one = {
  Targets: [{ Id: "i-1" }],
  IpPermissions: [{ IpRanges: [{}] }],
  Resources: ["i-1"],
  Instances: [{}],
};
const two = {
  Targets: [{ Id: "i-1" }, { Id: "i-2" }],
  IpPermissions: [{ IpRanges: [{}], Ipv6Ranges: [{}] }],
  Resources: ["i-1", "i-2"],
  Instances: [{}, {}],
};

test.each([
  // Somebody was there first, or what is there is another thing than was presupposed.
  ["ec2:CreateSecurityGroup", NONE, "InvalidGroup.Duplicate", 400, "conflict"],
  // What one rule is to let in is let in; of several nobody knows which is there.
  ["ec2:AuthorizeSecurityGroupIngress", one, "InvalidPermission.Duplicate", 400, "done"],
  ["ec2:AuthorizeSecurityGroupIngress", two, "InvalidPermission.Duplicate", 400, "conflict"],
  ["ec2:AuthorizeSecurityGroupIngress", NONE, "InvalidPermission.Duplicate", 400, "conflict"],
  ["ec2:AuthorizeSecurityGroupIngress", one, "InvalidGroup.NotFound", 400, "conflict"],
  ["ec2:CreateRoute", NONE, "RouteAlreadyExists", 400, "conflict"],
  ["elbv2:CreateLoadBalancer", NONE, "DuplicateLoadBalancerNameException", 400, "conflict"],
  ["elbv2:CreateTargetGroup", NONE, "DuplicateTargetGroupNameException", 400, "conflict"],
  ["elbv2:CreateListener", NONE, "DuplicateListenerException", 400, "conflict"],
  ["elbv2:CreateListener", NONE, "TargetGroupNotFoundException", 400, "conflict"],
  ["elbv2:RegisterTargets", two, "InvalidTargetException", 400, "conflict"],
  ["elb:CreateLoadBalancer", NONE, "DuplicateAccessPointNameException", 400, "conflict"],
  ["elb:CreateLoadBalancerPolicy", NONE, "DuplicatePolicyNameException", 400, "conflict"],
  ["elb:RegisterInstancesWithLoadBalancer", two, "InvalidEndPointException", 400, "conflict"],
  // What was to go is gone.
  ["ec2:DeleteSecurityGroup", NONE, "InvalidGroup.NotFound", 400, "done"],
  ["ec2:DeleteRoute", NONE, "InvalidRoute.NotFound", 400, "done"],
  ["ec2:RevokeSecurityGroupIngress", one, "InvalidPermission.NotFound", 400, "done"],
  ["ec2:RevokeSecurityGroupIngress", two, "InvalidGroup.NotFound", 400, "done"],
  ["ec2:DeleteTags", one, "InvalidInstanceID.NotFound", 400, "done"],
  ["elbv2:DeleteLoadBalancer", NONE, "LoadBalancerNotFoundException", 400, "done"],
  ["elbv2:DeleteTargetGroup", NONE, "TargetGroupNotFoundException", 400, "done"],
  ["elbv2:DeleteListener", NONE, "ListenerNotFoundException", 400, "done"],
  ["elbv2:DeregisterTargets", one, "InvalidTargetException", 400, "done"],
  ["elbv2:DeregisterTargets", two, "TargetGroupNotFoundException", 400, "done"],
  ["elb:DeleteLoadBalancer", NONE, "AccessPointNotFoundException", 400, "done"],
  ["elb:DeregisterInstancesFromLoadBalancer", two, "AccessPointNotFoundException", 400, "done"],
  // One of several is gone: nothing was done to the others.
  ["ec2:RevokeSecurityGroupIngress", two, "InvalidPermission.NotFound", 400, "conflict"],
  ["ec2:DeleteTags", two, "InvalidInstanceID.NotFound", 400, "conflict"],
  ["elbv2:DeregisterTargets", two, "InvalidTargetException", 400, "conflict"],
  ["elb:DeregisterInstancesFromLoadBalancer", two, "InvalidEndPointException", 400, "conflict"],
  // It is still in use, or AWS is at it.
  ["ec2:DeleteSecurityGroup", NONE, "DependencyViolation", 400, "Unavailable"],
  ["ec2:DeleteSecurityGroup", NONE, "InvalidGroup.InUse", 400, "Unavailable"],
  ["elbv2:DeleteTargetGroup", NONE, "ResourceInUseException", 400, "Unavailable"],
  ["elbv2:SetSubnets", NONE, "OperationInProgress", 400, "Unavailable"],
  // Too fast.
  ["ec2:CreateRoute", NONE, "RequestLimitExceeded", 503, "Throttled"],
  ["elbv2:CreateListener", NONE, "ThrottlingException", 400, "Throttled"],
  ["elb:AddTags", NONE, "Throttling", 400, "Throttled"],
  ["elb:CreateLoadBalancer", NONE, "DependencyThrottleException", 400, "Throttled"],
  // As many as there may be.
  ["ec2:CreateRoute", NONE, "RouteLimitExceeded", 400, "Invalid"],
  ["ec2:AuthorizeSecurityGroupIngress", one, "RulesPerSecurityGroupLimitExceeded", 400, "Invalid"],
  ["elbv2:CreateLoadBalancer", NONE, "TooManyLoadBalancersException", 400, "Invalid"],
  ["elbv2:CreateListener", NONE, "TargetGroupAssociationLimitException", 400, "Invalid"],
  ["elb:CreateLoadBalancer", NONE, "TooManyAccessPointsException", 400, "Invalid"],
  // What is asked for cannot be.
  ["elbv2:CreateTargetGroup", NONE, "ValidationError", 400, "Invalid"],
  ["elbv2:CreateListener", NONE, "UnsupportedProtocolException", 400, "Invalid"],
  ["elbv2:DeleteLoadBalancer", NONE, "OperationNotPermittedException", 400, "Invalid"],
  ["elb:CreateLoadBalancer", NONE, "InvalidSubnetException", 400, "Invalid"],
  // Not for us.
  ["ec2:CreateSecurityGroup", NONE, "UnauthorizedOperation", 403, "Denied"],
  ["elbv2:CreateLoadBalancer", NONE, "AccessDenied", 403, "Denied"],
  ["elb:AddTags", NONE, "SomethingNew", 403, "Denied"],
  // It passes.
  ["elb:AddTags", NONE, "InternalFailure", 500, "Unavailable"],
  ["elbv2:CreateLoadBalancer", NONE, "TimeoutError", undefined, "Unavailable"],
] as const)("%s of %j: %s is %s", (action, parameters, name, status, expected) => {
  const answer = answerError(
    action,
    parameters,
    awsError(name, status as number, "by the test\nand a stack"),
  );
  expect(answer.kind === "error" ? answer.code : answer.kind).toBe(expected);
  if (answer.kind !== "done")
    expect(answer.message).toBe(`${action}: ${name.replace("Exception", "")}: by the test`);
});

test("the code that was sent wins over the SDK's name for it", () => {
  const error = Object.assign(awsError("SomeNameOfTheModel", 400), { Error: { Code: "DuplicateListener" } });
  expect(answerError("elb:CreateLoadBalancerListeners", {}, error)).toMatchObject({ kind: "conflict" });
});

test("what is no error at all is an answer that is missing", () => {
  expect(answerError("elb:AddTags", {}, "gone")).toEqual({
    kind: "error",
    code: "Unavailable",
    message: "elb:AddTags: gone",
  });
});

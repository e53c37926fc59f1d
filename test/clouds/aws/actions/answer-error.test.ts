import { expect, test } from "vitest";
import { toActionAnswer } from "#clouds/aws/actions/perform.ts";
import { createAwsError } from "#test/clouds/aws/ec2-world.ts";

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
  // Another actor made the change first, or the resource is not what the request assumes.
  ["ec2:CreateSecurityGroup", NONE, "InvalidGroup.Duplicate", 400, "conflict"],
  // A request with one rule: the rule exists, so it is done. With several rules it is unknown which exist.
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
  // The resource to delete is gone.
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
  // One of several rules is gone: AWS did not touch the others.
  ["ec2:RevokeSecurityGroupIngress", two, "InvalidPermission.NotFound", 400, "conflict"],
  ["ec2:DeleteTags", two, "InvalidInstanceID.NotFound", 400, "conflict"],
  ["elbv2:DeregisterTargets", two, "InvalidTargetException", 400, "conflict"],
  ["elb:DeregisterInstancesFromLoadBalancer", two, "InvalidEndPointException", 400, "conflict"],
  // The resource is still in use, or AWS is still working on it.
  ["ec2:DeleteSecurityGroup", NONE, "DependencyViolation", 400, "Unavailable"],
  ["ec2:DeleteSecurityGroup", NONE, "InvalidGroup.InUse", 400, "Unavailable"],
  ["elbv2:DeleteTargetGroup", NONE, "ResourceInUseException", 400, "Unavailable"],
  ["elbv2:SetSubnets", NONE, "OperationInProgress", 400, "Unavailable"],
  // Too many requests.
  ["ec2:CreateRoute", NONE, "RequestLimitExceeded", 503, "Throttled"],
  ["elbv2:CreateListener", NONE, "ThrottlingException", 400, "Throttled"],
  ["elb:AddTags", NONE, "Throttling", 400, "Throttled"],
  ["elb:CreateLoadBalancer", NONE, "DependencyThrottleException", 400, "Throttled"],
  // A quota is used up.
  ["ec2:CreateRoute", NONE, "RouteLimitExceeded", 400, "Invalid"],
  ["ec2:AuthorizeSecurityGroupIngress", one, "RulesPerSecurityGroupLimitExceeded", 400, "Invalid"],
  ["elbv2:CreateLoadBalancer", NONE, "TooManyLoadBalancersException", 400, "Invalid"],
  ["elbv2:CreateListener", NONE, "TargetGroupAssociationLimitException", 400, "Invalid"],
  ["elb:CreateLoadBalancer", NONE, "TooManyAccessPointsException", 400, "Invalid"],
  // The request is invalid.
  ["elbv2:CreateTargetGroup", NONE, "ValidationError", 400, "Invalid"],
  ["elbv2:CreateListener", NONE, "UnsupportedProtocolException", 400, "Invalid"],
  ["elbv2:DeleteLoadBalancer", NONE, "OperationNotPermittedException", 400, "Invalid"],
  ["elb:CreateLoadBalancer", NONE, "InvalidSubnetException", 400, "Invalid"],
  // Not permitted.
  ["ec2:CreateSecurityGroup", NONE, "UnauthorizedOperation", 403, "Denied"],
  ["elbv2:CreateLoadBalancer", NONE, "AccessDenied", 403, "Denied"],
  ["elb:AddTags", NONE, "SomethingNew", 403, "Denied"],
  // A passing failure.
  ["elb:AddTags", NONE, "InternalFailure", 500, "Unavailable"],
  ["elbv2:CreateLoadBalancer", NONE, "TimeoutError", undefined, "Unavailable"],
] as const)("%s of %j: %s is %s", (action, parameters, name, status, expected) => {
  const answer = toActionAnswer(
    action,
    parameters,
    createAwsError(name, status as number, "by the test\nand a stack"),
  );
  expect(answer.kind === "error" ? answer.code : answer.kind).toBe(expected);
  if (answer.kind !== "done")
    expect(answer.message).toBe(`${action}: ${name.replace("Exception", "")}: by the test`);
});

test("the code in the response wins over the SDK's name for it", () => {
  const error = Object.assign(createAwsError("SomeNameOfTheModel", 400), {
    Error: { Code: "DuplicateListener" },
  });
  expect(toActionAnswer("elb:CreateLoadBalancerListeners", {}, error)).toMatchObject({ kind: "conflict" });
});

test("a thrown value that is not an error counts as a missing answer", () => {
  expect(toActionAnswer("elb:AddTags", {}, "gone")).toEqual({
    kind: "error",
    code: "Unavailable",
    message: "elb:AddTags: gone",
  });
});

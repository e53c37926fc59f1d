import type * as ec2 from "@aws-sdk/client-ec2";
import type * as elb from "@aws-sdk/client-elastic-load-balancing";
import type * as elbv2 from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Api } from "#clouds/aws/actions/api.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { Session } from "#clouds/aws/session.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Read operations for load balancers by `service:Operation`: request and answer. */
export interface AwsReads {
  "ec2:DescribeInstances": [ec2.DescribeInstancesRequest, ec2.DescribeInstancesResult];
  "ec2:DescribeSubnets": [ec2.DescribeSubnetsRequest, ec2.DescribeSubnetsResult];
  "ec2:DescribeRouteTables": [ec2.DescribeRouteTablesRequest, ec2.DescribeRouteTablesResult];
  "ec2:DescribeSecurityGroups": [ec2.DescribeSecurityGroupsRequest, ec2.DescribeSecurityGroupsResult];
  "ec2:DescribeNetworkInterfaces": [
    ec2.DescribeNetworkInterfacesRequest,
    ec2.DescribeNetworkInterfacesResult,
  ];
  "ec2:DescribeAddresses": [ec2.DescribeAddressesRequest, ec2.DescribeAddressesResult];
  "ec2:DescribeAvailabilityZones": [
    ec2.DescribeAvailabilityZonesRequest,
    ec2.DescribeAvailabilityZonesResult,
  ];
  "elbv2:DescribeLoadBalancers": [elbv2.DescribeLoadBalancersInput, elbv2.DescribeLoadBalancersOutput];
  "elbv2:DescribeLoadBalancerAttributes": [
    elbv2.DescribeLoadBalancerAttributesInput,
    elbv2.DescribeLoadBalancerAttributesOutput,
  ];
  "elbv2:DescribeListeners": [elbv2.DescribeListenersInput, elbv2.DescribeListenersOutput];
  "elbv2:DescribeTags": [elbv2.DescribeTagsInput, elbv2.DescribeTagsOutput];
  "elbv2:DescribeTargetGroups": [elbv2.DescribeTargetGroupsInput, elbv2.DescribeTargetGroupsOutput];
  "elbv2:DescribeTargetGroupAttributes": [
    elbv2.DescribeTargetGroupAttributesInput,
    elbv2.DescribeTargetGroupAttributesOutput,
  ];
  "elbv2:DescribeTargetHealth": [elbv2.DescribeTargetHealthInput, elbv2.DescribeTargetHealthOutput];
  "elb:DescribeLoadBalancers": [elb.DescribeAccessPointsInput, elb.DescribeAccessPointsOutput];
  "elb:DescribeLoadBalancerAttributes": [
    elb.DescribeLoadBalancerAttributesInput,
    elb.DescribeLoadBalancerAttributesOutput,
  ];
  "elb:DescribeLoadBalancerPolicies": [
    elb.DescribeLoadBalancerPoliciesInput,
    elb.DescribeLoadBalancerPoliciesOutput,
  ];
  "elb:DescribeTags": [elb.DescribeTagsInput, elb.DescribeTagsOutput];
}

/** One of these operations. */
export type AwsRead = keyof AwsReads;

/** Sends one read request to AWS, within the budget; never rejects. */
export type Reader = <Name extends AwsRead>(
  name: Name,
  request: AwsReads[Name][0],
) => Promise<Outcome<AwsReads[Name][1]>>;

/** Creates a reader for a session; a broken request is sent once more. */
export function createReader(session: Session<Api>): Reader {
  return <Name extends AwsRead>(name: Name, request: AwsReads[Name][0]) =>
    session.send(getOperation(name), (api, signal) => api.call(name, request, signal)) as Promise<
      Outcome<AwsReads[Name][1]>
    >;
}

/** Maximum pages; a longer listing is a fault. */
const MAX_PAGES = 40;

/** Reads all pages of a listing; `next` is the token of the next page. */
export async function readAllPages<Value>(
  operation: string,
  page: (
    next: string | undefined,
  ) => Promise<Outcome<{ readonly values: readonly Value[] | undefined; readonly next: string | undefined }>>,
): Promise<Outcome<readonly Value[]>> {
  const found: Value[] = [];
  let next: string | undefined;
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const answer = await page(next);
    if (answer.kind === "fault") return answer;
    // The SDK parses any well-formed document, even a proxy's error page, as an object without lists.
    if (answer.value.values === undefined)
      return fault("Unavailable", `${operation}: the answer is not a list`);
    found.push(...answer.value.values);
    next = answer.value.next || undefined;
    if (next === undefined) return ok(found);
  }
  return fault("Unavailable", `${operation}: more than ${MAX_PAGES} pages, the rest is not read`);
}

/** EC2's operations count under their own names, without the service. */
function getOperation(name: AwsRead): Operation {
  return (name.startsWith("ec2:") ? name.slice("ec2:".length) : name) as Operation;
}

/** Combines outcomes that are needed together: all their values, or the first fault. */
export function combineOutcomes<Values extends readonly unknown[]>(
  outcomes: {
    readonly [Place in keyof Values]: Outcome<Values[Place]>;
  },
): Outcome<Values> {
  const values: unknown[] = [];
  for (const outcome of outcomes as readonly Outcome<unknown>[]) {
    if (outcome.kind === "fault") return outcome;
    values.push(outcome.value);
  }
  return ok(values as unknown as Values);
}

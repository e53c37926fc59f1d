import type {
  LoadBalancerAttributes,
  LoadBalancerDescription,
  PolicyDescription,
} from "@aws-sdk/client-elastic-load-balancing";
import { toJson } from "#clouds/aws/actions/to-json.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { combineOutcomes } from "#clouds/aws/load-balancers/observe/combine-outcomes.ts";
import type { ObserveOptions } from "#clouds/aws/load-balancers/observe/network.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/tags.ts";
import type { ClassicLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** Reads the details of a classic load balancer; undefined if it was deleted meanwhile. */
export async function readClassicState(
  loadBalancer: LoadBalancerDescription,
  tags: Pairs,
  { read, depth }: ObserveOptions,
): Promise<Outcome<ClassicLoadBalancerState | undefined>> {
  if (depth === "names") return ok({ loadBalancer: toJson(loadBalancer), tags, policies: [] });
  const name = loadBalancer.LoadBalancerName;
  const details = combineOutcomes<[LoadBalancerAttributes | undefined, readonly PolicyDescription[]]>(
    await Promise.all([
      depth === "targets" ? ok(undefined) : readAttributes(name, read),
      readPolicies(name, read),
    ]),
  );
  if (details.kind === "fault") return isNotFound(details.fault) ? ok(undefined) : details;
  const [attributes, policies] = details.value;
  const knownAttributes = attributes === undefined ? {} : { attributes };
  return ok({ loadBalancer: toJson(loadBalancer), tags, ...knownAttributes, policies });
}

async function readAttributes(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<LoadBalancerAttributes>> {
  const answer = await read("elb:DescribeLoadBalancerAttributes", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { LoadBalancerAttributes: attributes } = answer.value;
  if (attributes === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerAttributes: the answer has no attributes");
  return ok(toJson(attributes));
}

async function readPolicies(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<readonly PolicyDescription[]>> {
  const answer = await read("elb:DescribeLoadBalancerPolicies", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { PolicyDescriptions: policies } = answer.value;
  if (policies === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerPolicies: the answer is not a list");
  return ok(policies.map((policy) => toJson(policy)));
}

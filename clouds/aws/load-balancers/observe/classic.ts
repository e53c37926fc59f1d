import type {
  LoadBalancerAttributes,
  LoadBalancerDescription,
  PolicyDescription,
} from "@aws-sdk/client-elastic-load-balancing";
import { jsonOf } from "#clouds/aws/actions/json-of.ts";
import type { Outcome } from "#clouds/aws/errors.ts";
import { isNotFound } from "#clouds/aws/load-balancers/observe/by-name.ts";
import { gathered } from "#clouds/aws/load-balancers/observe/gathered.ts";
import type { Look } from "#clouds/aws/load-balancers/observe/network.ts";
import type { Reader } from "#clouds/aws/load-balancers/observe/reads.ts";
import type { ClassicLoadBalancerState, Pairs } from "#clouds/aws/load-balancers/state.ts";
import { fault, ok } from "#clouds/outcome.ts";

/** What there is of a classic load balancer beyond itself and its tags; undefined where it has gone meanwhile. */
export async function classicStateOf(
  loadBalancer: LoadBalancerDescription,
  tags: Pairs,
  { read, depth }: Look,
): Promise<Outcome<ClassicLoadBalancerState | undefined>> {
  if (depth === "names") return ok({ loadBalancer: jsonOf(loadBalancer), tags, policies: [] });
  const name = loadBalancer.LoadBalancerName;
  const known = gathered<[LoadBalancerAttributes | undefined, readonly PolicyDescription[]]>(
    await Promise.all([
      depth === "targets" ? ok(undefined) : attributesOf(name, read),
      policiesOf(name, read),
    ]),
  );
  if (known.kind === "fault") return isNotFound(known.fault) ? ok(undefined) : known;
  const [attributes, policies] = known.value;
  const looked = attributes === undefined ? {} : { attributes };
  return ok({ loadBalancer: jsonOf(loadBalancer), tags, ...looked, policies });
}

async function attributesOf(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<LoadBalancerAttributes>> {
  const answer = await read("elb:DescribeLoadBalancerAttributes", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { LoadBalancerAttributes: attributes } = answer.value;
  if (attributes === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerAttributes: the answer holds none");
  return ok(jsonOf(attributes));
}

async function policiesOf(
  name: string | undefined,
  read: Reader,
): Promise<Outcome<readonly PolicyDescription[]>> {
  const answer = await read("elb:DescribeLoadBalancerPolicies", { LoadBalancerName: name });
  if (answer.kind === "fault") return answer;
  const { PolicyDescriptions: policies } = answer.value;
  if (policies === undefined)
    return fault("Unavailable", "elb:DescribeLoadBalancerPolicies: the answer is not a list");
  return ok(policies.map((policy) => jsonOf(policy)));
}

import type { VpcState } from "#clouds/aws/load-balancers/state.ts";
import type { PlanResult } from "#clouds/aws/load-balancers/types.ts";
import { applyVpcResult } from "#clouds/aws/load-balancers/vpc/apply-result.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Plans and applies until nothing is left; as in AWS, an action gives an ID to what it creates. */
export function converge<Value>(
  plan: (vpc: VpcState) => PlanResult<Value>,
  vpc: VpcState,
): {
  readonly vpc: VpcState;
  readonly done: readonly LoadBalancerAction[];
  readonly last: PlanResult<Value>;
} {
  const done: LoadBalancerAction[] = [];
  let current = vpc;
  for (let round = 0; round < 5; round += 1) {
    const last = plan(current);
    if (last.kind !== "act") return { vpc: current, done, last };
    for (const action of last.actions) {
      done.push(action);
      current = applyVpcResult(current, action, { GroupId: "sg-new" });
    }
  }
  throw new Error(`no end: ${JSON.stringify(done)}`);
}

/** Returns the rules of a group as EC2 has them, each as one line. */
export function formatRules(vpc: VpcState, id: string): string[] {
  const ingress = vpc.groups.find(({ group }) => group.GroupId === id)?.ingress ?? [];
  return ingress
    .flatMap(({ IpProtocol, FromPort, ToPort, IpRanges = [], Ipv6Ranges = [], UserIdGroupPairs = [] }) => {
      const head = `${IpProtocol} ${FromPort === undefined ? "all" : `${FromPort}-${ToPort}`}`;
      return [
        ...IpRanges.map((each) => `${head} ${each.CidrIp} ${each.Description ?? ""}`),
        ...Ipv6Ranges.map((each) => `${head} ${each.CidrIpv6} ${each.Description ?? ""}`),
        ...UserIdGroupPairs.map((each) => `${head} ${each.GroupId} ${each.Description ?? ""}`),
      ];
    })
    .map((line) => line.trim())
    .toSorted();
}

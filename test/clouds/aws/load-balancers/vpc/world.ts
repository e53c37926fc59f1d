import type { Piece } from "#clouds/aws/load-balancers/pieces.ts";
import type { VpcState } from "#clouds/aws/load-balancers/state.ts";
import { foldVpc } from "#clouds/aws/load-balancers/vpc/fold.ts";
import type { LoadBalancerAction } from "#core/service/model.ts";

/** Plans, does as planned, and plans again, until nothing is left; as AWS, an action gives what it makes an id. */
export function converged<Value>(
  plan: (vpc: VpcState) => Piece<Value>,
  vpc: VpcState,
): { readonly vpc: VpcState; readonly done: readonly LoadBalancerAction[]; readonly last: Piece<Value> } {
  const done: LoadBalancerAction[] = [];
  let current = vpc;
  for (let round = 0; round < 5; round += 1) {
    const last = plan(current);
    if (last.kind !== "act") return { vpc: current, done, last };
    for (const action of last.actions) {
      done.push(action);
      current = foldVpc(current, action, { GroupId: "sg-new" });
    }
  }
  throw new Error(`no end: ${JSON.stringify(done)}`);
}

/** The rules of a group as EC2 has them, each as one line. */
export function linesOf(vpc: VpcState, id: string): string[] {
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

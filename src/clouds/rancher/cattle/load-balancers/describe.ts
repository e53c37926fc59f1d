import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { CattleState } from "#clouds/rancher/cattle/load-balancers/state.ts";

/** Describes a Service's resources in a Rancher 1.x environment for people. */
export function describeOnCattle(observed: unknown): DescribedLoadBalancer {
  const { balancers, consumed } = CattleState.parse(observed);
  if (balancers.length === 0) return { belongsTo: "none", lines: [] };
  const lines = balancers.flatMap(({ id, name, state, addresses, portRules }) => [
    `load balancer ${name} (${id}): ${state}`,
    `at ${addresses.length === 0 ? "no address yet" : addresses.join(" and ")}`,
    ...[
      ...new Set(
        portRules.map((rule) => `rule ${rule.protocol}:${rule.sourcePort} to node port ${rule.targetPort}`),
      ),
    ],
  ]);
  return { belongsTo: "service", lines: [...lines, `nodes: ${consumed.length}`] };
}

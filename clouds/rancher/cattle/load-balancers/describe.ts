import type { DescribedLoadBalancer } from "#clouds/described.ts";
import { CattleState } from "#clouds/rancher/cattle/load-balancers/state.ts";

/** What an environment of Rancher 1.x has of a Service, in words. */
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

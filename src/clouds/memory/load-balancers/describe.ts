import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";

/** Describes a Service's load balancer in the memory cloud. */
export function describeInMemory(state: unknown): DescribedLoadBalancer {
  const found = MemoryLoadBalancer.nullable().parse(state);
  if (found === null) return { belongsTo: "none", lines: [] };
  const { hostname, listeners, targets } = found;
  return {
    belongsTo: "service",
    lines: [
      `load balancer at ${hostname}`,
      ...listeners.map(
        ({ protocol, port, nodePort }) => `listener ${protocol}:${port} to node port ${nodePort}`,
      ),
      `targets: ${targets.length}`,
    ],
  };
}

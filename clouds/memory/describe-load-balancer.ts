import type { DescribedLoadBalancer } from "#clouds/described.ts";
import { MemoryLoadBalancer } from "#clouds/memory/load-balancer-model.ts";

/** What the memory cloud has of a Service, in words. */
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

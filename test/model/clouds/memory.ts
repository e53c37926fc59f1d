import { createMemoryLoadBalancers } from "#clouds/memory/load-balancers/capability.ts";
import type { MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { ModelCloud } from "../cloud.ts";

/** Creates the memory cloud, where a load balancer is one resource and one request changes it. */
export function createMemoryModelCloud(): ModelCloud {
  const loadBalancers = new Map<string, MemoryLoadBalancer>();
  const isForeign = (id: string): boolean => id.startsWith("foreign");
  const lines = (which: (id: string) => boolean): string[] =>
    [...loadBalancers]
      .filter(([id]) => which(id))
      .map(([id, each]) => `${id} ${formatCanonicalJson(each)}`)
      .sort();
  return {
    capabilities: { loadBalancers: createMemoryLoadBalancers({}, loadBalancers) },
    providerIDs: [1, 2, 3, 4, 5, 6].map((number) => `memory://i-${number}`),
    addForeign(number) {
      const id = `foreign-${number}`;
      loadBalancers.set(id, {
        cluster: "other",
        service: `default/${id}`,
        hostname: `${id}.memory.example`,
        listeners: [{ protocol: "TCP", port: 80, nodePort: 30_000 }],
        targets: ["memory://i-1"],
      });
    },
    drift(number) {
      const ours = [...loadBalancers].filter(([id]) => !isForeign(id));
      const [id, found] = ours[number % Math.max(1, ours.length)] ?? [];
      if (id === undefined || found === undefined) return undefined;
      if (number % 3 === 0) {
        loadBalancers.delete(id);
        return `deletes the load balancer of ${found.service}`;
      }
      loadBalancers.set(
        id,
        number % 3 === 1 ? { ...found, targets: [] } : { ...found, listeners: found.listeners.slice(1) },
      );
      return `changes the load balancer of ${found.service}`;
    },
    foreign: () => lines(isForeign),
    outline: () => lines(() => true),
  };
}

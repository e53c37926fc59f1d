import * as z from "zod";
import type { DescribedLoadBalancer } from "#clouds/diagnosis.ts";
import { formatCanonicalJson } from "#core/hash.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** A load balancer of the memory cloud; its key names its Service. */
export const MemoryLoadBalancer = z.strictObject({
  /** The name of its cluster. */
  cluster: z.string(),
  /** The Service's namespace and name. */
  service: z.string(),
  hostname: z.string(),
  listeners: z.array(z.strictObject({ protocol: z.string(), port: z.int(), nodePort: z.int() })),
  /** Provider IDs, sorted. */
  targets: z.array(z.string()),
  /** The orphan mark; an existing Service's load balancer loses it, because the desired state has none. */
  orphaned: z.string().optional(),
});
export type MemoryLoadBalancer = z.output<typeof MemoryLoadBalancer>;

/** The memory cloud's term for its load balancers. */
export const MEMORY_KIND = "load balancer";

/** The load balancer model of the memory cloud: one for each Service, ready as soon as it is created. */
export const memoryLoadBalancerModel: LoadBalancerModel = {
  precheck({ service, wanted }) {
    if (!wanted) return undefined;
    const { ports = [] } = service.spec;
    if (ports.length === 0) return { kind: "refused", issue: { code: "NoPorts", field: "spec.ports" } };
    const withoutNodePort = ports.findIndex(({ nodePort }) => !nodePort);
    if (withoutNodePort === -1) return undefined;
    return {
      kind: "refused",
      issue: { code: "NoNodePort", field: `spec.ports[${withoutNodePort}].nodePort` },
    };
  },
  planStep(question, observed, { cluster }): LoadBalancerStep {
    const there = MemoryLoadBalancer.nullable().parse(observed);
    // A tenant can forge the uid that identifies a load balancer.
    if (there !== null && there.cluster !== cluster) return question.wanted ? NAME_TAKEN : NOTHING_LEFT;
    return question.wanted
      ? ensure(buildDesiredLoadBalancer(question, cluster), there, question)
      : remove(there, question);
  },
  isImmediatelyVisible: true,
  isVisible: (_question, observed, { cluster }) =>
    MemoryLoadBalancer.nullable().parse(observed)?.cluster === cluster,
  measure({ service }, observed) {
    const there = MemoryLoadBalancer.nullable().parse(observed)?.listeners ?? [];
    const wanted = buildListeners(service.spec);
    return { kind: MEMORY_KIND, missingListeners: Math.max(0, wanted.length - there.length) };
  },
  listLostTargets({ nodes }, observed) {
    const { targets = [] } = MemoryLoadBalancer.nullable().parse(observed) ?? {};
    const wanted = listTargets(nodes);
    return targets.filter((target) => !wanted.includes(target));
  },
  applyResult: (_observed, _action, result) => result,
  describeDesired: ({ spec }) => JSON.stringify(buildListeners(spec)),
  getTarget: ({ providerID }) => providerID,
  orphans: {
    mark: ({ id }, orphaned) => ({ action: "MarkLoadBalancer", target: id, parameters: { orphaned } }),
    unmark: ({ id }) => ({ action: "MarkLoadBalancer", target: id, parameters: {} }),
    planStep({ id }, observed, { cluster }) {
      const there = MemoryLoadBalancer.nullable().parse(observed);
      return there?.cluster !== cluster ? NOTHING_LEFT : buildDelete(id, there);
    },
  },
};

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

function ensure(
  desired: MemoryLoadBalancer,
  there: MemoryLoadBalancer | null,
  { service }: LoadBalancerQuestion,
): LoadBalancerStep {
  if (there !== null && formatCanonicalJson(there) === formatCanonicalJson(desired)) {
    return { kind: "settled", ingress: [{ hostname: there.hostname }], warnings: [] };
  }
  const action = there === null ? "CreateLoadBalancer" : "UpdateLoadBalancer";
  const because = {
    code: action,
    message: `${desired.listeners.length} listeners, ${desired.targets.length} targets`,
  };
  return {
    kind: "act",
    because,
    actions: [{ action, target: service.metadata.uid, parameters: { ...desired } }],
  };
}

function remove(there: MemoryLoadBalancer | null, { service }: LoadBalancerQuestion): LoadBalancerStep {
  return there === null ? NOTHING_LEFT : buildDelete(service.metadata.uid, there);
}

function buildDelete(target: string, { hostname }: MemoryLoadBalancer): LoadBalancerStep {
  const because = { code: "DeleteLoadBalancer", message: hostname };
  return { kind: "act", because, actions: [{ action: "DeleteLoadBalancer", target, parameters: {} }] };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

const NAME_TAKEN: LoadBalancerStep = { kind: "refused", issue: { code: "NameTaken" } };

function buildDesiredLoadBalancer(
  { service, nodes }: LoadBalancerQuestion,
  cluster: string,
): MemoryLoadBalancer {
  const { namespace, name, uid } = service.metadata;
  return {
    cluster,
    service: `${namespace}/${name}`,
    hostname: `${uid}.memory.example`,
    listeners: buildListeners(service.spec),
    targets: listTargets(nodes),
  };
}

function listTargets(nodes: LoadBalancerQuestion["nodes"]): string[] {
  return [...new Set(nodes.flatMap(({ providerID }) => providerID ?? []))].sort();
}

function buildListeners({ ports = [] }: Service["spec"]): MemoryLoadBalancer["listeners"] {
  return ports.map(({ protocol, port, nodePort = 0 }) => ({ protocol, port, nodePort }));
}

import * as z from "zod";
import { canonicalJson } from "#core/hash.ts";
import type { LoadBalancerModel, LoadBalancerQuestion, LoadBalancerStep } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";

/** A load balancer of the memory cloud; which Service it is of its key says. */
export const MemoryLoadBalancer = z.strictObject({
  /** The name of the cluster that it was made for. */
  cluster: z.string(),
  /** The Service's namespace and name. */
  service: z.string(),
  hostname: z.string(),
  listeners: z.array(z.strictObject({ protocol: z.string(), port: z.int(), nodePort: z.int() })),
  /** Provider IDs, sorted. */
  targets: z.array(z.string()),
  /** The mark of an orphan; one of a Service that lives is taken off, as it is no part of what is wanted. */
  orphaned: z.string().optional(),
});
export type MemoryLoadBalancer = z.output<typeof MemoryLoadBalancer>;

/** How the memory cloud calls its load balancers. */
export const MEMORY_KIND = "load balancer";

/** What load balancers are on the memory cloud: one for each Service, which is there as soon as it is made. */
export const memoryLoadBalancerModel: LoadBalancerModel = {
  before({ service, wanted }) {
    if (!wanted) return undefined;
    const { ports = [] } = service.spec;
    if (ports.length === 0) return { kind: "refused", problem: { code: "NoPorts", field: "spec.ports" } };
    const withoutNodePort = ports.findIndex(({ nodePort }) => !nodePort);
    if (withoutNodePort === -1) return undefined;
    return {
      kind: "refused",
      problem: { code: "NoNodePort", field: `spec.ports[${withoutNodePort}].nodePort` },
    };
  },
  next(question, observed, { cluster }): LoadBalancerStep {
    const there = MemoryLoadBalancer.nullable().parse(observed);
    // A tenant can forge the uid that a load balancer is known by.
    if (there !== null && there.cluster !== cluster) return question.wanted ? NAME_TAKEN : NOTHING_LEFT;
    return question.wanted ? towards(desiredOf(question, cluster), there, question) : away(there, question);
  },
  showsAtOnce: true,
  shows: (_question, observed, { cluster }) =>
    MemoryLoadBalancer.nullable().parse(observed)?.cluster === cluster,
  measure({ service }, observed) {
    const there = MemoryLoadBalancer.nullable().parse(observed)?.listeners ?? [];
    const wanted = listenersOf(service.spec);
    return { kind: MEMORY_KIND, missingListeners: Math.max(0, wanted.length - there.length) };
  },
  lostTargets({ nodes }, observed) {
    const { targets = [] } = MemoryLoadBalancer.nullable().parse(observed) ?? {};
    const wanted = targetsOf(nodes);
    return targets.filter((target) => !wanted.includes(target));
  },
  fold: (_observed, _action, result) => result,
  desired: ({ spec }) => JSON.stringify(listenersOf(spec)),
  targetOf: ({ providerID }) => providerID,
  orphans: {
    mark: ({ id }, orphaned) => ({ action: "MarkLoadBalancer", target: id, parameters: { orphaned } }),
    unmark: ({ id }) => ({ action: "MarkLoadBalancer", target: id, parameters: {} }),
    next({ id }, observed, { cluster }) {
      const there = MemoryLoadBalancer.nullable().parse(observed);
      return there?.cluster !== cluster ? NOTHING_LEFT : deletion(id, there);
    },
  },
};

function towards(
  desired: MemoryLoadBalancer,
  there: MemoryLoadBalancer | null,
  { service }: LoadBalancerQuestion,
): LoadBalancerStep {
  if (there !== null && canonicalJson(there) === canonicalJson(desired)) {
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

function away(there: MemoryLoadBalancer | null, { service }: LoadBalancerQuestion): LoadBalancerStep {
  return there === null ? NOTHING_LEFT : deletion(service.metadata.uid, there);
}

function deletion(target: string, { hostname }: MemoryLoadBalancer): LoadBalancerStep {
  const because = { code: "DeleteLoadBalancer", message: hostname };
  return { kind: "act", because, actions: [{ action: "DeleteLoadBalancer", target, parameters: {} }] };
}

const NOTHING_LEFT: LoadBalancerStep = { kind: "settled", ingress: [], warnings: [] };

const NAME_TAKEN: LoadBalancerStep = { kind: "refused", problem: { code: "NameTaken" } };

function desiredOf({ service, nodes }: LoadBalancerQuestion, cluster: string): MemoryLoadBalancer {
  const { namespace, name, uid } = service.metadata;
  return {
    cluster,
    service: `${namespace}/${name}`,
    hostname: `${uid}.memory.example`,
    listeners: listenersOf(service.spec),
    targets: targetsOf(nodes),
  };
}

function targetsOf(nodes: LoadBalancerQuestion["nodes"]): string[] {
  return [...new Set(nodes.flatMap(({ providerID }) => providerID ?? []))].sort();
}

function listenersOf({ ports = [] }: Service["spec"]): MemoryLoadBalancer["listeners"] {
  return ports.map(({ protocol, port, nodePort = 0 }) => ({ protocol, port, nodePort }));
}

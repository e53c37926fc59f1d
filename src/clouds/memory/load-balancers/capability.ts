import * as z from "zod";
import type { ActionResult, Capability, ObservationsResult } from "#clouds/cloud.ts";
import { MEMORY_KIND, MemoryLoadBalancer } from "#clouds/memory/load-balancers/model.ts";
import type { ActionAnswer, CapabilityErrorCode, Observation } from "#core/capability.ts";
import type { CloudAction } from "#core/decision.ts";
import type { InstanceErrorCode } from "#core/instance.ts";
import { type Holding, HoldingsQuestion, type HoldingsState } from "#core/service/holdings.ts";
import { selectOldestMark } from "#core/service/orphans/mark.ts";

/** With an `outage` every call fails as a whole. */
interface MemoryDependencies {
  readonly outage?: InstanceErrorCode | undefined;
}

const Question = z.object({ service: z.object({ metadata: z.object({ uid: z.string() }) }) });

/**
 * Creates the capability `loadBalancers` of the memory cloud, with load balancers by their Service's uid. It
 * lists those of the cluster, or all without a cluster.
 */
export function createMemoryLoadBalancers(
  world: MemoryDependencies,
  loadBalancers: Map<string, MemoryLoadBalancer>,
  cluster?: string,
): Capability {
  const all = ({ auditAt }: HoldingsQuestion): HoldingsState => {
    const listed = [...loadBalancers].filter(([, each]) => cluster === undefined || each.cluster === cluster);
    const holdings = listed.map(([id, { service, listeners, orphaned }]): Holding => {
      const audited = { uid: id.replaceAll("-", ""), ...(orphaned === undefined ? {} : { mark: orphaned }) };
      return {
        ...{ kind: MEMORY_KIND, id, name: id, service, listeners: listeners.length },
        ...(auditAt === undefined ? {} : audited),
      };
    });
    const next = auditAt === undefined ? undefined : selectOldestMark(holdings, Date.parse(auditAt));
    if (next === undefined) return { holdings };
    return { holdings, removable: { id: next.id, state: loadBalancers.get(next.id) ?? null } };
  };
  return {
    async observe(questions, { signal }): Promise<ObservationsResult> {
      const failure = getFailure(world, signal);
      const answers = questions.map((question): Observation => {
        if (failure !== undefined) return failure;
        const ofAll = HoldingsQuestion.safeParse(question).data;
        if (ofAll !== undefined) return { kind: "observed", state: all(ofAll) };
        const asked = Question.safeParse(question);
        if (!asked.success) return { ...INVALID, message: `no question: ${z.prettifyError(asked.error)}` };
        const { uid } = asked.data.service.metadata;
        return { kind: "observed", state: loadBalancers.get(uid) ?? null };
      });
      return { answers, usage: countUsage("DescribeLoadBalancers", failure) };
    },
    async act(action, { signal }): Promise<ActionResult> {
      const failure = getFailure(world, signal);
      return {
        answer: failure ?? performAction(action, loadBalancers),
        usage: countUsage(action.action, failure),
      };
    },
  };
}

function performAction(
  { action, target, parameters }: CloudAction,
  loadBalancers: Map<string, MemoryLoadBalancer>,
): ActionAnswer {
  const isThere = loadBalancers.has(target);
  switch (action) {
    case "CreateLoadBalancer":
      if (isThere) return { kind: "conflict", message: `AlreadyExists: ${target} has a load balancer` };
      return put();
    case "UpdateLoadBalancer":
      return isThere ? put() : { kind: "conflict", message: `NotFound: ${target} has no load balancer` };
    case "MarkLoadBalancer":
      return mark();
    case "DeleteLoadBalancer":
      loadBalancers.delete(target);
      return { kind: "done", result: null };
    default:
      return { ...INVALID, message: `the memory cloud has no action ${action}` };
  }

  function mark(): ActionAnswer {
    const there = loadBalancers.get(target);
    if (there === undefined) return { kind: "conflict", message: `NotFound: ${target} has no load balancer` };
    const { orphaned: _, ...rest } = there;
    return keep({ ...rest, ...parameters });
  }

  function put(): ActionAnswer {
    return keep(parameters);
  }

  function keep(wanted: unknown): ActionAnswer {
    const { data: result, error } = MemoryLoadBalancer.safeParse(wanted);
    if (error !== undefined) return { ...INVALID, message: `no load balancer: ${z.prettifyError(error)}` };
    loadBalancers.set(target, result);
    return { kind: "done", result };
  }
}

const INVALID = { kind: "error", code: "Invalid" } as const;

type Failure = Extract<Observation, { readonly kind: "error" }>;

function getFailure({ outage }: MemoryDependencies, signal: AbortSignal): Failure | undefined {
  if (signal.aborted) return { kind: "error", code: "Aborted", message: "aborted before the cloud answered" };
  if (outage === undefined) return undefined;
  return { kind: "error", code: CODES[outage] ?? "Unavailable", message: `the cloud answers ${outage}` };
}

const CODES: Partial<Record<InstanceErrorCode, CapabilityErrorCode>> = {
  Throttled: "Throttled",
  Denied: "Denied",
};

function countUsage(call: string, failure: Failure | undefined) {
  return { calls: { [call]: 1 }, throttled: failure?.code === "Throttled" ? 1 : 0, waitedMs: 0 };
}

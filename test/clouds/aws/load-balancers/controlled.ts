import { awsLoadBalancerModel } from "#clouds/aws/load-balancers/model.ts";
import type { AskContext, DecisionContext } from "#core/controller.ts";
import type { Decision } from "#core/decision.ts";
import { createServiceController } from "#core/service/controller.ts";
import type { LoadBalancerAction, TargetNode } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { Settings } from "#core/settings.ts";

/** An emulated AWS as the service controller sees it. */
export interface ControlledAws {
  observe(service: Service): unknown;
  apply(action: LoadBalancerAction): unknown;
}

export interface Controlled {
  readonly object: Service;
  /** The last decision, which changes nothing. */
  readonly decision: Decision;
  /** The actions of AWS that were carried out. */
  readonly actions: readonly string[];
}

/**
 * Runs the service controller on a Service until it changes nothing more, as one invocation does; the API
 * server lists these nodes.
 */
export async function control(
  aws: ControlledAws,
  service: Service,
  nodes: readonly TargetNode[],
  { settings, ...difference }: Pick<AskContext, "settings"> & Partial<AskContext>,
): Promise<Controlled> {
  const controller = createServiceController({ aws: async () => awsLoadBalancerModel });
  await controller.load?.("aws");
  const context: DecisionContext = {
    reason: "watch",
    now: new Date("2026-03-01T12:00:00Z"),
    related: {
      nodes: { resourceVersion: "500", items: nodes },
      services: { resourceVersion: "500", items: [] },
    },
    settings: settings satisfies Settings,
    listed: { kind: "list", items: nodes.map((target) => ({ target })) },
    count: { kind: "count", count: nodes.length },
    ...difference,
  };
  const isAsked = controller.buildQuestion(service, context) !== undefined;
  const answer = isAsked ? ({ kind: "observed", state: aws.observe(service) } as const) : undefined;
  let subject: Parameters<NonNullable<typeof controller.applyResult>>[0] = {
    object: service,
    hint: undefined,
    answer,
  };
  const actions: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const plan = controller.decide([subject], context);
    const decision = plan.kind === "each" ? plan.decisions[0] : undefined;
    if (decision === undefined) throw new Error("no decision");
    if (decision.kind !== "change") return { object: subject.object, decision, actions };
    for (const write of decision.writes) {
      if (write.on === "cloud") actions.push(write.action);
      const result = write.on === "cloud" ? aws.apply(write) : undefined;
      subject = controller.applyResult?.(subject, { write, result }) ?? subject;
    }
  }
  throw new Error(`${service.metadata.name} does not settle: ${actions.slice(-5).join()}`);
}

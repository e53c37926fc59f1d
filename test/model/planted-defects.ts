import type { AskContext, Controller, DecisionContext } from "#core/controller.ts";
import type { CloudAction, Decision, Plan, Write } from "#core/decision.ts";
import { TAG, type TagParameters } from "#core/node-tags.ts";
import type { Scenario } from "./scenario.ts";

/** A plausible mistake that histories must find. */
export interface PlantedDefect {
  readonly title: string;
  readonly scenario: string;
  readonly plant: (controller: Controller) => Controller;
  /** Matches the problem at rest. */
  readonly found: RegExp;
}

export const PLANTED_DEFECTS: readonly PlantedDefect[] = [
  {
    // Two of these three make up for a missing third.
    title: "actors neither name themselves in claims, nor compare content, nor look again after a conflict",
    scenario: "network",
    plant: (controller) =>
      withActions(
        withContext(controller, ({ conflict: _, ...context }) => ({ ...context, actor: "000000001" })),
        (action) => {
          const { uid, deleting } = action.precondition;
          return { ...action, precondition: { uid, deleting } };
        },
      ),
    found: /without an audit/,
  },
  {
    title: "targets that have gone are never deregistered",
    scenario: "network",
    plant: (controller) => withoutActions(controller, ({ action }) => action === "elbv2:DeregisterTargets"),
    found: /an audit/,
  },
  {
    title: "listeners of ports that have gone stay",
    scenario: "network",
    plant: (controller) => withoutActions(controller, ({ action }) => action === "elbv2:DeleteListener"),
    found: /an audit: \{"listener"/,
  },
  {
    title: "a Service is let go without its load balancer",
    scenario: "memory",
    plant: (controller) => withoutActions(controller, ({ action }) => action === "DeleteLoadBalancer"),
    found: /an audit|never at rest/,
  },
  {
    title: "routes of nodes that have gone stay",
    scenario: "routes",
    plant: (controller) => withoutActions(controller, ({ action }) => action === "delete"),
    found: /an audit: route|never at rest/,
  },
  {
    title: "an older list of as many nodes proves that a node is gone",
    scenario: "tags",
    plant: (controller) => withContext(controller, ({ listed: _, ...context }: DecisionContext) => context),
    found: /without an audit/,
  },
  {
    title: "overwrites a foreign tag",
    scenario: "tags",
    plant: (controller) =>
      withActions(controller, (action) => {
        const { ids, tags } = action.parameters as unknown as TagParameters;
        const written = { ...tags, Name: "ours" };
        return action.action === TAG ? { ...action, parameters: { ids, tags: written } } : action;
      }),
    found: /something of others was changed/,
  },
];

/** Returns the scenario with the defect; its reference is the sound controller. */
export function plantDefect(scenario: Scenario, { plant }: PlantedDefect): Scenario {
  const { controller } = scenario;
  return { ...scenario, controller: plant(controller), referenceController: controller };
}

function withDecisions(controller: Controller, change: (decision: Decision) => Decision): Controller {
  return {
    ...controller,
    decide(batch, context): Plan {
      const plan = controller.decide(batch, context);
      return plan.kind === "each" ? { ...plan, decisions: plan.decisions.map(change) } : plan;
    },
  };
}

function withWrites(controller: Controller, change: (write: Write) => readonly Write[]): Controller {
  return withDecisions(controller, (decision) => {
    if (decision.kind !== "change") return decision;
    const [first, ...others] = decision.writes.flatMap(change);
    const { object, because } = decision;
    return first === undefined
      ? { kind: "unchanged", object, because }
      : { ...decision, writes: [first, ...others] };
  });
}

function withActions(controller: Controller, change: (action: CloudAction) => CloudAction): Controller {
  return withWrites(controller, (write) => [write.on === "cloud" ? change(write) : write]);
}

function withoutActions(controller: Controller, isLeftOut: (action: CloudAction) => boolean): Controller {
  return withWrites(controller, (write) => (write.on === "cloud" && isLeftOut(write) ? [] : [write]));
}

function withContext(
  controller: Controller,
  change: (context: DecisionContext) => DecisionContext,
): Controller {
  const { decideRejected, applySharedResult, getStateReference } = controller;
  return {
    ...controller,
    buildQuestion: (object, context) => controller.buildQuestion(object, change(context)),
    decide: (batch, context) => controller.decide(batch, change(context)),
    ...(getStateReference && {
      getStateReference: (batch, context: AskContext) => getStateReference(batch, change(context)),
    }),
    ...(applySharedResult && {
      applySharedResult: (subject, done, context) => applySharedResult(subject, done, change(context)),
    }),
    ...(decideRejected && {
      decideRejected: (subject, refusal, context) => decideRejected(subject, refusal, change(context)),
    }),
  };
}

import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Decision, Plan } from "#core/decision.ts";
import { EVENT_VERSION, type EventReason } from "#core/event.ts";
import type { Node } from "#core/node/node.ts";
import { askCloud } from "#functions/parts/ask-cloud.ts";
import { createBatch, type ReadUnder } from "#functions/parts/batch.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/** Decides on nodes as a function would, and writes nothing. */
export interface Judge {
  /** One decision for each node, in their order; the cloud is asked once for all of them. */
  decide(
    controller: Controller,
    nodes: readonly Node[],
    reason: EventReason,
    under?: ReadUnder,
  ): Promise<readonly Decision[]>;
  /** The same, where a plan may ask for a write that all of the batch wait for. */
  plan(controller: Controller, nodes: readonly Node[], reason: EventReason, under?: ReadUnder): Promise<Plan>;
}

/** Of the account's quotas: another controller needs them, too. */
const SHARE = 0.2;

/** How long the cloud may take for a batch. */
const ASK_TIMEOUT_MS = 20_000;

/** Makes a judge of a cluster; the cloud stays its maker's to close. */
export function createJudge(cluster: Cluster, cloud: Cloud): Judge {
  const invocationOf = (controller: Controller, reason: EventReason): Invocation => ({
    dependencies: {
      clusters: async () => cluster,
      cloud: async () => cloud,
      api: () => Promise.reject(new Error("a shadow writes nothing")),
      now: () => new Date(),
    },
    cluster,
    controller,
    event: {
      version: EVENT_VERSION,
      id: `shadow-${reason}`,
      cluster: cluster.name,
      clusterHash: cluster.hash,
      controller: controller.name,
      reason,
      objects: [],
      budget: { share: SHARE },
      dryRun: true,
    },
    deadline: { signal: AbortSignal.timeout(ASK_TIMEOUT_MS), settleMs: 0 },
    now: new Date(),
    clock: "shadow",
  });

  async function plan(
    controller: Controller,
    nodes: readonly Node[],
    reason: EventReason,
    under?: ReadUnder,
  ): Promise<Plan> {
    const invocation = invocationOf(controller, reason);
    const entries = nodes.map((object, index) => ({ kind: "object", index, object }) as const);
    const answers = await askCloud(invocation, nodes);
    const batch = createBatch(invocation, entries, answers);
    const planned = batch.plan(under);
    if (planned.kind === "shared") return planned;
    return { kind: "each", decisions: batch.itemsOf(planned.decisions).map(({ decision }) => decision) };
  }

  return {
    plan,
    async decide(controller, nodes, reason, under) {
      const planned = await plan(controller, nodes, reason, under);
      if (planned.kind === "each") return planned.decisions;
      throw new Error(`${controller.name} decides on nothing before a write that all wait for`);
    },
  };
}

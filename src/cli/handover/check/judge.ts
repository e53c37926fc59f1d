import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Decision, Plan } from "#core/decision.ts";
import { EVENT_VERSION, type EventReason } from "#core/event.ts";
import type { Node } from "#core/node/node.ts";
import { askCloud } from "#functions/parts/ask-cloud.ts";
import { type BatchState, createBatch } from "#functions/parts/batch.ts";
import type { Invocation } from "#functions/parts/invocation.ts";

/** Decides on nodes as a function would, without writing. */
export interface Judge {
  /** Returns one decision for each node, in order, with one call to the cloud. */
  decide(
    controller: Controller,
    nodes: readonly Node[],
    reason: EventReason,
    under?: BatchState,
  ): Promise<readonly Decision[]>;
  /** Returns the plan, which may contain a write that the whole batch waits for. */
  plan(
    controller: Controller,
    nodes: readonly Node[],
    reason: EventReason,
    under?: BatchState,
  ): Promise<Plan>;
}

/** The part of the account's quotas that it uses: another controller needs them, too. */
const SHARE = 0.2;

/** The time limit of the cloud for a batch. */
const ASK_TIMEOUT_MS = 20_000;

/** Creates a judge of a cluster; the caller closes the cloud. */
export function createJudge(cluster: Cluster, cloud: Cloud): Judge {
  const invocationOf = (controller: Controller, reason: EventReason): Invocation => ({
    dependencies: {
      clusters: async () => cluster,
      cloud: async () => cloud,
      api: () => Promise.reject(new Error("a check writes nothing")),
      now: () => new Date(),
    },
    cluster,
    controller,
    event: {
      version: EVENT_VERSION,
      id: `check-${reason}`,
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
    clock: "check",
  });

  async function plan(
    controller: Controller,
    nodes: readonly Node[],
    reason: EventReason,
    under?: BatchState,
  ): Promise<Plan> {
    const invocation = invocationOf(controller, reason);
    const entries = nodes.map((object, index) => ({ kind: "object", index, object }) as const);
    const answers = await askCloud(invocation, nodes);
    const batch = createBatch(invocation, entries, answers);
    const planned = batch.plan(under);
    if (planned.kind === "shared") return planned;
    return { kind: "each", decisions: batch.buildItems(planned.decisions).map(({ decision }) => decision) };
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

import { randomUUID } from "node:crypto";
import type { ReachableCluster } from "#cli/clusters/reach-cluster.ts";
import { createInProcessInvoker } from "#cli/run/in-process-functions.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { buildWatchContext } from "#config/cluster.ts";
import { getSignInRole } from "#config/sign-in.ts";
import type { Controller } from "#core/controller.ts";
import { EVENT_VERSION, type Event, type EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { ObjectReport } from "#core/report.ts";
import { NODES } from "#core/resources/resource.ts";
import type { ApiObject } from "#core/watch.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";
import type { Invocation } from "#platforms/invoker.ts";

/** What a controller would do about a node, and what the cloud answered. */
export interface DryDecision {
  readonly controller: string;
  readonly report: Pick<ObjectReport, "outcome" | "because" | "afterSeconds" | "decision" | "warnings">;
  /** Undefined if the cloud was not asked. */
  readonly answer: InstanceAnswer | undefined;
}

/** The time limit of a function. */
const TIMEOUT_MS = 30_000;

/**
 * Returns what each of the cluster's node controllers would do about a node. The real functions decide in a
 * dry run, and read the deletion state as usual.
 */
export async function decideDry(
  reached: ReachableCluster,
  cloud: Cloud,
  node: Node,
): Promise<readonly DryDecision[]> {
  const controllers = await loadControllers(reached.cluster.controllers);
  return Promise.all(
    controllers
      .filter(({ resource }) => resource.name === NODES.name)
      .map((controller) => decideOne(reached, cloud, controller, node)),
  );
}

async function decideOne(
  { cluster, api }: ReachableCluster,
  cloud: Cloud,
  controller: Controller,
  node: Node,
): Promise<DryDecision> {
  let answer: InstanceAnswer | undefined;
  const overheard: Cloud = {
    ...cloud,
    async instances(nodes, call) {
      const result = await cloud.instances(nodes, call);
      answer = result.answers[0];
      return result;
    },
  };
  const object: ApiObject = controller.snapshot(node, buildWatchContext(cluster));
  const facts = { reason: selectReason(controller, node), objects: [object] };
  const report = await reportOfDryRun({ cluster, api }, overheard, controller, facts);
  return { controller: controller.name, report, answer };
}

/** Returns what a controller's function reports of one object in a dry run. */
export async function reportOfDryRun(
  { cluster, api }: Pick<ReachableCluster, "cluster" | "api">,
  cloud: Cloud,
  controller: Controller,
  facts: Pick<Event, "reason" | "objects" | "related">,
): Promise<DryDecision["report"]> {
  const decide = createControllerFunction(controller, {
    // Decides and reports in this process even if the relay writes otherwise: a dry run writes nothing.
    clusters: async () => ({ ...cluster, writes: "function" }),
    cloud: async () => cloud,
    api: () => api(getSignInRole(controller.functionName)),
    now: () => new Date(),
  });
  const invoker = createInProcessInvoker(new Map([[controller.name, decide]]), TIMEOUT_MS);
  const event: Event = {
    version: EVENT_VERSION,
    id: randomUUID(),
    cluster: cluster.name,
    clusterHash: cluster.hash,
    controller: controller.name,
    dryRun: true,
    ...facts,
  };
  return getReport(await invoker.invoke(event, AbortSignal.timeout(2 * TIMEOUT_MS)));
}

/**
 * Selects the reason that the watch would have: only a refresh compares an initialized node with its
 * instance.
 */
function selectReason({ name }: Controller, node: Node): EventReason {
  if (name === nodeLifecycleWatch.name) return "monitor";
  return isUninitialized(node) ? "watch" : "refresh";
}

function getReport(invoked: Invocation): DryDecision["report"] {
  if (invoked.kind === "failed") return buildFailedReport(invoked.code, invoked.message);
  return invoked.report.objects[0] ?? buildFailedReport("Failed", "no report");
}

function buildFailedReport(code: string, message: string): DryDecision["report"] {
  return { outcome: "retry", because: { code, message } };
}

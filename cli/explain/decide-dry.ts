import { randomUUID } from "node:crypto";
import { createInProcessInvoker } from "#cli/invoke-in-process.ts";
import type { ReachableCluster } from "#cli/reach-cluster.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { watchContextOf } from "#config/cluster.ts";
import { signInRoleOf } from "#config/sign-in.ts";
import type { ApiObject, Controller } from "#core/controller.ts";
import { EVENT_VERSION, type Event, type EventReason } from "#core/event.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import type { Node } from "#core/node/node.ts";
import { isUninitialized } from "#core/node/taints.ts";
import { nodeLifecycleWatch } from "#core/node-lifecycle/watch.ts";
import type { ObjectReport } from "#core/report.ts";
import { NODES } from "#core/resources/resource.ts";
import type { Invocation } from "#delivery/invoker.ts";
import { controllerFunction } from "#functions/parts/controller-function.ts";
import { loadControllers } from "#functions/parts/controllers.ts";

/** What a controller would do about a node, and what the cloud told it. */
export interface DryDecision {
  readonly controller: string;
  readonly report: Pick<ObjectReport, "outcome" | "because" | "afterSeconds" | "decision" | "warnings">;
  /** Undefined where the cloud was not asked. */
  readonly answer: InstanceAnswer | undefined;
}

/** As long as a function has. */
const TIMEOUT_MS = 30_000;

/**
 * What each of the cluster's controllers of nodes would do about one, decided by the very functions that would do it, and told to
 * write nothing. The state of deletion is read as they do.
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
  const object: ApiObject = controller.snapshot(node, watchContextOf(cluster));
  const facts = { reason: reasonFor(controller, node), objects: [object] };
  const report = await reportOfDryRun({ cluster, api }, overheard, controller, facts);
  return { controller: controller.name, report, answer };
}

/** What a controller's function reports of one object, told to write nothing. */
export async function reportOfDryRun(
  { cluster, api }: Pick<ReachableCluster, "cluster" | "api">,
  cloud: Cloud,
  controller: Controller,
  facts: Pick<Event, "reason" | "objects" | "related">,
): Promise<DryDecision["report"]> {
  const decide = controllerFunction(controller, {
    // Decided and reported here, whoever would write it: nobody does.
    clusters: async () => ({ ...cluster, writes: "function" }),
    cloud: async () => cloud,
    api: () => api(signInRoleOf(controller.functionName)),
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
  return reportOf(await invoker.invoke(event, AbortSignal.timeout(2 * TIMEOUT_MS)));
}

/** As whoever watches would: an initialized node is compared with its instance at a refresh alone. */
function reasonFor({ name }: Controller, node: Node): EventReason {
  if (name === nodeLifecycleWatch.name) return "monitor";
  return isUninitialized(node) ? "watch" : "refresh";
}

function reportOf(invoked: Invocation): DryDecision["report"] {
  if (invoked.kind === "failed") return failed(invoked.code, invoked.message);
  return invoked.report.objects[0] ?? failed("Failed", "no report");
}

function failed(code: string, message: string): DryDecision["report"] {
  return { outcome: "retry", because: { code, message } };
}

import middy from "@middy/core";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { deadlineOf, type FunctionContext } from "#functions/middleware/deadline.ts";
import { logReport } from "#functions/middleware/log-report.ts";
import { parseEvent } from "#functions/middleware/parse-event.ts";
import { type PlatformFunction, platformFunction } from "#functions/middleware/platform-function.ts";
import { askCloud } from "#functions/steps/ask-cloud.ts";
import { carryOut } from "#functions/steps/carry-out.ts";
import { decideNodes } from "#functions/steps/decide-nodes.ts";
import { findCluster } from "#functions/steps/find-cluster.ts";
import { parseNodes } from "#functions/steps/parse-nodes.ts";
import { refusalOf, reportOf } from "#functions/steps/report.ts";
import { lambdaWorld } from "#functions/world/lambda-world.ts";
import type { World } from "#functions/world/world.ts";

/** The cloud-node-controller as a function: a batch of nodes in, initialized and refreshed, and a report of each out. */
export function createNodeFunction(world: World): PlatformFunction {
  const handler = middy<Event, Report>({ timeoutEarlyInMillis: 0 }) // the deadline is ours
    .use(parseEvent("cloud-node-controller"))
    .use(logReport(world.log))
    .handler(async (event: Event, context: FunctionContext): Promise<Report> => {
      const startedAt = performance.now();
      const deadline = deadlineOf(context);
      const entries = parseNodes(event.objects);
      const found = await findCluster(event, world.clusters);
      if (found.kind === "refused") return refusalOf(event, entries, found, startedAt);
      const answers = await askCloud(world, found.cluster, event, entries, deadline);
      const decisions = decideNodes(found.cluster, event, entries, answers, world.now());
      const outcomes = await carryOut(world, found.cluster, event, decisions, deadline);
      return reportOf(event, entries, answers, outcomes, startedAt);
    });
  return platformFunction(handler);
}

const world = lambdaWorld(process.env);
await world.prepare();

/** What Lambda calls. */
export const handler = createNodeFunction(world);

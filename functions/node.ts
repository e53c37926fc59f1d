import middy from "@middy/core";
import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";
import { askCloud } from "#functions/parts/ask-cloud.ts";
import { carryOut } from "#functions/parts/carry-out.ts";
import { deadlineOf, type FunctionContext } from "#functions/parts/deadline.ts";
import { decideNodes } from "#functions/parts/decide-nodes.ts";
import { findCluster } from "#functions/parts/find-cluster.ts";
import { lambdaWorld } from "#functions/parts/lambda-world.ts";
import { logReport } from "#functions/parts/log-report.ts";
import { parseEvent } from "#functions/parts/parse-event.ts";
import { parseNodes } from "#functions/parts/parse-nodes.ts";
import { type PlatformFunction, platformFunction } from "#functions/parts/platform-function.ts";
import { refusalOf, reportOf } from "#functions/parts/report.ts";
import type { World } from "#functions/parts/world.ts";

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

import middy from "@middy/core";
import type { Controller } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { askCloud } from "#functions/parts/ask-cloud.ts";
import { type Batch, createBatch } from "#functions/parts/batch.ts";
import { carryOut } from "#functions/parts/carry-out.ts";
import { claimReservations } from "#functions/parts/claim-quota.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/deadline.ts";
import { createActorName, getDecisionTime } from "#functions/parts/decision-time.ts";
import { type DeferredBatch, deferWrites } from "#functions/parts/defer-writes.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { findCluster } from "#functions/parts/find-cluster.ts";
import { logReport } from "#functions/parts/log-report.ts";
import { parseEvent } from "#functions/parts/parse-event.ts";
import { parseObjects, selectObjects } from "#functions/parts/parse-objects.ts";
import { createPlatformFunction, type PlatformFunction } from "#functions/parts/platform-function.ts";
import { createReservationLedger } from "#functions/parts/quota-ledger.ts";
import { readStop } from "#functions/parts/read-stop.ts";
import { buildRejectionReport, buildReport } from "#functions/parts/report.ts";
import { traceInvocations } from "#functions/parts/trace-invocations.ts";

/**
 * Creates the function of one or more controllers: it takes a batch of objects and returns their report. The
 * event names the controller.
 */
export function createControllerFunction(
  carried: Controller | readonly Controller[],
  dependencies: Dependencies,
): PlatformFunction {
  const tracing = traceInvocations(dependencies.tracer);
  const controllers = new Map([carried].flat().map((each) => [each.name, each]));
  const ledger = createReservationLedger(() => dependencies.now().getTime());
  const handler = middy<Event, Report>({ timeoutEarlyInMillis: 0 }) // the deadline is ours
    .use(parseEvent([...controllers.keys()]))
    .use(tracing.middleware)
    .use(logReport(dependencies.log))
    .handler(async (event: Event, context: FunctionContext): Promise<Report> => {
      const startedAt = performance.now();
      const controller = controllers.get(event.controller);
      if (controller === undefined) throw new Error(`${event.controller} came through the door of others`);
      const deadline = createDeadline(context);
      const entries = parseObjects(controller, event.objects);
      const found = await findCluster(event, dependencies.clusters);
      if (found.kind === "refused") return buildRejectionReport(event, entries, found, startedAt);
      const { cluster } = found;
      await controller.load?.(cluster.cloud.provider);
      const objects = selectObjects(entries);
      const asked = objects.map(({ object }) => object);
      const moment = getDecisionTime(event, cluster, dependencies.now());
      const stop = await readStop(event, controller, dependencies);
      const traced = tracing.traced(dependencies, event);
      const actor = createActorName();
      const invocation = {
        dependencies: traced,
        cluster,
        controller,
        event,
        deadline,
        ...moment,
        stop,
        actor,
      };
      const answers = await askCloud(invocation, asked);
      const batch = createBatch(invocation, objects, answers);
      await claimReservations(invocation, batch, ledger);
      const decided: DeferredBatch = await (cluster.writes === "relay"
        ? deferWrites(invocation, batch)
        : carryOut(invocation, batch));
      const outcomes = addFindings(batch, decided);
      return buildReport(event, entries, { ...answers, usage: batch.cloudUsage() }, outcomes, startedAt);
    });
  return createPlatformFunction(handler);
}

/** Adds the findings in the cloud to the outcomes. */
function addFindings(batch: Batch, outcomes: DeferredBatch): DeferredBatch {
  const objects = outcomes.objects.map((report): ObjectReport => {
    const orphans = batch.listOrphans(report.index);
    const candidates = batch.listCandidates(report.index) ?? [];
    return {
      ...report,
      ...(orphans === undefined ? {} : { orphans }),
      ...(candidates.length === 0 ? {} : { candidates }),
    };
  });
  return { ...outcomes, objects };
}

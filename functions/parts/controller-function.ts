import middy from "@middy/core";
import type { Controller } from "#core/controller.ts";
import type { Event } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { askCloud } from "#functions/parts/ask-cloud.ts";
import { type Batch, createBatch } from "#functions/parts/batch.ts";
import { carryOut } from "#functions/parts/carry-out.ts";
import { claimPlaces } from "#functions/parts/claim-places.ts";
import { deadlineOf, type FunctionContext } from "#functions/parts/deadline.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { findCluster } from "#functions/parts/find-cluster.ts";
import { type Decided, handBack } from "#functions/parts/hand-back.ts";
import { logReport } from "#functions/parts/log-report.ts";
import { createActorName, decidedAt } from "#functions/parts/moment.ts";
import { parseEvent } from "#functions/parts/parse-event.ts";
import { objectsOf, parseObjects } from "#functions/parts/parse-objects.ts";
import { createPlaceLedger } from "#functions/parts/place-ledger.ts";
import { type PlatformFunction, platformFunction } from "#functions/parts/platform-function.ts";
import { refusalOf, reportOf } from "#functions/parts/report.ts";
import { stopOf } from "#functions/parts/stopped.ts";
import { traceInvocations } from "#functions/parts/trace-invocations.ts";

/** A controller as a function: a batch of its objects in, and a report of each out. Of several the event says whose objects it has. */
export function controllerFunction(
  carried: Controller | readonly Controller[],
  dependencies: Dependencies,
): PlatformFunction {
  const tracing = traceInvocations(dependencies.tracer);
  const controllers = new Map([carried].flat().map((each) => [each.name, each]));
  const ledger = createPlaceLedger(() => dependencies.now().getTime());
  const handler = middy<Event, Report>({ timeoutEarlyInMillis: 0 }) // the deadline is ours
    .use(parseEvent([...controllers.keys()]))
    .use(tracing.middleware)
    .use(logReport(dependencies.log))
    .handler(async (event: Event, context: FunctionContext): Promise<Report> => {
      const startedAt = performance.now();
      const controller = controllers.get(event.controller);
      if (controller === undefined) throw new Error(`${event.controller} came through the door of others`);
      const deadline = deadlineOf(context);
      const entries = parseObjects(controller, event.objects);
      const found = await findCluster(event, dependencies.clusters);
      if (found.kind === "refused") return refusalOf(event, entries, found, startedAt);
      const { cluster } = found;
      await controller.load?.(cluster.cloud.provider);
      const objects = objectsOf(entries);
      const asked = objects.map(({ object }) => object);
      const moment = decidedAt(event, cluster, dependencies.now());
      const stop = await stopOf(event, controller, dependencies);
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
      await claimPlaces(invocation, batch, ledger);
      const decided: Decided = await (cluster.writes === "relay"
        ? handBack(invocation, batch)
        : carryOut(invocation, batch));
      const outcomes = withFindings(batch, decided);
      return reportOf(event, entries, { ...answers, usage: batch.cloudUsage() }, outcomes, startedAt);
    });
  return platformFunction(handler);
}

/** The outcomes with what was found in the cloud beside them. */
function withFindings(batch: Batch, outcomes: Decided): Decided {
  const objects = outcomes.objects.map((report): ObjectReport => {
    const orphans = batch.orphansOf(report.index);
    const candidates = batch.listCandidates(report.index) ?? [];
    return {
      ...report,
      ...(orphans === undefined ? {} : { orphans }),
      ...(candidates.length === 0 ? {} : { candidates }),
    };
  });
  return { ...outcomes, objects };
}

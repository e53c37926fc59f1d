import { randomInt, randomUUID } from "node:crypto";
import type { MiddlewareObj } from "@middy/core";
import middy from "@middy/core";
import type { Cluster, Clusters } from "#config/cluster.ts";
import { type ConfigError, listFaults } from "#core/config-errors.ts";
import type { Controller } from "#core/controller.ts";
import { type ControllerName, Event, MAX_EVENT_BYTES } from "#core/event.ts";
import type { Reason } from "#core/reason.ts";
import { NO_CLUSTER_USAGE, type ObjectReport, type Report } from "#core/report.ts";
import { isLasting } from "#core/rounds.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { type Answers, askCloud, NO_ANSWERS } from "#functions/parts/ask-cloud.ts";
import { type Batch, createBatch } from "#functions/parts/batch.ts";
import { carryOut } from "#functions/parts/carry-out.ts";
import { type DeferredBatch, deferWrites } from "#functions/parts/defer-writes.ts";
import type { Dependencies } from "#functions/parts/dependencies.ts";
import { logReport } from "#functions/parts/log-report.ts";
import {
  type Entry,
  formatFaults,
  type MalformedEntry,
  parseObjects,
  selectObjects,
} from "#functions/parts/parse-objects.ts";
import {
  createDeadline,
  createPlatformFunction,
  type FunctionContext,
  type PlatformFunction,
} from "#functions/parts/platform-function.ts";
import { claimReservations, createReservationLedger } from "#functions/parts/quota-ledger.ts";
import { readStop } from "#functions/parts/read-stop.ts";
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

/** The time of all decisions in an invocation, and its clock. */
interface DecisionTime {
  readonly now: Date;
  readonly clock: string;
}

/**
 * Returns the time of an invocation: its own, or that of its first round, which a writing relay passes from
 * one round to the next.
 */
function getDecisionTime({ round }: Event, { writes }: Cluster, now: Date): DecisionTime {
  if (writes === "relay" && round !== undefined && isLasting(round.moment, now))
    return { now: new Date(round.moment.now), clock: round.moment.clock };
  return { now, clock: CLOCK };
}

/** Returns a name for one invocation, unique even for the same event: nine digits, not all 0. */
function createActorName(): string {
  return `${randomInt(1, 1_000_000_000)}`.padStart(9, "0");
}

/** Identifies this process: all its invocations share one clock. */
const CLOCK = randomUUID().slice(0, 8);

/**
 * The whole event is invalid, so no part of it was processed. It is thrown, so that the platform returns a
 * failed invocation. The message names each fault by path and quotes nothing of the event.
 */
class EventRejected extends Error {
  readonly code = "EventRejected";
  readonly faults: readonly ConfigError[];

  constructor(faults: readonly ConfigError[]) {
    super(`the event is rejected, nothing was done: ${formatFaults(faults, "event")}`);
    this.name = "EventRejected";
    this.faults = faults;
  }
}

/**
 * Middleware that validates events: it accepts this version, these controllers and a bounded size, and throws
 * `EventRejected` otherwise.
 */
function parseEvent(controllers: readonly ControllerName[]): MiddlewareObj {
  return {
    before(request) {
      const bytes = Buffer.byteLength(JSON.stringify(request.event) ?? "");
      if (bytes > MAX_EVENT_BYTES) {
        throw new EventRejected([
          { path: "", message: `${bytes} bytes; at most ${MAX_EVENT_BYTES} are accepted` },
        ]);
      }
      const parsed = Event.safeParse(request.event);
      if (!parsed.success) throw new EventRejected(listFaults(parsed.error));
      if (!controllers.includes(parsed.data.controller)) {
        const message = `this function is for ${controllers.join(", ")}`;
        throw new EventRejected([{ path: "controller", message }]);
      }
      request.event = parsed.data;
    },
  };
}

/**
 * Builds the report of a batch: one entry for each object of the event, in order. `startedAt` is from
 * `performance.now()`.
 */
function buildReport(
  event: Event,
  entries: readonly Entry[],
  answers: Answers,
  outcomes: DeferredBatch,
  startedAt: number,
): Report {
  const malformed = entries.flatMap((entry) =>
    entry.kind === "malformed" ? [buildMalformedReport(entry)] : [],
  );
  const totalMs = performance.now() - startedAt;
  return {
    version: 1,
    id: event.id,
    cluster: event.cluster,
    controller: event.controller,
    objects: [...malformed, ...outcomes.objects].sort((a, b) => a.index - b.index),
    durations: { cloudMs: answers.durationMs, clusterMs: outcomes.durationMs, totalMs },
    usage: { cloud: answers.usage, cluster: outcomes.usage },
    ...(outcomes.handedBack === undefined ? {} : { handedBack: outcomes.handedBack }),
  };
}

/** Builds the report of a rejected event: nothing was requested or written, and all objects are retried. */
function buildRejectionReport(
  event: Event,
  entries: readonly Entry[],
  refused: Rejection,
  startedAt: number,
): Report {
  const { because, afterSeconds } = refused;
  const objects = entries.map(
    (entry): ObjectReport => ({ ...selectIdentity(entry), outcome: "retry", because, afterSeconds }),
  );
  const outcomes = { objects, usage: NO_CLUSTER_USAGE, durationMs: 0 };
  return buildReport(event, [], NO_ANSWERS, outcomes, startedAt);
}

function buildMalformedReport(entry: MalformedEntry): ObjectReport {
  return { ...selectIdentity(entry), outcome: "skipped", because: entry.because };
}

function selectIdentity(entry: Entry): Pick<ObjectReport, "index" | "namespace" | "name" | "uid"> {
  const namespace = entry.kind === "object" ? entry.object.metadata.namespace : undefined;
  const { name, uid } = entry.kind === "object" ? entry.object.metadata : entry;
  return {
    index: entry.index,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
  };
}

/** The event's cluster, or why nothing may be done for it now. */
type FoundCluster = { readonly kind: "cluster"; readonly cluster: Cluster } | Rejection;

interface Rejection {
  readonly kind: "refused";
  readonly because: Reason;
  readonly afterSeconds: number;
}

/**
 * Seconds until a refused event is retried: a differing configuration may be on its way, an unknown one is
 * not.
 */
const DIFFERS_AFTER_SECONDS = 5;

const UNKNOWN_AFTER_SECONDS = 30;

/**
 * Finds the event's cluster and checks that sender and function read the same configuration. If they differ,
 * it rereads once; if they still differ, it refuses the event.
 */
async function findCluster(event: Event, clusters: Clusters): Promise<FoundCluster> {
  try {
    const known = await clusters(event.cluster);
    if (known?.hash === event.clusterHash) return { kind: "cluster", cluster: known };
    const fresh = await clusters(event.cluster, { fresh: true });
    if (fresh === undefined)
      return createRejection("UnknownCluster", describeUnknownCluster(event), UNKNOWN_AFTER_SECONDS);
    if (fresh.hash === event.clusterHash) return { kind: "cluster", cluster: fresh };
    return createRejection(
      "ClusterConfigurationDiffers",
      describeHashMismatch(event, fresh.hash),
      DIFFERS_AFTER_SECONDS,
    );
  } catch (error) {
    const reason = getErrorMessage(error);
    return createRejection(
      "ClustersUnreadable",
      `the function's clusters cannot be read: ${reason}`,
      UNKNOWN_AFTER_SECONDS,
    );
  }
}

function createRejection(code: string, message: string, afterSeconds: number): Rejection {
  return { kind: "refused", because: { code, message }, afterSeconds };
}

function describeUnknownCluster(event: Event): string {
  return `the function knows no cluster "${event.cluster}": add it to the file that CLUSTERS_FILE names`;
}

function describeHashMismatch(event: Event, hash: string): string {
  return `cluster "${event.cluster}" hashes to ${hash} for the function and to ${event.clusterHash} for the sender: deploy the same clusters to both`;
}

import { randomBytes } from "node:crypto";
import type { Cluster } from "#config/cluster.ts";
import { getFunctionName } from "#core/controllers.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { parseEventList } from "#functions/parts/audit/event-list.ts";
import { createLookQueue } from "#functions/parts/audit/look-queue.ts";
import {
  createVerifySignature,
  readPublicKeys,
  type VerifySignature,
} from "#functions/parts/cluster-signature.ts";
import { type CacheLimits, createConnectionCache } from "#functions/parts/connection-cache.ts";
import { openDeployedClusters } from "#functions/parts/deployed-clusters.ts";
import { type Log, logToStandardOutput } from "#functions/parts/log-report.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/platform-function.ts";
import { openStopReader } from "#functions/parts/read-stop.ts";
import { decodeBody, respond, UrlRequest, type UrlResponse } from "#functions/parts/url-request.ts";
import { systemClock } from "#kube/follow/clock.ts";
import type { OpenDeployment } from "#platforms/platform.ts";
import { buildSweepLines } from "#sweep/payload.ts";
import { toMinute } from "#sweep/select.ts";
import { createSweepTurns, type SweepDependencies, sweepTouched } from "#sweep/sweep-cluster.ts";
import type { TouchedObjects } from "#sweep/touched.ts";

/** The dependencies of the function. */
export interface AuditDependencies extends SweepDependencies {
  readonly verify: VerifySignature;
  /** Returns the cluster of a name; undefined if it is not found. */
  readonly cluster: (name: string) => Promise<Cluster | undefined>;
  readonly log: Log;
}

/** The handler that the platform calls for requests to the function URL. */
export type AuditFunction = (event: unknown, context: FunctionContext) => Promise<UrlResponse>;

/** A webhook of kube-apiserver waits 30 s for an answer (`defaultRequestTimeout` of its webhook client). */
const ANSWER_WITHIN_MS = 25_000;

/** After it, a look starts no request. */
const LOOK_MS = 15_000;

/** After it, a look abandons what is in flight. */
const GIVE_UP_MS = 22_000;

/** Lines that a process logs once each. */
const MAX_TOLD = 256;

/** The server URL of the webhook's kubeconfig; the client may add a query. */
const PATH = /^\/audit\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)\/?$/;

/** Failures that do not pass by themselves: the API server does not repeat its report, and the sweep goes on. */
const LASTING: ReadonlySet<string> = new Set([
  "Forbidden",
  "Unauthenticated",
  "Rejected",
  "Denied",
  "ClusterLimited",
]);

/**
 * Creates the function that takes audit events from API servers: `POST /audit/CLUSTER`, with the operator's
 * signature for the cluster as bearer token. It believes only that objects may have changed, reads them itself,
 * and sends those that need work. It answers when that is done, because a platform freezes it then.
 */
export function createAuditFunction(world: AuditDependencies): AuditFunction {
  const told = new Set<string>();
  const looks = createLookQueue(createLook(world, tellOnce), world.clock);
  return async (event, context) => {
    const request = UrlRequest.safeParse(event).data;
    if (request === undefined) return respond(400, { message: "this is not a request to a function URL" });
    const cluster = PATH.exec(request.rawPath)?.[1];
    if (cluster === undefined) return respond(404, { message: "report to /audit/CLUSTER" });
    if (request.requestContext.http.method !== "POST")
      return respond(405, { message: "POST a list of events" });
    if (identifyReporter(world, request.rawPath, request.headers) === undefined) {
      tellOnce("UnsignedToken", cluster, UNSIGNED, "UnsignedToken");
      return respond(401, { message: "the token is not signed for this cluster" });
    }
    if (looks.isFull(cluster)) {
      tellOnce(
        "TooManyReports",
        cluster,
        "more reports arrive than are looked at; the sweep covers the rest",
      );
      return respond(429, { message: "too many reports wait for this cluster" }, { "retry-after": "1" });
    }
    const reported = parseEventList(decodeBody(request));
    if (reported === undefined) {
      tellOnce("BadReport", cluster, "the body is not an EventList of audit.k8s.io/v1");
      return respond(400, { message: "the body is not an EventList of audit.k8s.io/v1" });
    }
    const { touched, malformed } = reported;
    if (malformed > 0) tellOnce("MalformedEvents", cluster, `${malformed} events of a list are malformed`);
    if (touched.size === 0) return respond(200, {});
    const isDone = await Promise.race([looks.add(cluster, touched), waitForAnswerTime(context)]);
    if (isDone) return respond(200, {});
    return respond(503, { message: "the objects could not be looked at in time" }, { "retry-after": "10" });
  };

  /** Logs a line once for each cluster, so that no caller can fill the log. A stranger's names do not count. */
  function tellOnce(event: string, cluster: string, message: string, key = `${event} ${cluster}`): void {
    if (told.has(key) || told.size >= MAX_TOLD) return;
    told.add(key);
    world.log({ level: "warn", event, cluster, message });
  }
}

const UNSIGNED =
  "the bearer token of a request is not signed with a key of this deployment; where an API server of yours reports, give it the kubeconfig that `infra audit-webhook` prints";

/** Returns the cluster of a request's path, if the request has the operator's signature for it. Reads nothing else. */
export function identifyReporter(
  { verify }: Pick<AuditDependencies, "verify">,
  path: string,
  headers: UrlRequest["headers"],
): string | undefined {
  const cluster = PATH.exec(path)?.[1];
  const token = /^Bearer (\S+)$/i.exec(headers["authorization"] ?? "")?.[1] ?? "";
  return cluster !== undefined && verify(cluster, token) ? cluster : undefined;
}

/** Resolves to false when an answer is due. */
function waitForAnswerTime(context: FunctionContext): Promise<false> {
  const signal = AbortSignal.any([createDeadline(context).signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
  return new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    signal.addEventListener("abort", () => resolve(false), { once: true });
  });
}

/** Creates the look at a cluster's touched objects; it resolves to whether a repeated report is useless. */
function createLook(
  world: AuditDependencies,
  tellOnce: (event: string, cluster: string, message: string) => void,
): (name: string, touched: TouchedObjects) => Promise<boolean> {
  let looks = 0;
  return async (name, touched) => {
    try {
      const cluster = await world.cluster(name);
      // Functions cannot reach a cluster whose relay writes. The answer does not tell whether it exists.
      if (cluster === undefined || cluster.writes === "relay") {
        tellOnce("UnknownCluster", name, "no entry of this name has an API server that functions reach");
        return true;
      }
      looks += 1;
      const swept = await sweepTouched(
        cluster,
        touched,
        { ...world, identity: `${world.identity}-${looks}` },
        {
          minute: toMinute(world.clock.wallTime().getTime()),
          signal: AbortSignal.timeout(LOOK_MS),
          giveUp: AbortSignal.timeout(GIVE_UP_MS),
        },
      );
      for (const line of buildSweepLines([swept])) world.log(line);
      return swept.because === undefined || LASTING.has(swept.because.code);
    } catch (error) {
      world.log({ level: "error", event: "LookFailed", cluster: name, message: getErrorMessage(error) });
      return false;
    }
  };
}

/** Clusters with a cached connection in a warm function. */
const CACHE: CacheLimits = { most: 32 };

/** Limit of sockets to the platform; each cluster's limits bound the invocations in flight. */
const MAX_SOCKETS = 100;

/** The last part of this function's name; all functions of a deployment share the prefix. */
const OWN_NAME = "audit";

/**
 * Creates the dependencies of the deployed function: clusters from CLUSTERS_FILE, and the other functions of
 * the deployment. Without a valid AUDIT_PUBLIC_KEYS it rejects every request and logs why.
 */
export function createAuditDependencies(
  environment: Readonly<Record<string, string | undefined>>,
  openDeployment: OpenDeployment,
  { cache = CACHE, log = logToStandardOutput }: { readonly cache?: CacheLimits; readonly log?: Log } = {},
): AuditDependencies {
  const keys = readPublicKeys(environment, "AUDIT_PUBLIC_KEYS", log);
  const { clusters, judgeAddress } = openDeployedClusters(environment);
  return {
    verify: createVerifySignature("audit", keys),
    cluster: (name) => clusters(name),
    api: createConnectionCache({ role: OWN_NAME, ...cache, answersAlone: false, judgeAddress }),
    invoker: openDeployment(environment, OWN_NAME).createInvoker({
      functionName: getFunctionName,
      maxInFlight: MAX_SOCKETS,
    }),
    readStop: openStopReader(environment),
    clock: systemClock,
    random: Math.random,
    identity: `${OWN_NAME}-${randomBytes(4).toString("hex")}`,
    turns: createSweepTurns(systemClock),
    log,
  };
}

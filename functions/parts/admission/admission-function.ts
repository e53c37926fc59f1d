import { createHash, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { renderEvent } from "#core/cluster-events.ts";
import { parseJson } from "#core/parse-json.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { buildWarning, describeIssue } from "#core/service/issue-decisions.ts";
import { Service } from "#core/service/service.ts";
import { SERVICE_VALIDATION, ValidationResult } from "#core/service/validation.ts";
import type { ReadPath } from "#functions/parts/admission/signed-path.ts";
import type { Log } from "#functions/parts/log-report.ts";
import { createDeadline, type FunctionContext } from "#functions/parts/platform-function.ts";
import { decodeBody, respond, UrlRequest, type UrlResponse } from "#functions/parts/url-request.ts";

/** The dependencies of the function. */
export interface AdmissionDependencies {
  readonly readPath: ReadPath;
  /** Returns the cluster of a name; undefined if it is not found. */
  readonly cluster: (name: string) => Promise<Cluster | undefined>;
  /**
   * The expected `authorization` header of the cluster's API server; undefined if the cluster has no
   * admission.
   */
  readonly authorization: (cluster: Cluster) => Promise<string | undefined>;
  readonly cloud: (cluster: Cluster) => Promise<Cloud>;
  readonly log: Log;
}

/** The handler that the platform calls for requests to the function URL. */
export type AdmissionFunction = (event: unknown, context: FunctionContext) => Promise<UrlResponse>;

/** Milliseconds that API servers wait for an answer; a later one has no effect. */
const WITHIN_MS = 4_000;

/** Larger than any Service: kube-apiserver accepts objects of at most 1.5 MiB, and a review has two. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Creates the function that answers API servers about Services, at the path that the operator signed for
 * their cluster. An unsigned path is rejected before any lookup, whether the cluster exists or not; then the
 * cluster's token is checked. A faulty request or an error of ours gives no verdict. With `failurePolicy:
 * Ignore` the Service is then admitted, and a Warning states its issue.
 */
export function createAdmissionFunction(world: AdmissionDependencies): AdmissionFunction {
  let isTold = false;
  return async (event, context) => {
    const { awsRequestId: requestId } = context;
    const request = UrlRequest.safeParse(event).data;
    if (request === undefined) return respond(400, { message: "this is not a request to a function URL" });
    const path = world.readPath(request.rawPath);
    if (path === undefined) return respond(404, { message: "ask at /lb-service/CLUSTER/SIGNATURE" });
    if (request.requestContext.http.method !== "POST") return respond(405, { message: "POST a review" });
    const name = path.cluster;
    if (!path.isSigned) {
      // Log it once, so that a stranger's requests cannot fill the log.
      if (!isTold) world.log({ level: "warn", event: "UnsignedPath", cluster: name, message: UNSIGNED });
      isTold = true;
      return createUnauthorizedResponse();
    }
    const failed = (error: unknown): void => {
      const message = getErrorMessage(error);
      world.log({ level: "error", event: "ReviewFailed", cluster: name, requestId, message });
    };
    try {
      // Without the cluster's token, the answer reveals neither whether the cluster exists nor that its token
      // is unreadable.
      const cluster = await authenticateCluster(name, request, world).catch(failed);
      if (cluster === undefined) return createUnauthorizedResponse();
      const text = decodeBody(request);
      const review =
        text.length > MAX_CHARACTERS ? undefined : AdmissionReview.safeParse(parseJson(text)).data;
      if (review === undefined)
        return respond(400, {
          message: "the body is not an AdmissionReview of a Service that is made or changed",
        });
      return await reviewService(review, cluster, world, context);
    } catch (error) {
      failed(error);
      return respond(500, { message: "the Service could not be judged" });
    }
  };
}

const UNSIGNED =
  "the path of a request is not signed with a key of this deployment; where an API server of yours asks, give it the URL that `infra admission-url` prints";

function createUnauthorizedResponse(): UrlResponse {
  return respond(401, { message: "the signature in the URL or the token is not that of this cluster" });
}

async function authenticateCluster(
  name: string,
  { headers }: UrlRequest,
  world: AdmissionDependencies,
): Promise<Cluster | undefined> {
  const cluster = await world.cluster(name);
  const expected = cluster && (await world.authorization(cluster));
  // Compares digests of equal length in constant time, for any input.
  const isSame = timingSafeEqual(digestText(headers["authorization"] ?? ""), digestText(expected ?? ""));
  return expected !== undefined && isSame ? cluster : undefined;
}

async function reviewService(
  review: AdmissionReview,
  cluster: Cluster,
  { cloud, log }: AdmissionDependencies,
  context: FunctionContext,
): Promise<UrlResponse> {
  const { object: service, oldObject: before } = review.request;
  const { capabilities } = await cloud(cluster);
  const validation = capabilities?.[SERVICE_VALIDATION];
  if (validation === undefined) return respond(200, buildAdmissionResponse(review, undefined));
  const question = { service, ...(before ? { before } : {}) };
  const signal = AbortSignal.any([createDeadline(context).signal, AbortSignal.timeout(WITHIN_MS)]);
  const { answers } = await validation.observe([question], { signal, share: cluster.limits.floorShare });
  const [answer] = answers;
  const { namespace, name } = service.metadata;
  const facts = { cluster: cluster.name, requestId: context.awsRequestId, namespace, name };
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? { code: "Unavailable", message: "the cloud gave no answer" };
    log({ level: "warn", event: "ReviewUnanswered", ...facts, code, message });
    // The quota prevented the request; that proves nothing about the Service.
    if (code === "Throttled") return respond(200, buildAdmissionResponse(review, undefined));
    return respond(500, { message: "the cloud did not answer" });
  }
  const verdict = ValidationResult.parse(answer.state);
  if (verdict.kind === "allowed") return respond(200, buildAdmissionResponse(review, undefined));
  const { issue } = verdict;
  log({
    level: "info",
    event: "ServiceDenied",
    ...facts,
    code: issue.code,
    message: describeIssue(issue),
  });
  // Only the operator sees the cloud's message; the Service's author gets a sentence from the catalogue.
  return respond(200, buildAdmissionResponse(review, renderEvent(buildWarning(service, issue)).message));
}

function digestText(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

const API_VERSION = "admission.k8s.io/v1";

const Loose = z.looseObject({ metadata: z.looseObject({}) });

/** A Service under review has no version, and may have no creation time. */
const ReviewedService = z.preprocess((object) => {
  const loose = Loose.safeParse(object).data;
  if (loose === undefined) return object;
  const { creationTimestamp, ...metadata } = loose.metadata;
  return {
    ...loose,
    metadata: { resourceVersion: "0", ...metadata, creationTimestamp: creationTimestamp ?? "" },
  };
}, Service);

/** An API server's admission review of a Service. */
const AdmissionReview = z.object({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal("AdmissionReview"),
  request: z.object({
    uid: z.string().min(1).max(128),
    kind: z.object({ group: z.literal(""), version: z.literal("v1"), kind: z.literal("Service") }),
    operation: z.enum(["CREATE", "UPDATE"]),
    object: ReviewedService,
    oldObject: ReviewedService.nullish(),
  }),
});
type AdmissionReview = z.output<typeof AdmissionReview>;

/** Builds the answer: allowed, or denied with a sentence for the Service's author. */
function buildAdmissionResponse(
  { request: { uid } }: AdmissionReview,
  denial: string | undefined,
): Readonly<Record<string, unknown>> {
  const response =
    denial === undefined
      ? { uid, allowed: true }
      : { uid, allowed: false, status: { code: 422, reason: "Invalid", message: denial } };
  return { apiVersion: API_VERSION, kind: "AdmissionReview", response };
}

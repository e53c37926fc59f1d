import { createHash, timingSafeEqual } from "node:crypto";
import type { Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { inWords } from "#core/cluster-events.ts";
import { messageOf } from "#core/message-of.ts";
import { sentenceOf, warningOf } from "#core/service/trouble.ts";
import { SERVICE_VALIDATION, Verdict } from "#core/service/validation.ts";
import { respond, textOf, UrlRequest, type UrlResponse } from "#functions/parts/admission/function-url.ts";
import { AdmissionReview, answerTo } from "#functions/parts/admission/review.ts";
import type { ReadPath } from "#functions/parts/admission/signed-path.ts";
import { deadlineOf, type FunctionContext } from "#functions/parts/deadline.ts";
import type { Log } from "#functions/parts/log-report.ts";

/** What the function touches. */
export interface AdmissionWorld {
  readonly readPath: ReadPath;
  /** The cluster of a name; undefined where there is none. */
  readonly cluster: (name: string) => Promise<Cluster | undefined>;
  /** The `authorization` header by which the cluster's API server is known; undefined where it may not ask. */
  readonly authorization: (cluster: Cluster) => Promise<string | undefined>;
  readonly cloud: (cluster: Cluster) => Promise<Cloud>;
  readonly log: Log;
}

/** The function as a platform calls it, by its URL. */
export type AdmissionFunction = (event: unknown, context: FunctionContext) => Promise<UrlResponse>;

/** API servers wait so long for an answer; what comes later is none. */
const WITHIN_MS = 4_000;

/** Larger than any Service: kube-apiserver takes no object beyond 1.5 MiB, and a review has two. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/**
 * Answers API servers that ask about Services at the path that the operator has signed for their cluster. For any other path nothing is
 * read, whether there is a cluster of that name or not; only then the cluster's token is looked at. Whatever is wrong with the request or on our side is no
 * verdict: with `failurePolicy: Ignore` the Service then goes through, and a Warning tells what is wrong with it.
 */
export function admissionFunction(world: AdmissionWorld): AdmissionFunction {
  let isTold = false;
  return async (event, context) => {
    const { awsRequestId: requestId } = context;
    const request = UrlRequest.safeParse(event).data;
    if (request === undefined) return respond(400, { message: "this is no request to a function URL" });
    const path = world.readPath(request.rawPath);
    if (path === undefined) return respond(404, { message: "ask at /lb-service/CLUSTER/SIGNATURE" });
    if (request.requestContext.http.method !== "POST") return respond(405, { message: "POST a review" });
    const name = path.cluster;
    if (!path.isSigned) {
      // Once: a stranger's requests fill no log.
      if (!isTold) world.log({ level: "warn", event: "UnsignedPath", cluster: name, message: UNSIGNED });
      isTold = true;
      return unauthorized();
    }
    const failed = (error: unknown): void => {
      const message = messageOf(error);
      world.log({ level: "error", event: "ReviewFailed", cluster: name, requestId, message });
    };
    try {
      // Whether there is such a cluster is nobody's business without its token, nor that the token cannot be read.
      const cluster = await knownAs(name, request, world).catch(failed);
      if (cluster === undefined) return unauthorized();
      const text = textOf(request);
      const review = text.length > MAX_CHARACTERS ? undefined : AdmissionReview.safeParse(parsed(text)).data;
      if (review === undefined)
        return respond(400, {
          message: "the body is no AdmissionReview of a Service that is made or changed",
        });
      return await judged(review, cluster, world, context);
    } catch (error) {
      failed(error);
      return respond(500, { message: "the Service could not be judged" });
    }
  };
}

const UNSIGNED =
  "the path of a request is not signed with a key of this deployment; where an API server of yours asks, give it the URL that `infra admission-url` prints";

function unauthorized(): UrlResponse {
  return respond(401, { message: "the signature in the URL or the token is not that of this cluster" });
}

async function knownAs(
  name: string,
  { headers }: UrlRequest,
  world: AdmissionWorld,
): Promise<Cluster | undefined> {
  const cluster = await world.cluster(name);
  const expected = cluster && (await world.authorization(cluster));
  // Of equal length and in constant time, whatever is given and whatever is expected.
  const isSame = timingSafeEqual(digestOf(headers["authorization"] ?? ""), digestOf(expected ?? ""));
  return expected !== undefined && isSame ? cluster : undefined;
}

async function judged(
  review: AdmissionReview,
  cluster: Cluster,
  { cloud, log }: AdmissionWorld,
  context: FunctionContext,
): Promise<UrlResponse> {
  const { object: service, oldObject: before } = review.request;
  const { capabilities } = await cloud(cluster);
  const validation = capabilities?.[SERVICE_VALIDATION];
  if (validation === undefined) return respond(200, answerTo(review, undefined));
  const question = { service, ...(before ? { before } : {}) };
  const signal = AbortSignal.any([deadlineOf(context).signal, AbortSignal.timeout(WITHIN_MS)]);
  const { answers } = await validation.observe([question], { signal, share: cluster.limits.floorShare });
  const [answer] = answers;
  const { namespace, name } = service.metadata;
  const facts = { cluster: cluster.name, requestId: context.awsRequestId, namespace, name };
  if (answer?.kind !== "observed") {
    const { code, message } = answer ?? { code: "Unavailable", message: "the cloud said nothing" };
    log({ level: "warn", event: "ReviewUnanswered", ...facts, code, message });
    // Nothing was sent for want of quota: that says nothing of the Service.
    if (code === "Throttled") return respond(200, answerTo(review, undefined));
    return respond(500, { message: "the cloud did not answer" });
  }
  const verdict = Verdict.parse(answer.state);
  if (verdict.kind === "allowed") return respond(200, answerTo(review, undefined));
  const { problem } = verdict;
  log({ level: "info", event: "ServiceDenied", ...facts, code: problem.code, message: sentenceOf(problem) });
  // What the cloud said is the operator's: whoever wrote the Service reads a sentence of the catalogue.
  return respond(200, answerTo(review, inWords(warningOf(service, problem)).message));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

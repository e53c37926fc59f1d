import * as z from "zod";
import { shown } from "#core/shown-text.ts";
import { ApiUnreachable, type UnreachableCode } from "#kube/client/errors.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/** What an answer to a write (or a read) of one object means; `message` holds the server's own words, cut. */
export type Answer =
  /** Done; where the body says so, with what the object now is. */
  { readonly kind: "applied"; readonly metadata: ObjectMetadata | undefined } | FailedAnswer;

/** Why a request came to nothing. */
export type FailedAnswer =
  /** The object is not as it was read: read again and decide again. */
  | { readonly kind: "conflict"; readonly message: string }
  /** The server will not have it, however often it is asked. */
  | { readonly kind: "rejected"; readonly status: number; readonly message: string }
  /** There is no such object, by the API server's own word. */
  | { readonly kind: "gone"; readonly message: string }
  /** An object of that name is there already. */
  | { readonly kind: "exists"; readonly message: string }
  | { readonly kind: "throttled"; readonly retryAfterSeconds: number; readonly message: string }
  | { readonly kind: "unauthenticated"; readonly message: string }
  /** No answer, or none that means anything; `code` where it was the connection. Nothing is known of the write. */
  | {
      readonly kind: "unavailable";
      readonly code: UnreachableCode | undefined;
      readonly message: string;
    };

/** A stable code for each way in which a request comes to nothing; metrics count by them. */
export type AnswerCode =
  | "Conflict"
  | "AlreadyExists"
  | "Gone"
  | "Expired"
  | "Forbidden"
  | "Rejected"
  | "Throttled"
  | "Unauthenticated"
  | "Unavailable"
  | UnreachableCode;

/** The code of what was not done. */
export function codeOf(answer: FailedAnswer): AnswerCode {
  switch (answer.kind) {
    case "conflict":
      return "Conflict";
    case "exists":
      return "AlreadyExists";
    case "gone":
      return "Gone";
    case "rejected":
      return REJECTIONS.get(answer.status) ?? "Rejected";
    case "throttled":
      return "Throttled";
    case "unauthenticated":
      return "Unauthenticated";
    case "unavailable":
      return answer.code ?? "Unavailable";
  }
}

const REJECTIONS: ReadonlyMap<number, AnswerCode> = new Map([
  [403, "Forbidden"],
  // A version or a continue token that the server does not know any more; not to be mixed up with an object that is gone.
  [410, "Expired"],
]);

/** Of an answered object, what is read back. */
export const ObjectMetadata = z.object({ uid: z.string().min(1), resourceVersion: z.string().min(1) });
export type ObjectMetadata = z.output<typeof ObjectMetadata>;

/** Classifies an answer by status, and by the body where two meanings share one. */
export function classifyAnswer(response: ApiResponse): Answer {
  const { status } = response;
  if (status >= 200 && status < 300) {
    const metadata = metadataHeadOf(response.body) ?? metadataOf(parseJson(response.body));
    return { kind: "applied", metadata };
  }
  const body = parseJson(response.body);
  const failure = Failure.catch({}).parse(body);
  const message = wordsOf(failure, response);
  switch (status) {
    case 401:
      return { kind: "unauthenticated", message };
    case 404:
      // A proxy's 404 is not the API server's word that an object is gone.
      if (failure.reason !== "NotFound") return { kind: "unavailable", code: undefined, message };
      return { kind: "gone", message };
    case 409:
      return { kind: failure.reason === "AlreadyExists" ? "exists" : "conflict", message };
    case 422:
      return isFailedTest(failure) ? { kind: "conflict", message } : { kind: "rejected", status, message };
    case 429:
      return { kind: "throttled", retryAfterSeconds: askedToWaitSeconds(response) ?? 1, message };
    default:
      if (status >= 400 && status < 500) return { kind: "rejected", status, message };
      return { kind: "unavailable", code: undefined, message };
  }
}

/** What a failed `send` means; throws on what is not a matter of the network. */
export function classifyFailure(error: unknown): Extract<Answer, { readonly kind: "unavailable" }> {
  if (!(error instanceof ApiUnreachable)) throw error;
  return { kind: "unavailable", code: error.code, message: error.message };
}

/** The object in a body, or undefined for rubbish. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is read of a metav1.Status; whatever is malformed in it counts as absent. */
const Failure = z.object({
  message: z.string().optional().catch(undefined),
  reason: z.string().optional().catch(undefined),
  details: z
    .object({
      causes: z
        .array(z.object({ field: z.string().optional().catch(undefined) }))
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
type Failure = z.output<typeof Failure>;

/** kube-apiserver's words for a JSON patch that does not fit the object, a failed test above all; it has no finer reason. */
const PATCH_DOES_NOT_FIT = "the server rejected our request due to an error in our request";

function isFailedTest(failure: Failure): boolean {
  const causes = failure.details?.causes ?? [];
  return (
    failure.message?.startsWith(PATCH_DOES_NOT_FIT) === true ||
    // The object was deleted and made again between the server's own read and its write.
    causes.some((cause) => cause.field === "metadata.uid")
  );
}

function wordsOf(failure: Failure, response: ApiResponse): string {
  const words = failure.message ?? `an answer that is not Kubernetes' (${response.body.length} characters)`;
  return `${response.status}: ${shown(words)}`;
}

const MAX_RETRY_AFTER_SECONDS = 30;

/** What the server asks us to wait, at most 30 seconds; Kubernetes sends whole seconds, and nothing else is understood. */
export function askedToWaitSeconds({ headers }: Pick<ApiResponse, "headers">): number | undefined {
  const header = headers["retry-after"] ?? "";
  return /^\d{1,9}$/.test(header) ? Math.min(Number(header), MAX_RETRY_AFTER_SECONDS) : undefined;
}

/**
 * How kube-apiserver begins an object that was asked for as metadata alone: with what is read back here. The rest, most of it managed
 * fields, is parsed for nothing; an answer that begins otherwise is parsed whole.
 */
const METADATA_HEAD =
  /^\{"kind":"PartialObjectMetadata","apiVersion":"meta\.k8s\.io\/v1","metadata":\{"name":"[^"\\]*","uid":"([^"\\]+)","resourceVersion":"([^"\\]+)"/;

function metadataHeadOf(body: string): ObjectMetadata | undefined {
  const [, uid, resourceVersion] = METADATA_HEAD.exec(body) ?? [];
  return uid === undefined || resourceVersion === undefined ? undefined : { uid, resourceVersion };
}

const AnsweredObject = z.object({ metadata: ObjectMetadata });

function metadataOf(body: unknown): ObjectMetadata | undefined {
  const parsed = AnsweredObject.safeParse(body);
  return parsed.success ? parsed.data.metadata : undefined;
}

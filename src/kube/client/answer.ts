import * as z from "zod";
import { parseJson } from "#core/parse-json.ts";
import { sanitizeText } from "#core/sanitize-text.ts";
import { ApiUnreachable, type UnreachableCode } from "#kube/client/errors.ts";
import type { ApiResponse } from "#kube/client/transport.ts";

/**
 * The meaning of an answer to a write or read of one object; `message` holds the server's own words,
 * truncated.
 */
export type Answer =
  /** Done; with the object's new metadata if the body contains it. */
  { readonly kind: "applied"; readonly metadata: ObjectMetadata | undefined } | FailedAnswer;

/** Why a request failed. */
export type FailedAnswer =
  /** The object has changed since it was read: read and decide again. */
  | { readonly kind: "conflict"; readonly message: string }
  /** The server rejects the request; a retry does not help. */
  | { readonly kind: "rejected"; readonly status: number; readonly message: string }
  /** The API server's positive answer that the object does not exist. */
  | { readonly kind: "gone"; readonly message: string }
  /** An object of that name already exists. */
  | { readonly kind: "exists"; readonly message: string }
  | { readonly kind: "throttled"; readonly retryAfterSeconds: number; readonly message: string }
  | { readonly kind: "unauthenticated"; readonly message: string }
  /**
   * No answer, or an unusable one; `code` is set for connection failures. The result of the write is unknown.
   */
  | {
      readonly kind: "unavailable";
      readonly code: UnreachableCode | undefined;
      readonly message: string;
    };

/** A stable code for each kind of failed request; metrics count by it. */
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

/** Returns the code of a failed answer. */
export function getAnswerCode(answer: FailedAnswer): AnswerCode {
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
  // The server no longer knows a version or a continue token; this does not mean that an object is gone.
  [410, "Expired"],
]);

/** The metadata read from the answered object. */
export const ObjectMetadata = z.object({ uid: z.string().min(1), resourceVersion: z.string().min(1) });
export type ObjectMetadata = z.output<typeof ObjectMetadata>;

/** Classifies an answer by status, and by the body if two meanings share a status. */
export function classifyAnswer(response: ApiResponse): Answer {
  const { status } = response;
  if (status >= 200 && status < 300) {
    const metadata = matchMetadataHead(response.body) ?? parseAnsweredMetadata(parseJson(response.body));
    return { kind: "applied", metadata };
  }
  const body = parseJson(response.body);
  const failure = Failure.catch({}).parse(body);
  const message = formatFailure(failure, response);
  switch (status) {
    case 401:
      return { kind: "unauthenticated", message };
    case 404:
      // A proxy's 404 does not prove that an object is gone.
      if (failure.reason !== "NotFound") return { kind: "unavailable", code: undefined, message };
      return { kind: "gone", message };
    case 409:
      return { kind: failure.reason === "AlreadyExists" ? "exists" : "conflict", message };
    case 422:
      return isFailedTest(failure) ? { kind: "conflict", message } : { kind: "rejected", status, message };
    case 429:
      return { kind: "throttled", retryAfterSeconds: parseRetryAfter(response) ?? 1, message };
    default:
      if (status >= 400 && status < 500) return { kind: "rejected", status, message };
      return { kind: "unavailable", code: undefined, message };
  }
}

/** Returns the meaning of a failed `send`; throws errors that are not network failures. */
export function classifyFailure(error: unknown): Extract<Answer, { readonly kind: "unavailable" }> {
  if (!(error instanceof ApiUnreachable)) throw error;
  return { kind: "unavailable", code: error.code, message: error.message };
}

/** The fields read from a metav1.Status; malformed ones count as absent. */
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

/**
 * kube-apiserver's message for a JSON patch that does not fit the object, mainly a failed test; it has no
 * finer reason.
 */
const PATCH_DOES_NOT_FIT = "the server rejected our request due to an error in our request";

function isFailedTest(failure: Failure): boolean {
  const causes = failure.details?.causes ?? [];
  return (
    failure.message?.startsWith(PATCH_DOES_NOT_FIT) === true ||
    // The object was deleted and recreated between the server's own read and its write.
    causes.some((cause) => cause.field === "metadata.uid")
  );
}

function formatFailure(failure: Failure, response: ApiResponse): string {
  const words = failure.message ?? `an answer that is not Kubernetes' (${response.body.length} characters)`;
  return `${response.status}: ${sanitizeText(words)}`;
}

const MAX_RETRY_AFTER_SECONDS = 30;

/**
 * Parses the wait that the server requests, at most 30 seconds. Kubernetes sends whole seconds; other formats
 * are ignored.
 */
export function parseRetryAfter({ headers }: Pick<ApiResponse, "headers">): number | undefined {
  const header = headers["retry-after"] ?? "";
  return /^\d{1,9}$/.test(header) ? Math.min(Number(header), MAX_RETRY_AFTER_SECONDS) : undefined;
}

/**
 * The beginning of kube-apiserver's answer to a metadata-only request, which has all fields read here. The
 * rest, mostly managed fields, need not be parsed. An answer that begins otherwise is parsed whole.
 */
const METADATA_HEAD =
  /^\{"kind":"PartialObjectMetadata","apiVersion":"meta\.k8s\.io\/v1","metadata":\{"name":"[^"\\]*","uid":"([^"\\]+)","resourceVersion":"([^"\\]+)"/;

function matchMetadataHead(body: string): ObjectMetadata | undefined {
  const [, uid, resourceVersion] = METADATA_HEAD.exec(body) ?? [];
  return uid === undefined || resourceVersion === undefined ? undefined : { uid, resourceVersion };
}

const AnsweredObject = z.object({ metadata: ObjectMetadata });

function parseAnsweredMetadata(body: unknown): ObjectMetadata | undefined {
  const parsed = AnsweredObject.safeParse(body);
  return parsed.success ? parsed.data.metadata : undefined;
}

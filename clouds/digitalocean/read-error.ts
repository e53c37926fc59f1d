import * as z from "zod";
import type { ApiError } from "#clouds/http/classify.ts";
import { type ErrorCodes, findMeaning } from "#clouds/http/error-meaning.ts";

/** The format of DigitalOcean's errors. */
const ErrorBody = z.object({
  id: z.string(),
  message: z.string().optional().catch(undefined),
  request_id: z.string().optional().catch(undefined),
});

/** Reads DigitalOcean's error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  if (!success) return undefined;
  const { id, message, request_id: requestId } = data;
  const isBusy = id === "forbidden" && BUSY_LOAD_BALANCER.test(message ?? "");
  const meaning = isBusy ? "Unavailable" : findMeaning(DIGITALOCEAN_ERROR_CODES, id);
  return { id, message, requestId, meaning };
}

/**
 * DigitalOcean's error ids, from its API reference. Quotas have no id: a limit is `unprocessable_entity` or
 * `forbidden`.
 */
const DIGITALOCEAN_ERROR_CODES: ErrorCodes = {
  Throttled: new Set(["too_many_requests"]),
  Denied: new Set(["unauthorized", "forbidden"]),
  Invalid: new Set(["bad_request", "unprocessable_entity"]),
  NotFound: new Set(["not_found"]),
  Conflict: new Set(["conflict"]),
  Unavailable: new Set(["server_error", "internal_server_error", "service_unavailable"]),
};

/**
 * Matches the message of a 403 `forbidden` about a load balancer with a change in progress. It is temporary,
 * says nothing about permissions, and has no id of its own.
 */
const BUSY_LOAD_BALANCER = /processes previous actions/;

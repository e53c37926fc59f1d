import * as z from "zod";
import { BUSY_LOAD_BALANCER, DIGITALOCEAN_ERROR_CODES } from "#clouds/digitalocean/error-codes.ts";
import type { ApiError } from "#clouds/http/classify.ts";
import { findMeaning } from "#clouds/http/error-meaning.ts";

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

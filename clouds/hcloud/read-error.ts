import * as z from "zod";
import { HETZNER_ERROR_CODES } from "#clouds/hcloud/error-codes.ts";
import type { ApiError } from "#clouds/http/classify.ts";
import { findMeaning } from "#clouds/http/error-meaning.ts";

/** The format of Hetzner's errors. */
const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string().optional().catch(undefined) }),
});

/** Reads Hetzner's error from the body of an answer; undefined for any other body. */
export function readError(body: unknown): ApiError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  if (!success) return undefined;
  const { code, message } = data.error;
  return { id: code, message, meaning: findMeaning(HETZNER_ERROR_CODES, code) };
}

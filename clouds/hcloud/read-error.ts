import * as z from "zod";
import type { CloudError } from "#clouds/http/classify.ts";

/** As Hetzner words its errors. */
const ErrorBody = z.object({
  error: z.object({ code: z.string(), message: z.string().optional().catch(undefined) }),
});

/** Hetzner's own error in the body of an answer, where the body is one. */
export function readError(body: unknown): CloudError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  return success ? { id: data.error.code, message: data.error.message } : undefined;
}

import * as z from "zod";
import type { CloudError } from "#clouds/http/classify.ts";

/** As DigitalOcean words its errors. */
const ErrorBody = z.object({
  id: z.string(),
  message: z.string().optional().catch(undefined),
  request_id: z.string().optional().catch(undefined),
});

/** DigitalOcean's own error in the body of an answer, where the body is one. */
export function readError(body: unknown): CloudError | undefined {
  const { success, data } = ErrorBody.safeParse(body);
  return success ? { id: data.id, message: data.message, requestId: data.request_id } : undefined;
}

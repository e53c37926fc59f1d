import * as z from "zod";
import type { CloudError } from "#clouds/http/classify.ts";

/** As Kubernetes words its errors, and, with `type: error`, Rancher its own. */
const Status = z.object({
  kind: z.literal("Status"),
  reason: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
});
const RancherError = z.object({
  type: z.literal("error"),
  code: z.string().optional().catch(undefined),
  message: z.string().nullish().catch(undefined),
});

/** The error in the body of an answer of a Kubernetes API or of Rancher itself, where the body is one. */
export function readError(body: unknown): CloudError | undefined {
  const status = Status.safeParse(body).data;
  if (status !== undefined) return { id: status.reason, message: status.message };
  const error = RancherError.safeParse(body).data;
  return error === undefined ? undefined : { id: error.code, message: error.message ?? undefined };
}

import * as z from "zod";
import { Service } from "#core/service/service.ts";

/** What the capability of a cloud is called that tells of a Service, before it is written, whether it can have its load balancer. */
export const SERVICE_VALIDATION = "serviceValidation";

/** What is asked of it: a Service as it is to be, and as it was. */
export const ValidationQuestion = z.object({ service: Service, before: Service.optional() });
export type ValidationQuestion = z.output<typeof ValidationQuestion>;

/** What it says: nothing is against it, or the problem that the load balancer would have. */
export const Verdict = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("allowed"), because: z.string() }),
  z.object({
    kind: z.literal("denied"),
    problem: z.object({
      code: z.string(),
      field: z.string().optional(),
      value: z.string().optional(),
      allowed: z.string().optional(),
      detail: z.string().optional(),
    }),
  }),
]);
export type Verdict = z.output<typeof Verdict>;

import * as z from "zod";
import { Service } from "#core/service/service.ts";

/**
 * The capability of a cloud that checks, before a Service is written, whether it can get its load balancer.
 */
export const SERVICE_VALIDATION = "serviceValidation";

/** The question about validation: a Service after the change, and before it. */
export const ValidationQuestion = z.object({ service: Service, before: Service.optional() });
export type ValidationQuestion = z.output<typeof ValidationQuestion>;

/** The result of validation: valid, or the issue that the load balancer would have. */
export const ValidationResult = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("allowed"), because: z.string() }),
  z.object({
    kind: z.literal("denied"),
    issue: z.object({
      code: z.string(),
      field: z.string().optional(),
      value: z.string().optional(),
      allowed: z.string().optional(),
      detail: z.string().optional(),
    }),
  }),
]);
export type ValidationResult = z.output<typeof ValidationResult>;

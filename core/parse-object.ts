import * as z from "zod";
import type { ApiObject, Parsed } from "#core/controller.ts";
import { faultsOf } from "#core/faults.ts";

/** Parses an object from outside; where it is malformed, with as much of its identity as it has. Never throws. */
export function parseObject<T extends ApiObject>(schema: z.ZodType<T>, value: unknown): Parsed<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data };
  return { kind: "malformed", ...identityOf(value), faults: faultsOf(parsed.error) };
}

/** What names an object, as far as a report can repeat it. */
const Identity = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253).optional().catch(undefined),
    uid: z.string().min(1).max(128).optional().catch(undefined),
  }),
});

function identityOf(value: unknown): { name?: string; uid?: string } {
  const parsed = Identity.safeParse(value);
  if (!parsed.success) return {};
  const { name, uid } = parsed.data.metadata;
  return { ...(name === undefined ? {} : { name }), ...(uid === undefined ? {} : { uid }) };
}

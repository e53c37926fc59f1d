import * as z from "zod";
import { listFaults } from "#core/config-errors.ts";
import type { ApiObject, ParsedObject } from "#core/watch.ts";

/** Parses an object from outside. A malformed object keeps the valid parts of its identity. Never throws. */
export function parseObject<T extends ApiObject>(schema: z.ZodType<T>, value: unknown): ParsedObject<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { kind: "object", object: parsed.data };
  return { kind: "malformed", ...parseIdentity(value), faults: listFaults(parsed.error) };
}

/** The parts of an object's identity that fit into a report. */
const Identity = z.object({
  metadata: z.object({
    name: z.string().min(1).max(253).optional().catch(undefined),
    uid: z.string().min(1).max(128).optional().catch(undefined),
  }),
});

function parseIdentity(value: unknown): { name?: string; uid?: string } {
  const parsed = Identity.safeParse(value);
  if (!parsed.success) return {};
  const { name, uid } = parsed.data.metadata;
  return { ...(name === undefined ? {} : { name }), ...(uid === undefined ? {} : { uid }) };
}

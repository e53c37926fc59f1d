import * as z from "zod";
import { VisibleAfter } from "./instance-spec.ts";
import { Quotas } from "./quotas.ts";

/**
 * How the next calls fail: with an error answer, by hanging up before any answer, by never answering, with a body that is no XML,
 * with a document that breaks off in the middle, with a connection that is reset in the middle of the body, late, with a list that is
 * empty, or with an empty page behind which the list begins (for calls that take pages: those without ids).
 */
export const Failure = z.strictObject({
  /** Any action where none is named. */
  action: z.string().optional(),
  kind: z.enum(["error", "hang-up", "hang", "rubbish", "truncated", "reset", "slow", "empty", "empty-page"]),
  /** How many calls fail so. */
  count: z.int().positive(),
  /** Of an `error`; InternalError with 500 by default. */
  status: z.int().min(400).max(599).optional(),
  code: z.string().optional(),
  /** Of a `slow` one; 1,000 by default. */
  delayMs: z.int().positive().optional(),
});
export type Failure = z.output<typeof Failure>;

/** What can be changed while the endpoint runs; keys that are not given stay as they are. */
export const Behaviour = z.strictObject({
  /** How long every answer takes. */
  latencyMs: z.number().nonnegative().optional(),
  quotas: Quotas.optional(),
  /** Of instances added from then on. */
  visibleAfterMs: VisibleAfter.optional(),
  /** Used up in this order; a new list replaces what is left of the old one. */
  failures: z.array(Failure).optional(),
  /** Actions that the caller's policies do not allow. */
  denied: z.array(z.string()).optional(),
  /** Whether instances tell the id of their zone beside its name. */
  placementZoneId: z.boolean().optional(),
});
export type Behaviour = z.output<typeof Behaviour>;

/** All settings, with a value each. */
export type Settings = { readonly [Key in keyof Behaviour]-?: Exclude<Behaviour[Key], undefined> };

/** EC2 as it is on a good day, next door. */
export const USUAL_SETTINGS: Settings = {
  latencyMs: 0,
  quotas: {},
  visibleAfterMs: 0,
  failures: [],
  denied: [],
  placementZoneId: true,
};

/** The settings with those of a behaviour put over them. */
export function withBehaviour(settings: Settings, behaviour: Behaviour): Settings {
  return {
    latencyMs: behaviour.latencyMs ?? settings.latencyMs,
    quotas: behaviour.quotas ?? settings.quotas,
    visibleAfterMs: behaviour.visibleAfterMs ?? settings.visibleAfterMs,
    failures: behaviour.failures ?? settings.failures,
    denied: behaviour.denied ?? settings.denied,
    placementZoneId: behaviour.placementZoneId ?? settings.placementZoneId,
  };
}

/** The failure that a call of the action meets, if any, and the settings after it. */
export function takeFailure(
  settings: Settings,
  action: string,
): { readonly failure: Failure | undefined; readonly settings: Settings } {
  const at = settings.failures.findIndex((each) => each.action === undefined || each.action === action);
  const failure = settings.failures[at];
  if (failure === undefined) return { failure, settings };
  const rest = failure.count > 1 ? [{ ...failure, count: failure.count - 1 }] : [];
  return { failure, settings: { ...settings, failures: settings.failures.toSpliced(at, 1, ...rest) } };
}

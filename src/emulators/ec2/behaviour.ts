import * as z from "zod";
import { VisibleAfter } from "./instance-spec.ts";
import { Quotas } from "./quotas.ts";

/**
 * A failure of the next calls. It can be an error answer, a closed connection, no answer, or a late answer. It can
 * also be a body that is not XML, a document that breaks off, a reset within the body, or an empty list. For
 * calls that take pages (those without IDs) it can also be an empty page before the list.
 */
export const Failure = z.strictObject({
  /** Default: any action. */
  action: z.string().optional(),
  kind: z.enum(["error", "hang-up", "hang", "rubbish", "truncated", "reset", "slow", "empty", "empty-page"]),
  /** The number of failing calls. */
  count: z.int().positive(),
  /** For an `error`; default: InternalError with 500. */
  status: z.int().min(400).max(599).optional(),
  code: z.string().optional(),
  /** For a `slow` answer; default: 1,000. */
  delayMs: z.int().positive().optional(),
});
export type Failure = z.output<typeof Failure>;

/** Settings that can change while the endpoint runs; missing keys stay unchanged. */
export const Behaviour = z.strictObject({
  /** The latency of every answer. */
  latencyMs: z.number().nonnegative().optional(),
  quotas: Quotas.optional(),
  /** For instances added from then on. */
  visibleAfterMs: VisibleAfter.optional(),
  /** Used up in this order; a new list replaces the rest of the old one. */
  failures: z.array(Failure).optional(),
  /** Actions that the caller's policies deny. */
  denied: z.array(z.string()).optional(),
});
export type Behaviour = z.output<typeof Behaviour>;

/** All settings, each with a value. */
export type Settings = { readonly [Key in keyof Behaviour]-?: Exclude<Behaviour[Key], undefined> };

/** A healthy EC2 without latency. */
export const USUAL_SETTINGS: Settings = {
  latencyMs: 0,
  quotas: {},
  visibleAfterMs: 0,
  failures: [],
  denied: [],
};

/** Returns the settings with a behaviour's values. */
export function applyBehaviour(settings: Settings, behaviour: Behaviour): Settings {
  return {
    latencyMs: behaviour.latencyMs ?? settings.latencyMs,
    quotas: behaviour.quotas ?? settings.quotas,
    visibleAfterMs: behaviour.visibleAfterMs ?? settings.visibleAfterMs,
    failures: behaviour.failures ?? settings.failures,
    denied: behaviour.denied ?? settings.denied,
  };
}

/** Returns the failure of a call, if any, and the settings after it. */
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

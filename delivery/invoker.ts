import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";

/** The result of an invocation. */
export type Invocation = { readonly kind: "report"; readonly report: Report } | FailedInvocation;

/** An invocation without a report. */
export interface FailedInvocation {
  readonly kind: "failed";
  /**
   * Stable codes: `Unreachable`, `Throttled`, `TimedOut`, `FunctionError`, `BadReport`, `Denied`, `Rejected`,
   * `Abandoned`.
   */
  readonly code: string;
  readonly message: string;
  /** Milliseconds in which the function may still write; the objects stay in flight until then. */
  readonly settleMs: number;
}

/**
 * Sends one event to a function and returns its report. Never rejects and never retries: the relay owns all
 * retries.
 */
export interface Invoker {
  invoke(event: Event, signal: AbortSignal): Promise<Invocation>;
  close(): Promise<void>;
}

/** The code of an invocation that its sender has abandoned. */
export const ABANDONED = "Abandoned";

/** Whether the platform refused before starting the invocation. */
export function isRefusal(invocation: Invocation): boolean {
  return invocation.kind === "failed" && invocation.settleMs === 0 && REFUSALS.has(invocation.code);
}

const REFUSALS: ReadonlySet<string> = new Set(["Denied", "Throttled", "Unreachable"]);

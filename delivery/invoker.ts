import type { Event } from "#core/event.ts";
import type { Report } from "#core/report.ts";

/** What an invocation came to. */
export type Invocation = { readonly kind: "report"; readonly report: Report } | FailedInvocation;

/** An invocation without a report. */
export interface FailedInvocation {
  readonly kind: "failed";
  /** Stable: `Unreachable`, `Throttled`, `TimedOut`, `FunctionError`, `BadReport`, `Denied`, `Rejected`, `Abandoned`. */
  readonly code: string;
  readonly message: string;
  /** Milliseconds for which the function may still be writing; the objects stay in flight until then. */
  readonly settleMs: number;
}

/** Carries one event to a function and its report back. Never rejects, never retries: the relay owns all retries. */
export interface Invoker {
  invoke(event: Event, signal: AbortSignal): Promise<Invocation>;
  close(): Promise<void>;
}

/** The code of an invocation that whoever sent it has given up. */
export const ABANDONED = "Abandoned";

/** Whether the platform refused, without beginning the invocation at all. */
export function isRefusal(invocation: Invocation): boolean {
  return invocation.kind === "failed" && invocation.settleMs === 0 && REFUSALS.has(invocation.code);
}

const REFUSALS: ReadonlySet<string> = new Set(["Denied", "Throttled", "Unreachable"]);

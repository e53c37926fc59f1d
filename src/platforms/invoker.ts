import type { Event } from "#core/event.ts";
import { parseJson } from "#core/parse-json.ts";
import { Report } from "#core/report.ts";
import { getErrorMessage } from "#core/sanitize-text.ts";

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
 * Sends events to functions. Implementations: one for each function platform, one in the same process, and
 * wrappers.
 */
export interface Invoker {
  /**
   * Sends one event to its controller's function and resolves with the function's report. Ends soon after the
   * signal fires, and in any case after `FUNCTION_TIMEOUT_MS` and a few seconds. Never rejects and never
   * retries: the relay owns all retries. A failure says how long the function may still write.
   */
  invoke(event: Event, signal: AbortSignal): Promise<Invocation>;
  /** Frees sockets. No invocation is made after it. */
  close(): Promise<void>;
}

/** A report, or what is wrong with a text that should be one: a predicate, such as `is the report of another event`. */
export type ParsedReport =
  | { readonly kind: "report"; readonly report: Report }
  | { readonly kind: "fault"; readonly fault: string };

/** Parses the answer of a function to an event. */
export function parseReport(text: string, event: Event): ParsedReport {
  const parsed = Report.safeParse(parseJson(text));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return { kind: "fault", fault: `is not a report: ${issue?.path.join(".")} ${issue?.message}` };
  }
  if (parsed.data.id === event.id) return { kind: "report", report: parsed.data };
  return { kind: "fault", fault: "is the report of another event" };
}

/** The timeout of the functions on every platform, in milliseconds: that of serverless.yml. */
export const FUNCTION_TIMEOUT_MS = 30_000;

/** The code of an invocation that its sender has abandoned. */
export const ABANDONED = "Abandoned";

/** Whether the platform refused before starting the invocation. */
export function isRefusal(invocation: Invocation): boolean {
  return invocation.kind === "failed" && invocation.settleMs === 0 && REFUSALS.has(invocation.code);
}

const REFUSALS: ReadonlySet<string> = new Set(["Denied", "Throttled", "Unreachable"]);

/**
 * What an invocation shows about the platform: available, refusing or unreachable, silent, or undefined for
 * no evidence.
 */
export type PlatformSign = "answers" | "refuses" | "silent" | undefined;

/** Codes that come from the caller or the invoker and say nothing about the platform. */
const NON_PLATFORM_CODES: ReadonlySet<string> = new Set([ABANDONED, "InvokerFault"]);

/**
 * Returns the platform sign of an invocation. A failed function or a missing permission is not a platform
 * failure: an operator must fix it, and the fallback must not restore access that an operator removed.
 */
export function readPlatformSign(invocation: Invocation): PlatformSign {
  if (invocation.kind === "report") return "answers";
  const { code, settleMs } = invocation;
  if (NON_PLATFORM_CODES.has(code)) return undefined;
  if (code === "TimedOut") return "silent";
  // The answer was lost on its way; the function may have been slow.
  if (code === "Unreachable") return settleMs > 0 ? "silent" : "refuses";
  return code === "Throttled" ? "refuses" : "answers";
}

/** Invokes, and stops waiting for the answer when the signal fires. Never rejects. */
export async function invokeUntil(
  invoker: Pick<Invoker, "invoke">,
  event: Event,
  signal: AbortSignal,
): Promise<Invocation> {
  let onAbort = (): void => {};
  const abandoned = new Promise<Invocation>((resolve) => {
    onAbort = () => resolve(createFailure(ABANDONED, "the caller no longer waits"));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([invoker.invoke(event, signal), abandoned]);
  } catch (error) {
    // An invoker that violates its contract costs one batch a retry and does not end the relay.
    return createFailure("InvokerFault", getErrorMessage(error));
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function createFailure(code: string, message: string): Invocation {
  return { kind: "failed", code, message, settleMs: 0 };
}

import { ABANDONED, type Invocation } from "#delivery/invoker.ts";

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

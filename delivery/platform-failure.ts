import { ABANDONED, type Invocation } from "#delivery/invoker.ts";

/** What an invocation says of the platform beneath it: that it is there, that it refuses or cannot be reached, that it is silent; or nothing. */
export type PlatformSign = "answers" | "refuses" | "silent" | undefined;

/** Whoever stands between says so of itself. */
const OF_NOBODY: ReadonlySet<string> = new Set([ABANDONED, "InvokerFault"]);

/**
 * Reads the sign. A function that fails, and a right that is missing, are no failure of the platform: nothing but somebody's action mends
 * them, and what somebody has taken away is not to be given back by other means.
 */
export function platformSignOf(invocation: Invocation): PlatformSign {
  if (invocation.kind === "report") return "answers";
  const { code, settleMs } = invocation;
  if (OF_NOBODY.has(code)) return undefined;
  if (code === "TimedOut") return "silent";
  // An answer that was lost on its way: the function may have been slow.
  if (code === "Unreachable") return settleMs > 0 ? "silent" : "refuses";
  return code === "Throttled" ? "refuses" : "answers";
}

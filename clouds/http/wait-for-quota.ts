import { type Budget, MAX_TURN_WAIT_MS } from "#clouds/http/budget.ts";
import type { CallContext } from "#clouds/http/call-context.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";

/**
 * Waits for a request's turn; returns a fault if that would take too long. `template` is the request in
 * messages.
 */
export async function waitForQuota(
  { budget, sleep }: { readonly budget: Budget; readonly sleep: Sleep },
  template: string,
  { signal, meter }: CallContext,
): Promise<Fault | undefined> {
  let waited = 0;
  for (let wait = budget.take(); wait !== undefined; wait = budget.take()) {
    if (waited + wait > MAX_TURN_WAIT_MS) return buildThrottledFault(template, wait);
    await sleep(wait, signal);
    waited += wait;
    meter.waited(wait);
    if (signal.aborted) return buildAbortedFault(template);
  }
  return undefined;
}

export function buildAbortedFault(template: string): Fault {
  return { code: "Aborted", message: `${template}: aborted before it was answered` };
}

function buildThrottledFault(template: string, waitMs: number): Fault {
  const seconds = (waitMs / 1000).toFixed(1);
  return {
    code: "Throttled",
    message: `${template}: this batch's share of the account's quota is spent, the next request may start in ${seconds} s`,
  };
}

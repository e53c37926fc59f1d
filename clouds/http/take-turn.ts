import type { Turn } from "#clouds/http/api.ts";
import { type Budget, MAX_TURN_WAIT_MS } from "#clouds/http/budget.ts";
import type { Fault } from "#clouds/http/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";

/** Waits for a request's turn; why there is none, where that would take too long. `template` is the request as messages name it. */
export async function takeTurn(
  { budget, sleep }: { readonly budget: Budget; readonly sleep: Sleep },
  template: string,
  { signal, meter }: Turn,
): Promise<Fault | undefined> {
  let waited = 0;
  for (let wait = budget.take(); wait !== undefined; wait = budget.take()) {
    if (waited + wait > MAX_TURN_WAIT_MS) return spent(template, wait);
    await sleep(wait, signal);
    waited += wait;
    meter.waited(wait);
    if (signal.aborted) return abortedFault(template);
  }
  return undefined;
}

export function abortedFault(template: string): Fault {
  return { code: "Aborted", message: `${template}: aborted before it was answered` };
}

function spent(template: string, waitMs: number): Fault {
  const seconds = (waitMs / 1000).toFixed(1);
  return {
    code: "Throttled",
    message: `${template}: this batch's share of the account's quota is spent, the next request may go in ${seconds} s`,
  };
}

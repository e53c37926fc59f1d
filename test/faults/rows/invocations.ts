import { burst } from "#test/faults/burst.ts";
import type { InvocationFault } from "#test/faults/platform.ts";
import type { Row } from "#test/faults/row.ts";

/** What can befall invocations. */
export const INVOCATION_ROWS: readonly Row[] = [
  row("Invoke: the next 40 answer 429", "throttled", 40),
  row("Invoke: the next 40 answer 5xx", "service-error", 40),
  row("Invoke: the next 20 time out", "timed-out", 20),
  row("Invoke: the next 20 end by Runtime.ExitError", "exited", 20),
  row("Invoke: the next 20 answer rubbish", "rubbish", 20),
  row("Invoke: the next 8 answer half a report", "half-a-report", 8),
  row("Invoke: the next 20 reports break off", "cut-report", 20),
  { ...row("the next 10 answers are lost after the writes", "answer-lost", 10), isQuick: true },
  row("each invocation is delivered twice", "twice", 1_000),
  row("deliveries in reverse order", "reversed", 1_000),
];

/** The faults are used up, or there are more than a burst has invocations. */
function row(name: string, fault: InvocationFault, count: number): Row {
  const isWhole = count >= 1_000;
  return {
    name,
    play: burst({
      before: ({ platform }) => platform.fail(fault, count),
      after({ platform }) {
        if (!isWhole && platform.left() > 0) throw new Error(`${platform.left()} faults were never met`);
        if (isWhole && platform.left() === count) throw new Error("no fault was met");
      },
    }),
  };
}

import { createBurst } from "#test/faults/burst.ts";
import type { InvocationFault } from "#test/faults/platform.ts";
import type { Row } from "#test/faults/row.ts";

/** More than a burst has invocations. */
const ALL = 1_000;

/** Faults of invocations: if functions complete their work anyway, a burst meets fewer than planned. */
export const INVOCATION_ROWS: readonly Row[] = [
  row("Invoke: the next 40 answer 429", "throttled", 40, 40),
  row("Invoke: the next 40 answer 5xx", "service-error", 40, 40),
  row("Invoke: the next 20 time out", "timed-out", 20, 4),
  row("Invoke: the next 20 end by Runtime.ExitError", "exited", 20, 4),
  row("Invoke: the next 20 answer rubbish", "rubbish", 20, 3),
  row("Invoke: the next 20 answer half a report", "half-a-report", 20, 3),
  row("Invoke: the next 20 reports break off", "cut-report", 20, 3),
  { ...row("the next 20 answers are lost after the writes", "answer-lost", 20, 3), isQuick: true },
  row("each invocation is delivered twice", "twice", ALL, 3),
  row("deliveries in reverse order", "reversed", ALL, 3),
];

function row(name: string, fault: InvocationFault, count: number, least: number): Row {
  return {
    name,
    play: createBurst({
      before: ({ platform }) => platform.fail(fault, count),
      after({ platform }) {
        const met = count - platform.left();
        if (met < least) throw new Error(`${met} of ${count} faults were met`);
      },
    }),
  };
}

import type { Event } from "#core/event.ts";
import type { Clock } from "#kube/follow/clock.ts";
import type { FailedInvocation, Invocation, Invoker } from "#platforms/invoker.ts";

/** The behaviour of a platform of functions, with a clock of its own. */
export interface FakePlatformOptions {
  readonly clock: Clock;
  /** Concurrent invocations beyond this number are refused, like beyond a Lambda account's concurrency. */
  readonly concurrency: number;
  /** How long a function runs. */
  readonly runsMs: number;
  /** How long a refusal takes to arrive. */
  readonly refusesMs?: number;
  /** The function's result, computed at its end. */
  readonly work: (event: Event) => Invocation;
}

/** A platform of functions in memory, with a limit and a record of its events. */
export interface FakePlatform extends Invoker {
  readonly events: readonly Event[];
  /** Returns the accepted events, in the order of their start. */
  readonly taken: () => readonly Event[];
  readonly refused: () => number;
  readonly running: () => number;
  readonly peak: () => number;
  /** Returns when the last function ended, in milliseconds since the epoch. */
  readonly lastMs: () => number;
  setConcurrency(concurrency: number): void;
  /** While set, every invocation fails with this. */
  fail(failure: FailedInvocation | undefined): void;
}

export function createFakePlatform(options: FakePlatformOptions): FakePlatform {
  const { clock, runsMs, refusesMs = 10 } = options;
  const events: Event[] = [];
  const taken: Event[] = [];
  let { concurrency } = options;
  let failure: FailedInvocation | undefined;
  let running = 0;
  let peak = 0;
  let refused = 0;
  let lastMs = clock.now();
  const pass = (durationMs: number): Promise<void> =>
    new Promise((resolve) => void clock.after(durationMs, resolve));

  async function invoke(event: Event): Promise<Invocation> {
    events.push(structuredClone(event));
    if (failure !== undefined || running >= concurrency) {
      refused += 1;
      const answer = failure ?? THROTTLED;
      await pass(refusesMs);
      return answer;
    }
    taken.push(event);
    running += 1;
    peak = Math.max(peak, running);
    await pass(runsMs);
    running -= 1;
    lastMs = clock.now();
    return options.work(event);
  }

  return {
    events,
    taken: () => taken,
    refused: () => refused,
    running: () => running,
    peak: () => peak,
    lastMs: () => lastMs,
    setConcurrency(value) {
      concurrency = value;
    },
    fail(value) {
      failure = value;
    },
    invoke,
    close: () => Promise.resolve(),
  };
}

/** Lambda's answer beyond its limit. */
export const THROTTLED: FailedInvocation = {
  kind: "failed",
  code: "Throttled",
  message: "TooManyRequestsException: Rate Exceeded.",
  settleMs: 0,
};

/** The failure of an unreachable platform. */
export const UNREACHABLE: FailedInvocation = {
  kind: "failed",
  code: "Unreachable",
  message: "connect ECONNREFUSED",
  settleMs: 0,
};

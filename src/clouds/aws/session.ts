import { type Budget, MAX_TOKEN_WAIT_MS } from "#clouds/aws/budget.ts";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { buildAbortedFault, classify, type Fault, type Outcome } from "#clouds/aws/errors.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import type { Operation } from "#clouds/aws/quotas.ts";
import type { OnCloudRequest } from "#clouds/cloud.ts";
import { ok } from "#clouds/outcome.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { CloudUsage } from "#core/report.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

/** Dependencies that an AWS capability shares with the rest of its cloud. */
export interface AwsDependencies {
  readonly cluster: AwsCluster;
  readonly budget: Budget;
  readonly sleep: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly credentials: () => CredentialSource | undefined;
}

/**
 * Maximum time that an action or a question waits for its token. If the wait would be longer, it fails and is
 * retried later.
 */
export const MAX_WAIT_MS = 2_000;

/** Parts of a request apart from its input. */
export interface SessionParts<Api = Ec2> {
  readonly ec2: Api;
  readonly budget: Budget;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  readonly onRequest?: OnCloudRequest | undefined;
  /** Maximum time that a request waits for its token; by default `MAX_TOKEN_WAIT_MS`. */
  readonly maxTokenWaitMs?: number;
}

/** The requests of one batch: within the budget, counted, with a deadline, and with errors as values. */
export interface Session<Api = Ec2> {
  /** Once aborted, no new request starts and those in flight end. */
  readonly signal: AbortSignal;
  send<Result>(
    operation: Operation,
    request: (ec2: Api, signal: AbortSignal) => Promise<Result>,
  ): Promise<Outcome<Result>>;
  /** Like `send`, without a second attempt, for requests that must not be repeated. */
  sendOnce<Result>(
    operation: Operation,
    request: (ec2: Api, signal: AbortSignal) => Promise<Result>,
  ): Promise<Outcome<Result>>;
  /**
   * Returns a session with the same budget and counts, but another signal, and if given another maximum time
   * that a request waits for its token.
   */
  withSignal(signal: AbortSignal, maxTokenWaitMs?: number): Session<Api>;
  getUsage(): CloudUsage;
}

/** Maximum duration of a request, including name look-up, credentials and body. */
const REQUEST_TIMEOUT_MS = 12_000;

/** Delay before the one retry after a broken connection or a failure of the service. */
const SECOND_ATTEMPT_DELAY_MS = 200;

export function createSession<Api = Ec2>({
  ec2,
  budget,
  sleep,
  signal,
  onRequest,
  maxTokenWaitMs = MAX_TOKEN_WAIT_MS,
}: SessionParts<Api>): Session<Api> {
  const calls: Record<string, number> = {};
  let throttled = 0;
  let waitedMs = 0;

  const takeToken = async (
    operation: Operation,
    signal: AbortSignal,
    limitMs: number,
  ): Promise<Fault | undefined> => {
    const reservation = budget.reserve(operation);
    try {
      let waitedForTokenMs = 0;
      for (let wait = reservation.take(); wait !== undefined; wait = reservation.take()) {
        if (waitedForTokenMs + wait > limitMs)
          return { code: "Throttled", message: formatBudgetSpent(operation, wait) };
        await sleep(wait, signal);
        waitedForTokenMs += wait;
        waitedMs += wait;
        if (signal.aborted) return { code: "Throttled", message: formatBudgetSpent(operation, wait) };
      }
      return undefined;
    } finally {
      reservation.leave();
    }
  };

  const attempt = async <Result>(
    operation: Operation,
    request: (ec2: Api, signal: AbortSignal) => Promise<Result>,
    signal: AbortSignal,
    limitMs: number,
  ): Promise<Outcome<Result>> => {
    if (signal.aborted) return { kind: "fault", fault: buildAbortedFault(operation) };
    const throttle = await takeToken(operation, signal, limitMs);
    if (throttle !== undefined) return { kind: "fault", fault: throttle };
    calls[operation] = (calls[operation] ?? 0) + 1;
    const startedMs = performance.now();
    const reportEnd = (code: string | undefined): void =>
      onRequest?.({ operation, durationMs: performance.now() - startedMs, code });
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
      const result = await raceAbort(request(ec2, limit), limit);
      reportEnd(undefined);
      return ok(result);
    } catch (error) {
      const failure = signal.aborted ? buildAbortedFault(operation) : classify(error, operation);
      reportEnd(failure.code);
      if (signal.aborted) return { kind: "fault", fault: failure };
      if (failure.code === "Throttled") {
        throttled += 1;
        budget.recordThrottle(operation);
      }
      return { kind: "fault", fault: { ...failure, thrown: error } };
    }
  };

  const createWithSignal = (signal: AbortSignal, limitMs = maxTokenWaitMs): Session<Api> => ({
    signal,
    sendOnce: (operation, request) => attempt(operation, request, signal, limitMs),
    async send(operation, request) {
      const first = await attempt(operation, request, signal, limitMs);
      if (first.kind === "ok" || first.fault.transient !== true) return first;
      await sleep(SECOND_ATTEMPT_DELAY_MS, signal);
      return attempt(operation, request, signal, limitMs);
    },
    withSignal: createWithSignal,
    getUsage: () => ({ calls: { ...calls }, throttled, waitedMs }),
  });
  return createWithSignal(signal);
}

/**
 * Rejects on abort: the SDK checks the signal while it waits for the answer, but not while it waits for
 * credentials.
 */
function raceAbort<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([result, promise]).finally(() => signal.removeEventListener("abort", abort));
}

function formatBudgetSpent(operation: Operation, waitMs: number): string {
  const seconds = (waitMs / 1000).toFixed(1);
  return `${operation}: this batch's share of the account's quota is spent, the next request may go in ${seconds} s`;
}

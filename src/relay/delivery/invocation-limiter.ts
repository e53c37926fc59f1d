import type { ControllerName } from "#core/event.ts";

/**
 * Limits the invocations of all clusters: by what the function platform accepts at a time, and by the quotas
 * of the cloud accounts.
 *
 * It waits out the platform's refusals (too many at once, unreachable, denied) once for all clusters. Waiters
 * keep what they want to send, and batches stay whole. Requests and answers are plain data, so that other
 * threads can use it.
 */
export interface InvocationLimiter {
  /**
   * Returns a permit for one invocation, or queues `waiter` and returns undefined. When its turn comes,
   * `waiter` is called and either enters again at once or gives up its turn.
   */
  enter(request: PermitRequest, waiter: () => void): InvocationPermit | undefined;
  /** Removes a waiter from all queues. */
  forget(waiter: () => void): void;
  /**
   * Returns the milliseconds between batches that keep the account within its quotas; 0 until calls had to
   * wait.
   */
  spacingMs(quotaKey: string): number;
}

/** A request for a permit. */
export interface PermitRequest {
  readonly controller: ControllerName;
  readonly cluster: string;
  /** Equal for clusters that share the API quotas of a cloud. */
  readonly quotaKey: string;
  /**
   * The smallest part of these quotas that an invocation may spend. An account has room for as many
   * invocations as there are such parts.
   */
  readonly floorShare: number;
}

/** A permit for one invocation. Exactly one of its two methods is called once and ends it. */
export interface InvocationPermit {
  /** The part of the account's API quotas, 0 < share ≤ 1. */
  readonly share: number;
  /** The number of clusters that use the account, as far as this process knows; at least 1. */
  readonly accountClusters: number;
  /** Gives the permit back because nothing was sent. */
  leave(): void;
  ended(end: InvocationEnd): void;
}

/** The result of an invocation, as the limiter needs it. */
export interface InvocationEnd {
  /** The code of a failed invocation. */
  readonly code: string | undefined;
  /** Whether the platform refused it before it began. */
  readonly refused: boolean;
  /** Milliseconds for which the function may still be running. */
  readonly settleMs: number;
  readonly durationMs: number;
  /** Undefined if unknown. */
  readonly usage: CloudUsage | undefined;
}

/**
 * An invocation's calls to the cloud, from its report: their number, how many were throttled, and how long
 * calls waited.
 */
export interface CloudUsage {
  readonly calls: number;
  readonly throttled: number;
  readonly waitedMs: number;
}

import type { ControllerName } from "#core/event.ts";

/**
 * Stands before the invoker for all clusters together: what the function platform takes at a time, and what the clouds' accounts
 * have room for. What the platform refuses (too many at once, unreachable, denied) is waited out here, once for everybody; those
 * that wait keep what they have to send, and batches stay whole. Only plain data passes, so that it can be asked from afar.
 */
export interface Gate {
  /**
   * Leave for one invocation; where there is none now, `waiter` stands in the queue, and is called when it is its turn: then it
   * asks again at once, or has no use for it.
   */
  enter(request: GateRequest, waiter: () => void): Place | undefined;
  /** Takes a waiter out of all queues. */
  forget(waiter: () => void): void;
  /** Milliseconds between batches for which the account's quotas last: 0 until calls had to wait for their turn. */
  spacingMs(quotaKey: string): number;
}

/** Who asks for leave. */
export interface GateRequest {
  readonly controller: ControllerName;
  readonly cluster: string;
  /** Equal for clusters that spend from the same API quotas of a cloud. */
  readonly quotaKey: string;
  /** The least part of these quotas that an invocation may spend: an account has room for as many as there are such parts. */
  readonly floorShare: number;
}

/** Leave for one invocation; it is over after one of the two, which is called once. */
export interface Place {
  /** Of the account's API quotas, 0 < share ≤ 1. */
  readonly share: number;
  /** Clusters that draw on the account, as far as this process knows; 1 or more. */
  readonly accountClusters: number;
  /** There is nothing to send after all. */
  leave(): void;
  ended(end: InvocationEnd): void;
}

/** What the gate is told of an invocation. */
export interface InvocationEnd {
  /** Of a failed invocation. */
  readonly code: string | undefined;
  /** Whether the platform refused, without beginning it at all. */
  readonly refused: boolean;
  /** Milliseconds for which the function may still be running. */
  readonly settleMs: number;
  readonly durationMs: number;
  /** Where nothing is known of it, none. */
  readonly usage: CloudUse | undefined;
}

/** What a report says of an invocation's calls to the cloud: how many there were, how many were throttled, and how long calls waited for their turn. */
export interface CloudUse {
  readonly calls: number;
  readonly throttled: number;
  readonly waitedMs: number;
}

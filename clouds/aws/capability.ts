import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Budget } from "#clouds/aws/budget.ts";
import type { CredentialSource } from "#clouds/aws/credentials.ts";
import type { ActionCall, Capability } from "#clouds/cloud.ts";
import type { Sleep } from "#clouds/sleep.ts";
import { messageOf } from "#core/message-of.ts";

/** What a capability of AWS shares with the rest of its cloud. */
export interface AwsWorld {
  readonly cluster: AwsCluster;
  readonly budget: Budget;
  readonly sleep: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly credentials: () => CredentialSource | undefined;
}

/** A capability, and how its connections are closed. */
export interface ClosableCapability extends Capability {
  close(): void;
}

/** How long an action or a question waits for its token at most; whoever would wait longer comes back later. */
export const MAX_WAIT_MS = 2_000;

/**
 * Opens a call's share of the budget; returns what closes it. The questions and actions of one invocation have one signal, and
 * together its share once, however many of them are under way at a time.
 */
export function createEntrance(budget: Budget): (call: ActionCall) => () => void {
  const inside = new Map<AbortSignal, { readonly leave: () => void; calls: number }>();
  return ({ signal, share }) => {
    const invocation = inside.get(signal) ?? { leave: budget.enter(share), calls: 0 };
    inside.set(signal, invocation);
    invocation.calls += 1;
    return () => {
      invocation.calls -= 1;
      if (invocation.calls > 0) return;
      inside.delete(signal);
      invocation.leave();
    };
  };
}

/** A capability whose code, and with it its SDK clients, is loaded when it is first used; what fails to load is an error of each. */
export function loadedCapability(load: () => Promise<ClosableCapability>): ClosableCapability {
  let loading: Promise<ClosableCapability> | undefined;
  let loaded: ClosableCapability | undefined;
  const get = async (): Promise<
    ClosableCapability | { readonly kind: "failed"; readonly message: string }
  > => {
    loading ??= load();
    try {
      loaded = await loading;
      return loaded;
    } catch (error) {
      loading = undefined;
      return { kind: "failed", message: `the capability cannot be loaded: ${messageOf(error)}` };
    }
  };
  return {
    async observe(questions, call) {
      const capability = await get();
      if (!("kind" in capability)) return capability.observe(questions, call);
      const { message } = capability;
      return { answers: questions.map(() => ({ kind: "error", code: "Invalid", message })), usage: NO_USAGE };
    },
    async act(action, call) {
      const capability = await get();
      if (!("kind" in capability)) return capability.act(action, call);
      return { answer: { kind: "error", code: "Invalid", message: capability.message }, usage: NO_USAGE };
    },
    close: () => loaded?.close(),
  };
}

const NO_USAGE = { calls: {}, throttled: 0, waitedMs: 0 };

import type { Clock } from "#kube/follow/clock.ts";
import { createFunctionGate, type FunctionGate } from "#relay/delivery/function-gate.ts";
import type { CloudUse, Gate, GateRequest, Place } from "#relay/delivery/gate.ts";
import { createQuota, type Quota } from "#relay/delivery/quota.ts";

export interface GateOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/**
 * The gate of a process. A gate for each function, as the platform refuses by function: one that is missing or has used up its own
 * concurrency stops no other, and a limit that they share is met by each of them. And room for each account: for as many
 * invocations as its quotas have shares, and for one of each cluster in any case, so that no other can keep it waiting.
 */
export function createGate({ clock, random }: GateOptions): Gate {
  const functions = new Map<string, FunctionGate>();
  const accounts = new Map<string, Account>();

  function functionOf(controller: string): FunctionGate {
    const gate = functions.get(controller) ?? createFunctionGate(clock, random);
    functions.set(controller, gate);
    return gate;
  }

  function accountOf(quotaKey: string): Account {
    const account = accounts.get(quotaKey) ?? {
      quota: createQuota(clock.now()),
      inFlight: new Map<string, number>(),
      waiting: new Set<() => void>(),
    };
    accounts.set(quotaKey, account);
    return account;
  }

  /** Takes a share of the account; what it answers gives it back. */
  function begin(account: Account, { cluster, floorShare }: GateRequest): Began {
    const share = account.quota.begin(floorShare, clock.now());
    account.inFlight.set(cluster, (account.inFlight.get(cluster) ?? 0) + 1);
    return {
      share,
      end(usage) {
        const left = (account.inFlight.get(cluster) ?? 1) - 1;
        if (left > 0) account.inFlight.set(cluster, left);
        else account.inFlight.delete(cluster);
        account.quota.end(share, floorShare, usage, clock.now());
        callAll(account.waiting);
      },
    };
  }

  return {
    enter(request, waiter) {
      const account = accountOf(request.quotaKey);
      if (!hasRoom(account, request)) {
        account.waiting.add(waiter);
        return undefined;
      }
      const place = functionOf(request.controller).enter(waiter);
      if (place === undefined) return undefined;
      return placeOf(place, begin(account, request));
    },
    forget(waiter) {
      for (const gate of functions.values()) gate.forget(waiter);
      for (const { waiting } of accounts.values()) waiting.delete(waiter);
    },
    spacingMs: (quotaKey) => accounts.get(quotaKey)?.quota.spacingMs() ?? 0,
  };
}

interface Account {
  readonly quota: Quota;
  /** By cluster, for those that have any. */
  readonly inFlight: Map<string, number>;
  /** Those that wait for room. */
  readonly waiting: Set<() => void>;
}

interface Began {
  readonly share: number;
  end(usage: CloudUse | undefined): void;
}

function hasRoom({ quota, inFlight }: Account, { cluster, floorShare }: GateRequest): boolean {
  return !inFlight.has(cluster) || quota.inFlight() < Math.floor(1 / floorShare);
}

function placeOf(place: ReturnType<FunctionGate["enter"]> & object, { share, end }: Began): Place {
  let isOver = false;
  const once = (does: () => void): void => {
    if (isOver) return;
    isOver = true;
    does();
  };
  return {
    share,
    leave: () =>
      once(() => {
        end(undefined);
        place.leave();
      }),
    ended: (invocationEnd) =>
      once(() => {
        end(invocationEnd.usage);
        place.ended(invocationEnd);
      }),
  };
}

/** Each may wait again meanwhile. */
function callAll(waiting: Set<() => void>): void {
  const waiters = [...waiting];
  waiting.clear();
  for (const waiter of waiters) waiter();
}

import { type Answer, buildFault, type Call, formatCallName } from "./call.ts";

/** How a call fails. */
export type Failure =
  /** Rejected, as by a service whose quota is spent; it does not land. */
  | { readonly kind: "throttle" }
  /** Rejected with an AWS code; it does not land. */
  | { readonly kind: "refuse"; readonly code: string; readonly status?: number; readonly message?: string }
  /** The connection is reset before the call lands. */
  | { readonly kind: "reset" }
  /** The call lands, and the connection is reset in place of the answer. */
  | { readonly kind: "lose-answer" }
  /** The call is delayed before it lands. */
  | { readonly kind: "delay"; readonly delayMs: number };

/**
 * The next calls of an operation, such as `elbv2:CreateListener`, of any change (`change`) or read, or of all
 * (`*`).
 */
export interface PlannedFailure {
  readonly operation: string;
  /** Default: 1. */
  readonly count?: number;
  /** How many calls of the operation pass before. */
  readonly after?: number;
  /** Only calls whose request contains this text count. */
  readonly naming?: string;
  readonly failure: Failure;
}

/**
 * A bucket of tokens for calls of one operation or of all of a service (`elbv2:*`). It can also hold for
 * those that describe (`elbv2:describing`), register and deregister (`elbv2:registering`), or make another
 * change (`elbv2:changing`).
 */
export interface Quota {
  readonly operation: string;
  readonly tokens: number;
  readonly perSecond: number;
}

/** Planned failures, and quotas. */
export interface Failures {
  plan(failure: PlannedFailure): void;
  /** Returns how many planned failures are left. */
  left(): number;
  /** Drops the planned failures that are left. */
  drop(): void;
  limit(quotas: readonly Quota[]): void;
  /** Returns the failure of a call, if any. */
  take(call: Call): Failure | undefined;
  forget(): void;
}

/** Creates planned failures and quotas; `now` returns a clock's milliseconds. */
export function createFailures(now: () => number): Failures {
  let planned: {
    readonly operation: string;
    count: number;
    after: number;
    readonly naming: string;
    readonly failure: Failure;
  }[] = [];
  let buckets: (Quota & { left: number; atMs: number })[] = [];

  const takePlanned = (call: Call): Failure | undefined => {
    const found = planned.find(
      ({ operation, naming }) =>
        isMeant(operation, call) && Object.values(call.form).some((value) => value.includes(naming)),
    );
    if (found === undefined) return undefined;
    if (found.after > 0) {
      found.after -= 1;
      return undefined;
    }
    found.count -= 1;
    planned = planned.filter(({ count }) => count > 0);
    return found.failure;
  };
  const takeTokens = (call: Call): Failure | undefined => {
    for (const bucket of buckets.filter(({ operation }) => isMeant(operation, call))) {
      const at = now();
      const filled = bucket.left + ((at - bucket.atMs) / 1_000) * bucket.perSecond;
      bucket.left = Math.min(bucket.tokens, filled);
      bucket.atMs = at;
      if (bucket.left < 1) return { kind: "throttle" };
      bucket.left -= 1;
    }
    return undefined;
  };
  return {
    plan: ({ operation, count = 1, after = 0, naming = "", failure }) =>
      void planned.push({ operation, count, after, naming, failure }),
    left: () => planned.reduce((sum, { count }) => sum + count, 0),
    drop: () => {
      planned = [];
    },
    limit: (quotas) => {
      buckets = quotas.map((quota) => ({ ...quota, left: quota.tokens, atMs: now() }));
    },
    take: (call) => takePlanned(call) ?? takeTokens(call),
    forget: () => {
      planned = [];
      buckets = [];
    },
  };
}

/** Returns whether an operation changes something. */
export function isChange({ operation }: Pick<Call, "operation">): boolean {
  return !/^(Describe|Get|List|Assume)/.test(operation);
}

/** Builds the answer of a rejected call. */
export function buildRefusal(call: Call, failure: Extract<Failure, { kind: "throttle" | "refuse" }>): Answer {
  if (failure.kind === "refuse")
    return buildFault(call, failure.code, failure.message ?? "as the proxy was told", failure.status);
  return call.service === "ec2"
    ? buildFault(call, "RequestLimitExceeded", "Request limit exceeded.", 503)
    : buildFault(call, "Throttling", "Rate exceeded");
}

function isMeant(operation: string, call: Call): boolean {
  if (operation === "*") return true;
  if (operation === "change") return isChange(call);
  if (operation === "describe") return !isChange(call);
  const names = [formatCallName(call), `${call.service}:*`, `${call.service}:${doingOf(call)}`];
  return names.includes(operation);
}

/** Returns the class of operations that AWS counts together. */
function doingOf(call: Call): "describing" | "registering" | "changing" {
  if (!isChange(call)) return "describing";
  return /^(Der|R)egister/.test(call.operation) ? "registering" : "changing";
}

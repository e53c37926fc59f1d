import { type Answer, type Call, faultOf, nameOf } from "./call.ts";

/** What becomes of a call that is to fail. */
export type Failure =
  /** Refused, as a service does whose quota is spent; it does not land. */
  | { readonly kind: "throttle" }
  /** Refused with a code of AWS's; it does not land. */
  | { readonly kind: "refuse"; readonly code: string; readonly status?: number; readonly message?: string }
  /** The connection is reset before the call lands. */
  | { readonly kind: "reset" }
  /** It lands, and the connection is reset in place of the answer. */
  | { readonly kind: "lose-answer" }
  /** It takes so long before it lands. */
  | { readonly kind: "delay"; readonly delayMs: number };

/** The next calls of an operation, such as `elbv2:CreateListener`, or of any that changes something (`change`) or not, or of all (`*`). */
export interface PlannedFailure {
  readonly operation: string;
  /** 1 without it. */
  readonly count?: number;
  /** Calls of the operation that pass before. */
  readonly after?: number;
  /** Of these those alone whose request says this text somewhere. */
  readonly naming?: string;
  readonly failure: Failure;
}

/**
 * A bucket of tokens for calls of one operation, or of a service's all (`elbv2:*`), or of those that describe (`elbv2:describing`),
 * register and deregister (`elbv2:registering`), or change anything else (`elbv2:changing`).
 */
export interface Quota {
  readonly operation: string;
  readonly tokens: number;
  readonly perSecond: number;
}

/** Failures that were planned, and quotas. */
export interface Failures {
  plan(failure: PlannedFailure): void;
  /** How many of those planned are left. */
  left(): number;
  /** Takes back what is left of them. */
  drop(): void;
  limit(quotas: readonly Quota[]): void;
  /** What a call meets, if anything. */
  take(call: Call): Failure | undefined;
  forget(): void;
}

/** `now` is a clock's milliseconds. */
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

/** Whether an operation changes something. */
export function isChange({ operation }: Pick<Call, "operation">): boolean {
  return !/^(Describe|Get|List|Assume)/.test(operation);
}

/** What a refused call is answered. */
export function refusal(call: Call, failure: Extract<Failure, { kind: "throttle" | "refuse" }>): Answer {
  if (failure.kind === "refuse")
    return faultOf(call, failure.code, failure.message ?? "as the proxy was told", failure.status);
  return call.service === "ec2"
    ? faultOf(call, "RequestLimitExceeded", "Request limit exceeded.", 503)
    : faultOf(call, "Throttling", "Rate exceeded");
}

function isMeant(operation: string, call: Call): boolean {
  if (operation === "*") return true;
  if (operation === "change") return isChange(call);
  if (operation === "describe") return !isChange(call);
  const names = [nameOf(call), `${call.service}:*`, `${call.service}:${doingOf(call)}`];
  return names.includes(operation);
}

/** What AWS counts together. */
function doingOf(call: Call): "describing" | "registering" | "changing" {
  if (!isChange(call)) return "describing";
  return /^(Der|R)egister/.test(call.operation) ? "registering" : "changing";
}

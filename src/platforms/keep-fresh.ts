/** A value, and how long it is valid. */
export interface Reading<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch; undefined if unknown. */
  readonly endsAt?: number | undefined;
}

/** Returns a cached value and reads it again only when needed. */
export interface FreshValue<Value> {
  /**
   * Returns a valid value. `fresh` reads it again because the last one was rejected. If the read fails, it
   * returns the last value while that is valid, and rejects otherwise.
   */
  get(options?: { readonly fresh?: boolean }): Promise<Value>;
}

/** Options of the cache. */
export interface KeepFreshOptions {
  /** The value is read again after this time at most. */
  readonly maxAgeMs: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Random number from 0 to below 1. */
  readonly random?: () => number;
}

/** A value is read again after this part of its life, so that a failed read can be retried before its end. */
const SHARE_OF_LIFE = 0.8;
/** Reads happen earlier by up to this part, so that processes started together do not read together. */
const JITTER = 0.1;
/** Minimum age for a new read, however short the value's life is. */
const MIN_AGE_MS = 1_000;
/** Delay before a failed read is repeated. */
const RETRY_MS = 5_000;
/** Maximum time that a caller waits for a new value while the last one is valid. */
const PATIENCE_MS = 2_000;
/** A read that takes longer has failed. */
const READ_TIMEOUT_MS = 30_000;
/** A rejection requests header and connection shortly after one another; both count as one. */
const SAME_REFUSAL_MS = 1_000;

/**
 * Caches what `read` returns until most of its life is over. One read serves all waiting callers. `read` must
 * reject a value that is already expired.
 */
export function keepFresh<Value>(
  read: (fresh: boolean) => Promise<Reading<Value>>,
  { maxAgeMs, now = Date.now, random = Math.random }: KeepFreshOptions,
): FreshValue<Value> {
  let held: HeldValue<Value> | undefined;
  let reading: Promise<Value> | undefined;
  let failure: { readonly error: unknown; readonly failedAt: number; readonly until: number } | undefined;

  async function start(fresh: boolean): Promise<Value> {
    try {
      const { value, endsAt = Number.POSITIVE_INFINITY } = await limitTime(read(fresh));
      const readAt = now();
      const age = Math.min(maxAgeMs, (endsAt - readAt) * SHARE_OF_LIFE) * (1 - random() * JITTER);
      held = {
        value,
        readAt,
        endsAt,
        dueAt: readAt + Math.max(age, MIN_AGE_MS),
        freshAt: fresh ? readAt : undefined,
      };
      failure = undefined;
      return value;
    } catch (error) {
      const failedAt = now();
      failure = { error, failedAt, until: failedAt + RETRY_MS * (1 + random()) };
      throw error;
    } finally {
      reading = undefined;
    }
  }

  const join = (fresh: boolean): Promise<Value> => {
    reading ??= start(fresh);
    return reading;
  };

  return {
    async get({ fresh = false } = {}) {
      const at = now();
      // If the machine's clock was set back, the age is unknown.
      const isWaiting =
        reading === undefined && failure !== undefined && at >= failure.failedAt && at < failure.until;
      if (fresh) {
        const isRead = held?.freshAt !== undefined && Math.abs(at - held.freshAt) < SAME_REFUSAL_MS;
        return isRead && held !== undefined ? held.value : join(true);
      }
      if (held === undefined || at >= held.endsAt) {
        if (isWaiting) throw failure?.error;
        return join(false);
      }
      if ((at >= held.readAt && at < held.dueAt) || isWaiting) return held.value;
      return preferLast(join(false), held.value);
    },
  };
}

interface HeldValue<Value> {
  readonly value: Value;
  readonly readAt: number;
  readonly endsAt: number;
  /** When to read it again. */
  readonly dueAt: number;
  /** When it was read because the previous value was rejected. */
  readonly freshAt: number | undefined;
}

/** Returns the next value, or the last one if the next takes long or fails. */
function preferLast<Value>(next: Promise<Value>, last: Value): Promise<Value> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(last), PATIENCE_MS);
    next.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      () => {
        clearTimeout(timer);
        resolve(last);
      },
    );
  });
}

async function limitTime<Value>(value: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${READ_TIMEOUT_MS / 1000} s`)),
      READ_TIMEOUT_MS,
    );
  });
  try {
    return await Promise.race([value, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

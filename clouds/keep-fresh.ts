/** What was read, and until when it holds. */
export interface Reading<Value> {
  readonly value: Value;
  /** Milliseconds since the epoch; undefined where it does not say. */
  readonly endsAt?: number | undefined;
}

/** Hands out what is read no more often than there is reason to. */
export interface KeptFresh<Value> {
  /**
   * What holds now. `fresh` reads it anew, as the last was refused. Where it cannot be read, what still holds is handed out; rejects
   * where nothing does.
   */
  get(options?: { readonly fresh?: boolean }): Promise<Value>;
}

/** How something is kept. */
export interface KeepFreshOptions {
  /** It is read again after so long at most … */
  readonly maxAgeMs: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

/** … and once this share of its life is over, so that what fails can be tried again before its end. */
const SHARE_OF_LIFE = 0.8;
/** Up to this share earlier, or all that were started together would ask together. */
const JITTER = 0.1;
/** However short a life is. */
const MIN_AGE_MS = 1_000;
/** Before it is read again that could not be read. */
const RETRY_MS = 5_000;
/** Whoever has something that still holds does not wait longer for what comes after it. */
const PATIENCE_MS = 2_000;
/** A reading that has not ended by then has failed. */
const READ_TIMEOUT_MS = 30_000;
/** A refusal asks for header and connection, one soon after the other; they mean the same. */
const SAME_REFUSAL_MS = 1_000;

/**
 * Keeps what `read` answers until most of its life is over. One reading serves all who wait for it. A value that is read only to be
 * found at its end is for `read` to reject.
 */
export function keepFresh<Value>(
  read: (fresh: boolean) => Promise<Reading<Value>>,
  { maxAgeMs, now = Date.now, random = Math.random }: KeepFreshOptions,
): KeptFresh<Value> {
  let held: Held<Value> | undefined;
  let reading: Promise<Value> | undefined;
  let failure: { readonly error: unknown; readonly failedAt: number; readonly until: number } | undefined;

  async function start(fresh: boolean): Promise<Value> {
    try {
      const { value, endsAt = Number.POSITIVE_INFINITY } = await inTime(read(fresh));
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
      // Where the machine's clock was set back, no age can be told.
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
      return patiently(join(false), held.value);
    },
  };
}

interface Held<Value> {
  readonly value: Value;
  readonly readAt: number;
  readonly endsAt: number;
  /** When it is to be read again. */
  readonly dueAt: number;
  /** When it was read because the one before was refused. */
  readonly freshAt: number | undefined;
}

/** The next value, or the last one where that takes long or cannot be had. */
function patiently<Value>(next: Promise<Value>, last: Value): Promise<Value> {
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

async function inTime<Value>(value: Promise<Value>): Promise<Value> {
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

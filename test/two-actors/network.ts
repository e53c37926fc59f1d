/** A network in virtual time. A request arrives when its delay is over, one after the other. */
export interface Network {
  /** Virtual milliseconds since the start. */
  nowMs(): number;
  /** Carries a request out when it arrives, and returns its result. */
  send<Value>(delayMs: number, carryOut: () => Promise<Value>): Promise<Value>;
  /** Resolves after this many virtual milliseconds. */
  sleep(delayMs: number): Promise<void>;
  /**
   * Delivers requests until none remains or the next one is due after `untilMs`. Returns whether all were
   * delivered.
   */
  run(untilMs: number): Promise<boolean>;
}

interface Arrival {
  readonly dueMs: number;
  readonly order: number;
  readonly arrive: () => Promise<void>;
}

/**
 * Turns of the event loop that an actor needs from one answer to its next request; its other work takes no
 * time.
 */
const TURNS = 4;

export function createNetwork(): Network {
  const arrivals: Arrival[] = [];
  let nowMs = 0;
  let order = 0;

  const send: Network["send"] = (delayMs, carryOut) =>
    new Promise((resolve, reject) => {
      order += 1;
      arrivals.push({
        dueMs: nowMs + delayMs,
        order,
        arrive: () => carryOut().then(resolve, reject),
      });
    });
  return {
    nowMs: () => nowMs,
    send,
    sleep: (delayMs) => send(delayMs, async () => undefined),
    async run(untilMs) {
      while (true) {
        for (let turns = 0; turns < TURNS; turns += 1) await new Promise(setImmediate);
        arrivals.sort((one, other) => one.dueMs - other.dueMs || one.order - other.order);
        const [next] = arrivals;
        if (next === undefined) return true;
        if (next.dueMs > untilMs) return false;
        arrivals.shift();
        nowMs = Math.max(nowMs, next.dueMs);
        await next.arrive();
      }
    },
  };
}

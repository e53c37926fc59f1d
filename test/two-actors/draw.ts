/** Random numbers from a seed, the same in every run (mulberry32). */
export interface Draw {
  /** At least `from`, and less than `to`. */
  between(from: number, to: number): number;
  chance(probability: number): boolean;
  one<Value>(of: readonly [Value, ...Value[]]): Value;
}

export function createDraw(seed: number): Draw {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    between: (from, to) => from + next() * (to - from),
    chance: (probability) => next() < probability,
    one: (of) => of[Math.floor(next() * of.length)] as (typeof of)[number],
  };
}

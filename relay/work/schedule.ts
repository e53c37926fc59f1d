/** Keys with a due time each; a key is in it at most once. */
export interface Schedule {
  /** Adds the key, or moves it. */
  set(key: string, atMs: number): void;
  delete(key: string): void;
  /** Returns the earliest due time. */
  nextMs(): number | undefined;
  /** Removes and returns all that are due, earliest first. */
  due(nowMs: number): readonly string[];
}

/**
 * Creates a schedule as a heap. Moved or deleted keys leave stale slots, which are removed when they come up
 * or become the majority.
 */
export function createSchedule(): Schedule {
  const times = new Map<string, number>();
  let heap: Slot[] = [];

  const isStale = (slot: Slot): boolean => times.get(slot.key) !== slot.atMs;

  function top(): Slot | undefined {
    for (let slot = heap[0]; slot !== undefined; slot = heap[0]) {
      if (!isStale(slot)) return slot;
      pop(heap);
    }
    return undefined;
  }

  return {
    set(key, atMs) {
      if (times.get(key) === atMs) return;
      times.set(key, atMs);
      push(heap, { key, atMs });
      if (heap.length <= 2 * times.size + SLACK) return;
      heap = heap.filter((slot) => !isStale(slot)).sort((a, b) => a.atMs - b.atMs);
    },
    delete(key) {
      times.delete(key);
    },
    nextMs: () => top()?.atMs,
    due(nowMs) {
      const keys: string[] = [];
      for (let slot = top(); slot !== undefined && slot.atMs <= nowMs; slot = top()) {
        keys.push(slot.key);
        times.delete(slot.key);
        pop(heap);
      }
      return keys;
    },
  };
}

interface Slot {
  readonly key: string;
  readonly atMs: number;
}

/** Stale slots that the heap may hold before it is cleaned. */
const SLACK = 64;

function push(heap: Slot[], slot: Slot): void {
  let index = heap.length;
  heap.push(slot);
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || above.atMs <= slot.atMs) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = slot;
}

function pop(heap: Slot[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    let below = heap[child];
    const right = heap[child + 1];
    if (right !== undefined && below !== undefined && right.atMs < below.atMs) {
      child += 1;
      below = right;
    }
    if (below === undefined || below.atMs >= last.atMs) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
}

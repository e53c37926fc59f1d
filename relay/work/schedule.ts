/** Keys with a time each; a key stands in it at most once. */
export interface Schedule {
  /** Puts the key there, or moves it. */
  set(key: string, atMs: number): void;
  delete(key: string): void;
  /** When the earliest is due. */
  nextMs(): number | undefined;
  /** Takes out all that are due, earliest first. */
  due(nowMs: number): readonly string[];
}

/** A schedule as a heap; what is moved or deleted leaves its old place when that comes up, or when such places prevail. */
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

/** Places that may stand empty before the heap is cleaned. */
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

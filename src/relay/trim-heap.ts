import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Clock } from "#kube/follow/clock.ts";

/** Returns the heap's memory after large lists. */
export interface HeapTrimmer {
  /** Counts the objects of a list that has ended. */
  listed(objects: number): void;
  close(): void;
}

/** What a trimmer needs of its process. */
export interface HeapTrimmerOptions {
  readonly clock: Clock;
  /** Returns whether objects wait only to be sent. */
  readonly isBusy: () => boolean;
  /** Runs one collection of garbage. Default: V8's most thorough one. */
  readonly collect?: (() => void) | undefined;
}

/** Listed objects that leave enough garbage; a smaller number is not worth a collection. */
const MIN_OBJECTS = 1_000;

/** Time after the last list, because many clusters list one after another; and between two looks while busy. */
const QUIET_MS = 1_000;

/** Lists that follow each other for longer than this delay no collection. */
const MAX_QUIET_MS = 20_000;

/** Shortest time between two collections, each of which takes tens of milliseconds. */
const APART_MS = 60_000;

/**
 * Collects garbage after large lists, as soon as no work waits. What a list keeps lives until the list is complete,
 * so V8 moves it to its old generation. There it would stay: an idle process allocates too little for a collection.
 */
export function createHeapTrimmer({
  clock,
  isBusy,
  collect = collectGarbage,
}: HeapTrimmerOptions): HeapTrimmer {
  let objects = 0;
  /** When there were enough objects. */
  let enoughMs: number | undefined;
  let collectedMs = Number.NEGATIVE_INFINITY;
  let cancel = (): void => {};

  function schedule(): void {
    cancel();
    cancel = clock.after(Math.max(QUIET_MS, collectedMs + APART_MS - clock.now()), trim);
  }

  function trim(): void {
    if (isBusy()) {
      schedule();
      return;
    }
    objects = 0;
    enoughMs = undefined;
    collectedMs = clock.now();
    collect();
  }

  return {
    listed(more) {
      objects += more;
      if (objects < MIN_OBJECTS) return;
      enoughMs ??= clock.now();
      if (clock.now() - enoughMs < MAX_QUIET_MS) schedule();
    },
    close: () => cancel(),
  };
}

type Collect = (options: { readonly [name: string]: string }) => void;

let collectNow: Collect | undefined;

/** V8 offers collections only to a context that is created after the flag was set. */
function collectGarbage(): void {
  if (collectNow === undefined) {
    setFlagsFromString("--expose-gc");
    collectNow = runInNewContext("gc") as Collect;
  }
  // The regular flavor returns little: it leaves pages that are nearly empty.
  collectNow({ type: "major", execution: "sync", flavor: "last-resort" });
}

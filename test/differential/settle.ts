import { setTimeout as sleep } from "node:timers/promises";
import { findRow, type KnownDifference } from "./known-differences.ts";
import type { Side } from "./side.ts";
import { compare, type Difference, readVersion, takeSnapshot } from "./snapshot.ts";

/** What two sides at rest differ in. */
export interface Comparison {
  readonly differences: readonly Difference[];
  /** Differences that a row of the docs explains. */
  readonly known: readonly { readonly row: KnownDifference; readonly difference: Difference }[];
}

/** A side is at rest when nothing has changed for this long. */
const QUIET_MS = 30_000;
/** The stock controller retries after up to five minutes. */
const LIMIT_MS = 300_000;
const POLL_MS = 1_500;

/**
 * Waits until both sides are at rest, and compares them. Where they differ without a reason, a retry may still be due:
 * it compares again after each change, and at the end.
 */
export async function settle(stock: Side, ours: Side): Promise<Comparison> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    await waitForRest([stock, ours], deadline);
    await ours.tidy();
    const all = compare(await takeSnapshot(stock), await takeSnapshot(ours));
    const known = all.flatMap((difference) => {
      const row = findRow(difference);
      return row === undefined ? [] : [{ row, difference }];
    });
    const differences = all.filter((each) => !known.some(({ difference }) => difference === each));
    if (differences.length === 0 || performance.now() > deadline) return { differences, known };
    await waitForChange([stock, ours], deadline);
  }
}

/** Resolves when no side has changed for a while, or at the deadline; rejects if a contender has ended. */
async function waitForRest(sides: readonly Side[], deadline: number): Promise<void> {
  let last = "";
  let sinceMs = performance.now();
  while (performance.now() < deadline && performance.now() - sinceMs < QUIET_MS) {
    const version = await readVersions(sides);
    if (version !== last) sinceMs = performance.now();
    last = version;
    await sleep(POLL_MS);
  }
}

async function waitForChange(sides: readonly Side[], deadline: number): Promise<void> {
  const before = await readVersions(sides);
  while (performance.now() < deadline && (await readVersions(sides)) === before) await sleep(POLL_MS);
}

async function readVersions(sides: readonly Side[]): Promise<string> {
  for (const side of sides) {
    const failure = side.failure();
    if (failure !== undefined) throw new Error(failure);
  }
  return (await Promise.all(sides.map(readVersion))).join(" | ");
}

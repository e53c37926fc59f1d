import { expect, test } from "vitest";
import { rotateClusters } from "#sweep/dispatch.ts";
import { isAuditTurn, isRefreshTurn, toMinute } from "#sweep/select.ts";

const NAMES = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`);
const START = toMinute(Date.parse("2026-01-01T00:00:00Z"));

function turnsOf(isTurn: (name: string, minute: number) => boolean, minutes: number): readonly number[] {
  return Array.from(
    { length: minutes },
    (_, minute) => NAMES.filter((name) => isTurn(name, START + minute)).length,
  );
}

test.each([
  ["audit", isAuditTurn, 10],
  ["refresh", (uid: string, minute: number) => isRefreshTurn(uid, minute), 5],
  ["refresh of its own period", (uid: string, minute: number) => isRefreshTurn(uid, minute, 600), 10],
] as const)(
  "each of a thousand has its %s once in the period, about as many in each minute",
  (_, isTurn, period) => {
    const turns = turnsOf(isTurn, period);
    const mean = NAMES.length / period;
    expect(turns.reduce((sum, each) => sum + each, 0)).toBe(NAMES.length);
    for (const each of turns) {
      expect(each).toBeGreaterThan(mean * 0.6);
      expect(each).toBeLessThan(mean * 1.4);
    }
    for (const name of NAMES.slice(0, 20)) {
      const minutes = Array.from({ length: 3 * period }, (_, minute) => isTurn(name, START + minute));
      expect(minutes.filter(Boolean)).toHaveLength(3);
    }
  },
);

test.each([1, 7, 14, 25])("each of %i clusters is the first one in turn", (count) => {
  const names = NAMES.slice(0, count);
  const first = names.map((_, minute) => rotateClusters(names, START + minute)[0]);
  expect(new Set(first).size).toBe(count);
});

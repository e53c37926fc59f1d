import { describe, expect, test } from "vitest";
import {
  formatOrphanMark,
  isPending,
  isTurn,
  NOTICE_MS,
  parseOrphanMark,
  selectOldestMark,
  TURN_MS,
} from "#core/service/orphans/mark.ts";
import { MINUTE_MS, NOON_MS } from "#test/core/service/orphans/world.ts";

const at = (minutes: number) => NOON_MS + minutes * MINUTE_MS;
const marked = (fromMinutes: number) => formatOrphanMark({ sinceMs: NOON_MS, fromMs: at(fromMinutes) });

describe("the mark of an orphan", () => {
  test("is an interval, in characters that any tag accepts, and is parsed as written", () => {
    expect(marked(15)).toBe("2026-03-01T12:00:00.000Z/2026-03-01T12:15:00.000Z");
    expect(marked(15)).toMatch(/^[\w.:/ +=@-]{1,256}$/);
    expect(parseOrphanMark(marked(15))).toEqual({ sinceMs: NOON_MS, fromMs: at(15) });
  });

  test.each([undefined, "", "yes", "2026-03-01T12:00:00Z", "a/b", `${"2026-03-01T12:00:00Z/".repeat(3)}`])(
    "%s is not a mark",
    (text) => {
      expect(parseOrphanMark(text)).toBeUndefined();
    },
  );

  test.each([
    [14, false, true],
    [15, true, true],
    [29, true, true],
    [30, false, false],
  ])(
    "with a turn from minute 15: in minute %i it is its turn: %s, and still pending: %s",
    (minute, is, pending) => {
      const mark = { sinceMs: NOON_MS, fromMs: at(15) };
      expect([isTurn(mark, at(minute)), isPending(mark, at(minute))]).toEqual([is, pending]);
    },
  );

  test("the first by turn is selected, and among equal turns the first by ID", () => {
    const holdings = [
      { id: "none" },
      { id: "rubbish", mark: "x" },
      { id: "b", mark: marked(10) },
      { id: "a", mark: marked(10) },
      { id: "later", mark: marked(12) },
      { id: "not-yet", mark: marked(40) },
    ];
    expect(selectOldestMark(holdings, at(15))?.id).toBe("a");
    expect(selectOldestMark(holdings.toReversed(), at(15))?.id).toBe("a");
    expect(selectOldestMark(holdings, at(26))?.id).toBe("later");
    expect(selectOldestMark(holdings, at(70))).toBeUndefined();
  });

  test("its turn begins after the audit of every Service, and is longer than the time between two audits", () => {
    expect(NOTICE_MS).toBeGreaterThan(11 * MINUTE_MS);
    expect(TURN_MS).toBeGreaterThan(11 * MINUTE_MS);
  });
});

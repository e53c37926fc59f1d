import { describe, expect, test } from "vitest";
import {
  inTurn,
  isPending,
  isTurn,
  markOfText,
  NOTICE_MS,
  TURN_MS,
  writtenMark,
} from "#core/service/orphans/mark.ts";
import { MINUTE_MS, NOON_MS } from "#test/core/service/orphans/world.ts";

const at = (minutes: number) => NOON_MS + minutes * MINUTE_MS;
const marked = (fromMinutes: number) => writtenMark({ sinceMs: NOON_MS, fromMs: at(fromMinutes) });

describe("the mark of an orphan", () => {
  test("is an interval, in letters that any tag takes, and is read as it was written", () => {
    expect(marked(15)).toBe("2026-03-01T12:00:00.000Z/2026-03-01T12:15:00.000Z");
    expect(marked(15)).toMatch(/^[\w.:/ +=@-]{1,256}$/);
    expect(markOfText(marked(15))).toEqual({ sinceMs: NOON_MS, fromMs: at(15) });
  });

  test.each([undefined, "", "yes", "2026-03-01T12:00:00Z", "a/b", `${"2026-03-01T12:00:00Z/".repeat(3)}`])(
    "%s is none",
    (text) => {
      expect(markOfText(text)).toBeUndefined();
    },
  );

  test.each([
    [14, false, true],
    [15, true, true],
    [29, true, true],
    [30, false, false],
  ])(
    "of a turn from minute 15 on: in minute %i it is its turn: %s, and yet to end: %s",
    (minute, is, pending) => {
      const mark = { sinceMs: NOON_MS, fromMs: at(15) };
      expect([isTurn(mark, at(minute)), isPending(mark, at(minute))]).toEqual([is, pending]);
    },
  );

  test("of several the one that is first by its turn goes, and of those at the same time the first by its id", () => {
    const holdings = [
      { id: "none" },
      { id: "rubbish", mark: "x" },
      { id: "b", mark: marked(10) },
      { id: "a", mark: marked(10) },
      { id: "later", mark: marked(12) },
      { id: "not-yet", mark: marked(40) },
    ];
    expect(inTurn(holdings, at(15))?.id).toBe("a");
    expect(inTurn(holdings.toReversed(), at(15))?.id).toBe("a");
    expect(inTurn(holdings, at(26))?.id).toBe("later");
    expect(inTurn(holdings, at(70))).toBeUndefined();
  });

  test("its turn comes later than the audit of every Service, and is longer than the time between two audits", () => {
    expect(NOTICE_MS).toBeGreaterThan(11 * MINUTE_MS);
    expect(TURN_MS).toBeGreaterThan(11 * MINUTE_MS);
  });
});

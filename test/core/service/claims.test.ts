import { describe, expect, test } from "vitest";
import {
  endClaim,
  getClaimTime,
  getCreationClaimTime,
  getSecondsUntilRecheck,
  isHeldByAnother,
  isLatelyHeldByAnother,
  markClaimIdle,
  takeClaim,
} from "#core/service/claims.ts";
import { StateAnnotation } from "#core/service/state-annotation.ts";
import { getPastTime, NOW } from "#test/core/service/builders.ts";

const A = { actor: "111111111", now: NOW };
const B = { actor: "222222222", now: NOW };
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const applying = (making?: string) => ({ state: "applying" as const, making });

describe("a claim", () => {
  test("is a plain time to a version without claims", () => {
    const making = takeClaim(undefined, A, true);
    expect(StateAnnotation.shape.making.parse(making)).toBe(making);
    expect(Math.abs(Date.parse(making) - NOW.getTime())).toBeLessThan(1_000);
    expect(getClaimTime(applying(making))).toBe(NOW.getTime());
  });

  test("differs from another actor's claim at the same moment", () => {
    expect(takeClaim(undefined, A, false)).not.toBe(takeClaim(undefined, B, false));
  });

  test("stays its actor's at any later time", () => {
    const making = takeClaim(undefined, A, false);
    expect(takeClaim(applying(making), { ...A, now: later(30) }, false)).toBe(making);
  });

  test("gets a new time when something is created under it", () => {
    const making = takeClaim(undefined, A, false);
    expect(getCreationClaimTime(applying(making))).toBeUndefined();
    const creating = takeClaim(applying(making), { ...A, now: later(30) }, true);
    expect(getCreationClaimTime(applying(creating))).toBe(later(30).getTime());
  });

  test.each([
    ["no actor", undefined, false],
    ["its own actor", takeClaim(undefined, A, false), false],
    ["another actor", takeClaim(undefined, B, false), true],
    ["another actor that rests", markClaimIdle(applying(takeClaim(undefined, B, false)), B), false],
    ["a version that knows no actors", getPastTime(10), true],
  ])("of %s: held by another is %s", (_, making, isHeld) => {
    const mark = making === undefined ? { state: "applied" as const } : applying(making);
    expect(isHeldByAnother(mark, A.actor)).toBe(isHeld);
  });

  test("of a version without actors holds nothing once all is applied", () => {
    expect(isHeldByAnother({ state: "applied", making: getPastTime(10) }, A.actor)).toBe(false);
    expect(isHeldByAnother(undefined, A.actor)).toBe(false);
  });

  test.each([
    [0, true],
    [89, true],
    [90, false],
    [-90, false],
  ])("of another actor %i seconds ago: at work is %s", (seconds, isAtWork) => {
    const mark = applying(takeClaim(undefined, { ...B, now: later(-seconds) }, false));
    expect(isLatelyHeldByAnother(mark, A)).toBe(isAtWork);
  });

  test.each([
    ["no actor", undefined],
    ["its own actor", takeClaim(undefined, A, false)],
    ["an actor that rests", markClaimIdle(undefined, B)],
    ["a version that knows no actors", getPastTime(1)],
  ])("of %s does not count as another actor at work", (_, making) => {
    expect(isLatelyHeldByAnother(applying(making), A)).toBe(false);
  });
});

describe("a claim after a take-over", () => {
  const taken = takeClaim(applying(takeClaim(undefined, A, true)), B, false);

  test("is observed once more, 45 seconds later", () => {
    expect(getSecondsUntilRecheck(applying(taken), NOW)).toBe(45);
    expect(getSecondsUntilRecheck(applying(taken), later(44.5))).toBe(1);
    expect(getSecondsUntilRecheck(applying(taken), later(45))).toBe(0);
    // A wrong clock causes no delay.
    expect(getSecondsUntilRecheck(applying(taken), later(-46))).toBe(0);
  });

  test("still records that something was created under it", () => {
    expect(getCreationClaimTime(applying(taken))).toBe(NOW.getTime());
  });

  test("keeps the recheck when all is applied, and nothing after it", () => {
    const applied = { state: "applied" as const, making: endClaim(applying(taken), B) };
    expect(isHeldByAnother(applied, A.actor)).toBe(false);
    expect(getSecondsUntilRecheck(applied, later(20))).toBe(25);
    expect(endClaim(applied, { ...A, now: later(20) })).toBe(applied.making);
    expect(endClaim(applied, { ...A, now: later(45) })).toBeUndefined();
  });

  test("keeps its time when targets change before the recheck", () => {
    const applied = { state: "applied" as const, making: endClaim(applying(taken), B) };
    const targets = takeClaim(applied, { ...A, now: later(20) }, false);
    expect(getSecondsUntilRecheck(applying(targets), later(20))).toBe(25);
    expect(
      getSecondsUntilRecheck(applying(takeClaim(applied, { ...A, now: later(50) }, false)), later(50)),
    ).toBe(undefined);
  });

  test("causes one recheck if this actor finds nothing to change", () => {
    const making = endClaim(applying(takeClaim(undefined, A, false)), B);
    expect(getSecondsUntilRecheck({ state: "applied", making }, NOW)).toBe(45);
  });
});

describe("an idle claim", () => {
  test("leaves no recheck when all is applied", () => {
    const making = markClaimIdle(applying(takeClaim(undefined, A, true)), A);
    expect(getCreationClaimTime(applying(making))).toBe(NOW.getTime());
    expect(endClaim(applying(making), B)).toBeUndefined();
    expect(getSecondsUntilRecheck(applying(takeClaim(applying(making), B, false)), NOW)).toBeUndefined();
  });

  test("of another actor stays unchanged", () => {
    const making = takeClaim(undefined, A, false);
    expect(markClaimIdle(applying(making), B)).toBe(making);
  });

  test("needs no earlier claim", () => {
    expect(isHeldByAnother(applying(markClaimIdle(undefined, A)), B.actor)).toBe(false);
  });
});

import { describe, expect, test } from "vitest";
import {
  claimedMs,
  creatingMs,
  endClaim,
  isHeldByAnother,
  isLatelyHeldByAnother,
  restClaim,
  secondsUntilRecheck,
  takeClaim,
} from "#core/service/claims.ts";
import { Mark } from "#core/service/mark.ts";
import { NOW, secondsAgo } from "#test/core/service/builders.ts";

const A = { actor: "111111111", now: NOW };
const B = { actor: "222222222", now: NOW };
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
const applying = (making?: string) => ({ state: "applying" as const, making });

describe("a claim", () => {
  test("is a time to a version that knows no claims", () => {
    const making = takeClaim(undefined, A, true);
    expect(Mark.shape.making.parse(making)).toBe(making);
    expect(Math.abs(Date.parse(making) - NOW.getTime())).toBeLessThan(1_000);
    expect(claimedMs(applying(making))).toBe(NOW.getTime());
  });

  test("differs from what another actor claims at the same moment", () => {
    expect(takeClaim(undefined, A, false)).not.toBe(takeClaim(undefined, B, false));
  });

  test("is kept by its own actor, whatever the time is by then", () => {
    const making = takeClaim(undefined, A, false);
    expect(takeClaim(applying(making), { ...A, now: later(30) }, false)).toBe(making);
  });

  test("begins anew when something is created under it", () => {
    const making = takeClaim(undefined, A, false);
    expect(creatingMs(applying(making))).toBeUndefined();
    const creating = takeClaim(applying(making), { ...A, now: later(30) }, true);
    expect(creatingMs(applying(creating))).toBe(later(30).getTime());
  });

  test.each([
    ["nobody", undefined, false],
    ["its own actor", takeClaim(undefined, A, false), false],
    ["another actor", takeClaim(undefined, B, false), true],
    ["another actor that rests", restClaim(applying(takeClaim(undefined, B, false)), B), false],
    ["a version that knows no actors", secondsAgo(10), true],
  ])("of %s: held by another is %s", (_, making, isHeld) => {
    const mark = making === undefined ? { state: "applied" as const } : applying(making);
    expect(isHeldByAnother(mark, A.actor)).toBe(isHeld);
  });

  test("of a version that knows no actors holds nothing once all is applied", () => {
    expect(isHeldByAnother({ state: "applied", making: secondsAgo(10) }, A.actor)).toBe(false);
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
    ["nobody", undefined],
    ["its own actor", takeClaim(undefined, A, false)],
    ["an actor that rests", restClaim(undefined, B)],
    ["a version that knows no actors", secondsAgo(1)],
  ])("of %s is no other actor at work", (_, making) => {
    expect(isLatelyHeldByAnother(applying(making), A)).toBe(false);
  });
});

describe("a claim that is taken over", () => {
  const taken = takeClaim(applying(takeClaim(undefined, A, true)), B, false);

  test("is looked at once more, 45 seconds later", () => {
    expect(secondsUntilRecheck(applying(taken), NOW)).toBe(45);
    expect(secondsUntilRecheck(applying(taken), later(44.5))).toBe(1);
    expect(secondsUntilRecheck(applying(taken), later(45))).toBe(0);
    // A clock that was wrong delays nothing.
    expect(secondsUntilRecheck(applying(taken), later(-46))).toBe(0);
  });

  test("says still that something was created under it", () => {
    expect(creatingMs(applying(taken))).toBe(NOW.getTime());
  });

  test("leaves that to be done when all is applied, and nothing after it", () => {
    const applied = { state: "applied" as const, making: endClaim(applying(taken), B) };
    expect(isHeldByAnother(applied, A.actor)).toBe(false);
    expect(secondsUntilRecheck(applied, later(20))).toBe(25);
    expect(endClaim(applied, { ...A, now: later(20) })).toBe(applied.making);
    expect(endClaim(applied, { ...A, now: later(45) })).toBeUndefined();
  });

  test("keeps its time when targets change before that", () => {
    const applied = { state: "applied" as const, making: endClaim(applying(taken), B) };
    const targets = takeClaim(applied, { ...A, now: later(20) }, false);
    expect(secondsUntilRecheck(applying(targets), later(20))).toBe(25);
    expect(
      secondsUntilRecheck(applying(takeClaim(applied, { ...A, now: later(50) }, false)), later(50)),
    ).toBe(undefined);
  });

  test("is one more look where this actor finds nothing to change", () => {
    const making = endClaim(applying(takeClaim(undefined, A, false)), B);
    expect(secondsUntilRecheck({ state: "applied", making }, NOW)).toBe(45);
  });
});

describe("a claim that rests", () => {
  test("leaves nothing to be looked at when all is applied", () => {
    const making = restClaim(applying(takeClaim(undefined, A, true)), A);
    expect(creatingMs(applying(making))).toBe(NOW.getTime());
    expect(endClaim(applying(making), B)).toBeUndefined();
    expect(secondsUntilRecheck(applying(takeClaim(applying(making), B, false)), NOW)).toBeUndefined();
  });

  test("of another actor stays as it is", () => {
    const making = takeClaim(undefined, A, false);
    expect(restClaim(applying(making), B)).toBe(making);
  });

  test("needs none before it", () => {
    expect(isHeldByAnother(applying(restClaim(undefined, A)), B.actor)).toBe(false);
  });
});

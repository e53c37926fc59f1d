import { expect, test } from "vitest";
import { getAccrualMs, refillBucket } from "#core/token-bucket.ts";

const refill = { burst: 10, perSecond: 2 };

test.each([
  { title: "adds what has accrued", tokens: 1, nowMs: 2_500, after: { tokens: 4, refilledAt: 2_500 } },
  { title: "stops at the burst", tokens: 9, nowMs: 60_000, after: { tokens: 10, refilledAt: 60_000 } },
  { title: "pays a debt first", tokens: -4, nowMs: 2_000, after: { tokens: -2, refilledAt: 2_000 } },
  { title: "ignores an earlier time", tokens: 1, nowMs: 0, after: { tokens: 1, refilledAt: 1_000 } },
])("a refill $title", ({ tokens, nowMs, after }) => {
  const bucket = { tokens, refilledAt: 1_000 };
  refillBucket(bucket, refill, nowMs);
  expect(bucket).toEqual(after);
});

test("returns whole milliseconds until tokens have accrued", () => {
  expect(getAccrualMs(1, 3)).toBe(334);
});

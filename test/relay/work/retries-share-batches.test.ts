import { describe, expect, test } from "vitest";
import type { Settlement } from "#relay/work/types.ts";
import {
  buildRetrySettlement,
  createPendingNodes,
  show,
  WAITING,
} from "#test/relay/work/pending-builders.ts";
import { type Flown, simulate } from "#test/relay/work/simulated-cluster.ts";

const NODES = 1_000;

/** Creates a generator, uniform in [0, 1), equal in every run. */
function seeded(): () => number {
  let state = 42;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

/** Creates a thousand nodes, the n-th of which came n × `apartMs` after the first; all fail until the end. */
function failing(apartMs: number, untilMs: number, settlement: (ageMs: number) => Settlement) {
  const random = seeded();
  const pending = createPendingNodes(random);
  const bornMs = (uid: string): number => -Number(uid) * apartMs;
  for (let index = 0; index < NODES; index += 1) show(pending, index + 1, WAITING, 0, String(index));
  return simulate(pending, 0, untilMs, (objects, nowMs) => ({
    takesMs: 200 + 200 * random(),
    settlements: objects.map(({ uid }) => settlement(nowMs - bornMs(uid))),
  }));
}

/** Returns the number of invocations for each time that every node was sent. */
function invocationsPerPass(flown: readonly Flown[]): number {
  const sent = flown.reduce((sum, { uids }) => sum + uids.length, 0);
  return flown.length / (sent / NODES);
}

/** The node controller's retry after a fault: a quarter of the node's age, between half a minute and ten. */
const fault = (ageMs: number): Settlement => buildRetrySettlement(Math.min(600, Math.max(30, ageMs / 4_000)));

test("a pass over a thousand nodes of all ages, which wait for different times, needs few more", () => {
  expect(invocationsPerPass(failing(3_600, 60 * 60_000, fault))).toBeLessThanOrEqual(20);
});

describe("a pass over a thousand failing nodes needs at most twelve invocations", () => {
  test.each([
    { given: "a fault, all made at once", apartMs: 0, minutes: 5, settlement: fault },
    { given: "a fault, made within a minute", apartMs: 60, minutes: 5, settlement: fault },
    { given: "a fault, made within a minute, for an hour", apartMs: 60, minutes: 60, settlement: fault },
    { given: "2 s each", apartMs: 0, minutes: 5, settlement: () => buildRetrySettlement(2) },
    { given: "3 s each", apartMs: 0, minutes: 5, settlement: () => buildRetrySettlement(3) },
    {
      given: "2 or 3 s",
      apartMs: 1,
      minutes: 5,
      settlement: (ageMs: number) => buildRetrySettlement(Math.round(ageMs) % 2 === 0 ? 2 : 3),
    },
    {
      given: "no answer of the function",
      apartMs: 0,
      minutes: 5,
      settlement: (): Settlement => ({ kind: "failed", settleMs: 0 }),
    },
    {
      given: "no answer within its time",
      apartMs: 0,
      minutes: 5,
      settlement: (): Settlement => ({ kind: "failed", settleMs: 10_000 }),
    },
  ])("$given", ({ apartMs, minutes, settlement }) => {
    const flown = failing(apartMs, minutes * 60_000, settlement);
    expect(invocationsPerPass(flown)).toBeLessThanOrEqual(12);
    expect(invocationsPerPass(flown)).toBeGreaterThanOrEqual(10);
  });
});

import { expect, test } from "vitest";
import { createInvocationLimiter } from "#relay/delivery/create-invocation-limiter.ts";
import type { InvocationEnd, PermitRequest } from "#relay/delivery/invocation-limiter.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";

/** A cluster's demand: how many invocations it wants at a time, and milliseconds between two. */
interface Asking {
  readonly name: string;
  readonly atOnce: number;
  readonly pauseMs: number;
  /** Its cloud account and region. */
  readonly quotaKey?: string;
}

/** The result of a cluster after the warm-up. */
interface Got {
  invocations: number;
  /** The shares of the account's quotas, summed over its invocations. */
  shares: number;
  /** The longest wait for a permit. */
  longestWaitMs: number;
}

const TAKES_MS = 1_000;
const WARM_MS = 30_000;
const MEASURED_MS = 60_000;
const STEP_MS = 10;
const GOOD: InvocationEnd = {
  code: undefined,
  refused: false,
  settleMs: 0,
  durationMs: TAKES_MS,
  usage: { calls: 5, throttled: 0, waitedMs: 0 },
};
/** Lambda's answer when the account has no more concurrency. */
const REFUSED: InvocationEnd = { ...GOOD, code: "Throttled", refused: true, usage: undefined };

const GREEDY: Asking = { name: "greedy", atOnce: 50, pauseMs: 0 };
const modest = (index: number, more: Partial<Asking> = {}): Asking => ({
  name: `modest-${index}`,
  atOnce: 1,
  pauseMs: 2_000,
  ...more,
});
const MODEST = Array.from({ length: 9 }, (_, index) => modest(index));

/** Simulates the clusters on one limiter, with a platform that runs this many functions at a time. */
async function play(askings: readonly Asking[], platformTakes = 200): Promise<ReadonlyMap<string, Got>> {
  const clock = createManualClock();
  const limiter = createInvocationLimiter({ clock, random: () => 0.5 });
  const got = new Map(askings.map(({ name }) => [name, { invocations: 0, shares: 0, longestWaitMs: 0 }]));
  const warmMs = clock.now() + WARM_MS;
  let running = 0;
  const ask = ({ name, pauseMs, quotaKey = "account" }: Asking): void => {
    const askedMs = clock.now();
    const request: PermitRequest = {
      controller: "cloud-node-controller",
      cluster: name,
      quotaKey,
      floorShare: 0.05,
    };
    const again = (inMs: number): void =>
      void clock.after(inMs, () => ask({ name, pauseMs, quotaKey, atOnce: 1 }));
    const waiter = (): void => {
      const place = limiter.enter(request, waiter);
      if (place === undefined) return;
      if (running >= platformTakes) {
        clock.after(STEP_MS, () => place.ended(REFUSED));
        again(STEP_MS);
        return;
      }
      running += 1;
      const own = got.get(name);
      if (own !== undefined && askedMs >= warmMs) {
        own.invocations += 1;
        own.shares += place.share;
        own.longestWaitMs = Math.max(own.longestWaitMs, clock.now() - askedMs);
      }
      clock.after(TAKES_MS, () => {
        running -= 1;
        place.ended(GOOD);
        again(pauseMs);
      });
    };
    waiter();
  };
  for (const asking of askings) for (let slot = 0; slot < asking.atOnce; slot += 1) ask(asking);
  for (let ms = 0; ms < WARM_MS + MEASURED_MS; ms += STEP_MS) await clock.advance(STEP_MS);
  return got;
}

const of = (got: ReadonlyMap<string, Got>, name: string): Got =>
  got.get(name) ?? { invocations: 0, shares: 0, longestWaitMs: 0 };
const meanShare = ({ shares, invocations }: Got): number => shares / invocations;

test("a greedy cluster delays no other of its account, and has at most half as much again for each invocation", async () => {
  const alone = await play(MODEST);
  const beside = await play([GREEDY, ...MODEST]);
  const greedy = of(beside, GREEDY.name);
  // It has the room beyond the first invocation of each, and no more.
  expect(greedy.invocations / (MEASURED_MS / TAKES_MS)).toBeGreaterThan(15);
  expect(greedy.invocations / (MEASURED_MS / TAKES_MS)).toBeLessThanOrEqual(21);
  for (const { name } of MODEST) {
    expect(of(beside, name).longestWaitMs).toBe(0);
    // The phase at the start of the measurement may cost it one.
    expect(of(beside, name).invocations).toBeGreaterThanOrEqual(of(alone, name).invocations - 1);
    // Shares depend on the moment: a later invocation has a little less, and the floor in any case.
    expect(meanShare(of(beside, name))).toBeGreaterThan((2 / 3) * meanShare(greedy));
    expect(meanShare(of(beside, name))).toBeGreaterThanOrEqual(0.049);
  }
});

test("three greedy clusters of one account have equal parts of its quotas", async () => {
  const names = ["one", "two", "three"];
  const got = await play(names.map((name) => ({ ...GREEDY, name })));
  const shares = names.map((name) => of(got, name).shares);
  expect(Math.max(...shares)).toBeLessThan(1.2 * Math.min(...shares));
});

test("another account, and another region, have their own quotas", async () => {
  const others = [modest(0, { quotaKey: "other account" }), modest(1, { quotaKey: "other region" })];
  const [alone, beside] = [await play(others), await play([GREEDY, ...others])];
  for (const { name } of others) {
    expect(of(beside, name).longestWaitMs).toBe(0);
    expect(of(beside, name).invocations).toBeGreaterThanOrEqual(of(alone, name).invocations - 1);
    expect(meanShare(of(beside, name))).toBe(1);
  }
});

test("if the platform accepts few, clusters that used least go before the greedy one", async () => {
  const got = await play([GREEDY, ...MODEST], 8);
  for (const { name } of MODEST) {
    // A round takes three seconds: what comes between is the wait for one that ends.
    expect(of(got, name).invocations).toBeGreaterThan((0.6 * MEASURED_MS) / (TAKES_MS + 2_000));
    expect(of(got, name).longestWaitMs).toBeLessThan(5 * TAKES_MS);
  }
  expect(of(got, GREEDY.name).invocations).toBeGreaterThan(of(got, "modest-0").invocations);
});

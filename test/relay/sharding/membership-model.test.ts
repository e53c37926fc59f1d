import fc from "fast-check";
import { expect, test } from "vitest";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";
import type { ApiRequest, Transport } from "#kube/client/transport.ts";
import { joinByLease } from "#relay/sharding/lease-membership.ts";
import type { Membership } from "#relay/sharding/membership.ts";
import { createInProcessApi } from "#test/fuzz/in-process-api.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { SEED } from "#test/seed.ts";

// A model of replicas on one API server. They join, leave, are killed, and lose and regain the connection, in
// any order, with clocks that differ by hours.

const NAMES = ["a", "b", "c", "d", "e"] as const;
type Name = (typeof NAMES)[number];

type Step =
  | { readonly kind: "start" | "leave" | "kill" | "cut" | "mend"; readonly name: Name }
  | { readonly kind: "outage" }
  | { readonly kind: "over" }
  | { readonly kind: "wait"; readonly seconds: number };

const name = fc.constantFrom(...NAMES);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("start" as const), name }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("leave", "kill", "cut", "mend"),
      name,
    }) as fc.Arbitrary<Step>,
  },
  { weight: 1, arbitrary: fc.constantFrom({ kind: "outage" }, { kind: "over" }) as fc.Arbitrary<Step> },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 40 }) }),
  },
);

/**
 * After this many seconds without a failure every replica knows every other: a watch waits up to 30 s after a
 * failure.
 */
const SETTLED_SECONDS = 45;

interface Replica {
  readonly member: Membership;
  isCut: boolean;
  /** Ends the open streams. */
  breaker: AbortController;
  /** Since when it has been able to reach the API server without a break. */
  wellSinceMs: number;
}

function createWorld(offsetsHours: readonly number[]) {
  const clock: ManualClock = createManualClock();
  const api = createInProcessApi(clock);
  const running = new Map<Name, Replica>();
  const ended: Membership[] = [];
  /** Since when a name has no replica, or one that no other can see. */
  const silentSinceMs = new Map<Name, number>();
  let isOut = false;
  let processes = 0;

  const unreachable = ({ method, path }: ApiRequest): ApiUnreachable =>
    new ApiUnreachable({
      code: "ConnectionRefused",
      server: "https://in-process",
      attempt: `${method} ${path}`,
    });

  function transportOf(replica: () => Replica): Transport {
    const transport = api.transport(CONTROL_PLANE_USERS.admin);
    return {
      close: () => transport.close(),
      async send(request) {
        if (isOut || replica().isCut) throw unreachable(request);
        return transport.send(request);
      },
      async stream(request) {
        if (isOut || replica().isCut) throw unreachable(request);
        const signals = [replica().breaker.signal, ...(request.signal === undefined ? [] : [request.signal])];
        return transport.stream({ ...request, signal: AbortSignal.any(signals) });
      },
    };
  }
  function start(self: Name): void {
    processes += 1;
    const offsetMs = (offsetsHours[NAMES.indexOf(self)] ?? 0) * 3_600_000;
    let replica: Replica | undefined;
    const get = (): Replica => {
      if (replica === undefined) throw new Error("it has not begun");
      return replica;
    };
    const member = joinByLease({
      ...{ self, identity: String(processes), namespace: "default", note: () => {} },
      clock: { ...clock, now: () => clock.now() + offsetMs },
      random: () => 0.5,
      connect: async () => transportOf(get),
    });
    replica = { member, isCut: false, breaker: new AbortController(), wellSinceMs: clock.now() };
    running.set(self, replica);
    silentSinceMs.delete(self);
  }
  function cut(replica: Replica): void {
    replica.isCut = true;
    replica.breaker.abort();
  }
  async function take(taken: Step): Promise<void> {
    if (taken.kind === "wait") return clock.advance(taken.seconds * 1_000);
    if (taken.kind === "outage" || taken.kind === "over") {
      isOut = taken.kind === "outage";
      for (const replica of running.values()) {
        replica.breaker.abort();
        replica.breaker = new AbortController();
        replica.wellSinceMs = clock.now();
      }
      return;
    }
    const { kind, name: self } = taken;
    const replica = running.get(self);
    if (replica === undefined) {
      if (kind === "start") start(self);
      return;
    }
    if (kind === "mend" && replica.isCut) {
      replica.isCut = false;
      replica.breaker = new AbortController();
      replica.wellSinceMs = clock.now();
      silentSinceMs.delete(self);
    }
    if (kind === "cut" || kind === "kill") cut(replica);
    if (kind === "kill" || kind === "leave") {
      running.delete(self);
      ended.push(replica.member);
      await replica.member.leave();
    }
    if (kind !== "mend" && kind !== "start" && !silentSinceMs.has(self)) silentSinceMs.set(self, clock.now());
  }

  /** Checks what must hold for all that have been able to reach the API server for long enough. */
  function look(): void {
    if (isOut) return;
    const nowMs = clock.now();
    const isLongAgo = (sinceMs: number | undefined): boolean =>
      sinceMs !== undefined && nowMs - sinceMs >= SETTLED_SECONDS * 1_000;
    const well = [...running].filter(([, { isCut, wellSinceMs }]) => !isCut && isLongAgo(wellSinceMs));
    for (const [self, { member }] of running) {
      const known = member.replicas();
      if (known !== undefined) expect(known).toContain(self);
    }
    for (const [self, { member }] of well) {
      expect([self, member.isCutOff()]).toEqual([self, false]);
      const known = member.replicas() ?? [];
      for (const [other] of well) expect([self, known]).toEqual([self, expect.arrayContaining([other])]);
      for (const [other, sinceMs] of silentSinceMs)
        if (isLongAgo(sinceMs)) expect([self, known]).not.toEqual([self, expect.arrayContaining([other])]);
    }
  }

  return {
    async play(steps: readonly Step[]): Promise<void> {
      for (const each of steps) {
        await take(each);
        look();
      }
      await take({ kind: "over" });
      for (const each of NAMES) await take({ kind: "mend", name: each });
      await take({ kind: "wait", seconds: SETTLED_SECONDS });
      look();
      const names = [...running.keys()].sort();
      for (const { member } of running.values()) expect(member.replicas()).toEqual(names);
    },
    async end(): Promise<void> {
      for (const replica of running.values()) cut(replica);
      await Promise.all(
        [...[...running.values()].map(({ member }) => member), ...ended].map((each) => each.leave()),
      );
    },
  };
}

test("whatever happens, replicas that can reach the Leases know which of them live", async () => {
  const property = fc.asyncProperty(
    fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 5, maxLength: 5 }),
    fc.array(step, { maxLength: 25 }),
    async (offsets, steps) => {
      const world = createWorld(offsets);
      try {
        await world.play(steps);
      } finally {
        await world.end();
      }
    },
  );
  await fc.assert(property, { seed: SEED, numRuns: 100 });
}, 240_000);

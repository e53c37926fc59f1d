import { afterEach, describe, expect, test, vi } from "vitest";
import { parseLeaseState } from "#core/relay-lease.ts";
import type { ApiRequest, ApiResponse, Transport } from "#kube/client/transport.ts";
import { type Clock, systemClock } from "#kube/follow/clock.ts";
import { createReadPermits } from "#kube/follow/read-permits.ts";
import { renewLease } from "#relay/lease/heartbeat.ts";
import { toMinute } from "#sweep/select.ts";
import { sweepCluster } from "#sweep/sweep-cluster.ts";
import { buildCluster, findMinute } from "#test/sweep/sweep-builders.ts";

const HOUR_MS = 3_600_000;

/** Steps the wall clock, as NTP may while the process runs; Node's monotonic clock does not change. */
function stepWallClock(byMs: number): Date {
  const stepped = new Date(Date.now() + byMs);
  vi.useFakeTimers({ toFake: ["Date"], now: stepped });
  return stepped;
}

afterEach(() => {
  vi.useRealTimers();
});

/** A clock of this process whose waits end at once. */
const impatient: Clock = {
  ...systemClock,
  after(_delayMs, callback) {
    const handle = setImmediate(callback);
    return () => clearImmediate(handle);
  },
};

const STEPS = [
  { step: "an hour ahead", byMs: HOUR_MS },
  { step: "an hour back", byMs: -HOUR_MS },
];

describe.each(STEPS)("after a step of the machine's clock by $step", ({ byMs }) => {
  test("the relay's Lease is fresh for readers with the right time", async () => {
    const stepped = stepWallClock(byMs);
    const stopping = new AbortController();
    let renewTime: unknown;
    const transport = transportOf((request) => {
      renewTime = (request.body as readonly { readonly value: unknown }[])[1]?.value;
      stopping.abort();
      return {};
    });
    await renewLease({
      ...{ transport, clock: impatient, random: Math.random, signal: stopping.signal, note: () => undefined },
      heartbeat: () => ({ kind: "vouches" }),
    });
    const lease = { spec: { holderIdentity: "serverless-ccm-relay", renewTime } };
    expect(parseLeaseState(lease, stepped)).toMatchObject({ kind: "fresh" });
  });

  test("a sweep treats a Lease that was renewed with the right time as fresh, and lists nothing", async () => {
    const stepped = stepWallClock(byMs);
    const renewTime = stepped.toISOString();
    const transport = transportOf(() => ({
      body: JSON.stringify({ spec: { holderIdentity: "serverless-ccm-relay", renewTime } }),
    }));
    const world = {
      ...{ clock: systemClock, random: Math.random, identity: "test", api: async () => transport },
      invoker: { invoke: () => Promise.reject(new Error("a sweep in mode lease invokes nothing")) },
      turns: createReadPermits(systemClock),
    };
    const minute = findMinute("one", false, toMinute(0));
    const time = { minute, signal: AbortSignal.timeout(120_000) };
    expect(await sweepCluster(buildCluster("one"), world, time)).toMatchObject({
      mode: "lease",
      lease: "fresh",
    });
  });

  test("waits and durations do not change", () => {
    const beforeMs = systemClock.now();
    stepWallClock(byMs);
    expect(Math.abs(systemClock.now() - beforeMs)).toBeLessThan(HOUR_MS / 2);
  });
});

function transportOf(answer: (request: ApiRequest) => Partial<ApiResponse>): Transport {
  return {
    send: async (request) => ({ status: 200, headers: {}, body: "{}", ...answer(request) }),
    stream: () => Promise.reject(new Error("nothing is watched")),
    close: () => Promise.resolve(),
  };
}

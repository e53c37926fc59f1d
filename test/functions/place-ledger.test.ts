import { describe, expect, test } from "vitest";
import type { Observation } from "#core/capability.ts";
import type { PlaceRequest } from "#core/service/places.ts";
import { createPlaceLedger, type PlaceClaim } from "#functions/parts/place-ledger.ts";

const START = 1_000_000_000;

/** A cloud whose load balancers are counted, and a ledger of one process. */
function world(count: number, max = 4) {
  let nowMs = START;
  const state = { count, listings: 0, failure: undefined as Observation | undefined };
  const ledger = createPlaceLedger(() => nowMs);
  const holdings = () =>
    Array.from({ length: state.count }, (_, number) => ({
      kind: "load balancer",
      id: `${number}`,
      name: "",
    }));
  const list: PlaceClaim["list"] = async () => {
    state.listings += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return state.failure ?? { kind: "observed", state: { holdings: holdings() } };
  };
  const requestsOf = (...uids: readonly string[]): PlaceRequest[] =>
    uids.map((uid) => ({ uid, created: "2026-01-01T00:00:00Z" }));
  return {
    state,
    pass: (ms: number) => {
      nowMs += ms;
    },
    claim: (...uids: readonly string[]) =>
      ledger.claim({ cluster: "tenant-a", requests: requestsOf(...uids), max, list }),
    note: () => ledger.note("tenant-a", { holdings: holdings() }, nowMs),
  };
}

const granted = (...uids: readonly string[]) => ({ kind: "counted", granted: new Set(uids) });

describe("a ledger of places", () => {
  test("asks nobody without a request, and lists once for two claims at the same time", async () => {
    const { claim, state } = world(0);
    expect(await claim()).toMatchObject(granted());
    expect(state.listings).toBe(0);
    const [one, two] = await Promise.all([claim("a"), claim("b")]);
    expect([one, two, state.listings]).toMatchObject([granted("a"), granted("b"), 1]);
  });

  test("grants on an audit's listing, and lists where that one does not do", async () => {
    const { claim, state, note, pass } = world(0, 40);
    note();
    pass(300_000);
    expect(await claim("a", "b")).toMatchObject(granted("a", "b"));
    expect(state.listings).toBe(0);
    expect(await claim("c")).toMatchObject(granted("c"));
    expect(state.listings).toBe(1);
    pass(600_000);
    await claim("d");
    expect(state.listings).toBe(2);
  });

  test("where all places are taken lists every ten seconds at the most", async () => {
    const { claim, state, pass } = world(4);
    for (let second = 0; second < 30; second += 1) {
      expect(await claim("a")).toMatchObject({ granted: new Set(), isFull: true });
      pass(1_000);
    }
    expect(state.listings).toBe(3);
    state.count = 3;
    pass(10_000);
    expect(await claim("a")).toMatchObject(granted("a"));
  });

  test.each<[string, Observation, object]>([
    [
      "was throttled",
      { kind: "error", code: "Throttled", message: "slow down" },
      { kind: "unknown", code: "Throttled" },
    ],
    [
      "may not be asked",
      { kind: "error", code: "Denied", message: "no" },
      { kind: "unknown", code: "Denied" },
    ],
    [
      "answers rubbish",
      { kind: "observed", state: { holdings: "many" } },
      { kind: "unknown", code: "Unavailable" },
    ],
    [
      "cannot tell which are the cluster's",
      { kind: "error", code: "Invalid", message: "no tag" },
      { kind: "uncounted" },
    ],
  ])("grants nothing that it cannot count: the cloud %s", async (_, failure, expected) => {
    const { claim, state } = world(0);
    state.failure = failure;
    expect(await claim("a")).toMatchObject(expected);
    state.failure = undefined;
    expect(await claim("a")).toMatchObject(granted("a"));
  });
});

import { describe, expect, test } from "vitest";
import type { Observation } from "#core/capability.ts";
import {
  type Amounts,
  LOAD_BALANCERS_KEY,
  type ReservationRequest,
} from "#core/service/load-balancer-quota.ts";
import { createReservationLedger, type ReservationClaim } from "#functions/parts/quota-ledger.ts";

const START = 1_000_000_000;
const KIND = "load balancer";

/** Creates a cloud with this number of load balancers, and the ledger of one process. */
function world(count: number, max = 4) {
  let nowMs = START;
  const state = {
    count,
    listings: 0,
    failure: undefined as Observation | undefined,
    quotas: undefined as Amounts | undefined,
    asked: [] as boolean[],
  };
  const ledger = createReservationLedger(() => nowMs);
  const holdings = () =>
    Array.from({ length: state.count }, (_, number) => ({
      kind: KIND,
      id: `${number}`,
      name: "",
    }));
  const list: ReservationClaim["list"] = async ({ quotas }) => {
    state.listings += 1;
    await new Promise((resolve) => setImmediate(resolve));
    state.asked.push(quotas);
    const told = quotas && state.quotas !== undefined ? { quotas: state.quotas } : {};
    return state.failure ?? { kind: "observed", state: { holdings: holdings(), ...told } };
  };
  const requestsOf = (...uids: readonly string[]): ReservationRequest[] =>
    uids.map((uid) => ({
      uid,
      created: "2026-01-01T00:00:00Z",
      amounts: { [LOAD_BALANCERS_KEY]: 1, [KIND]: 1 },
    }));
  const claimOf = (
    settings: ReservationClaim["settings"],
    accountClusters: number | undefined,
    ...uids: readonly string[]
  ) => ledger.claim({ cluster: "tenant-a", requests: requestsOf(...uids), settings, accountClusters, list });
  return {
    state,
    pass: (ms: number) => {
      nowMs += ms;
    },
    claim: (...uids: readonly string[]) => claimOf({ max }, undefined, ...uids),
    claimOf,
    note: () => ledger.note("tenant-a", { holdings: holdings() }, nowMs),
  };
}

const granted = (...uids: readonly string[]) => ({ kind: "counted", granted: new Set(uids) });

describe("a ledger of places", () => {
  test("makes no request without a claim, and lists once for two concurrent claims", async () => {
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
      expect(await claim("a")).toMatchObject({
        granted: new Set(),
        rejected: new Map([["a", { name: LOAD_BALANCERS_KEY, limit: 4 }]]),
      });
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

  describe("where no maximum is written", () => {
    const uids = Array.from({ length: 120 }, (_, number) => `${number}`.padStart(3, "0"));

    test.each<[string, Amounts | undefined, number | undefined, number]>([
      ["grants by the account's quota", { [KIND]: 20 }, undefined, 20],
      ["divides it among the clusters of the account", { [KIND]: 20 }, 5, 4],
      ["grants by 100 where the cloud does not tell its quotas", undefined, 5, 100],
    ])("%s", async (_, quotas, clusters, most) => {
      const { state, claimOf, pass } = world(0);
      state.quotas = quotas;
      const made = new Set<string>();
      for (let round = 0; round < 20; round += 1) {
        const answer = await claimOf({}, clusters, ...uids.filter((uid) => !made.has(uid)));
        if (answer.kind === "counted") for (const uid of answer.granted) made.add(uid);
        state.count = made.size;
        pass(60_000);
      }
      expect(state.count).toBe(most);
    });

    test("asks for the quotas with the count alone, and not for a maximum that is written", async () => {
      const { state, claimOf, note, pass } = world(0);
      state.quotas = { [KIND]: 20 };
      note();
      await claimOf({ max: 3 }, undefined, "a");
      expect(state.asked).toEqual([]);
      await claimOf({ max: 4 }, undefined, "a", "b", "c");
      await claimOf({}, undefined, "d");
      expect(state.asked).toEqual([]);
      pass(2_000);
      await claimOf({ max: 4 }, undefined, "e");
      await claimOf({}, undefined, "f");
      pass(2_000);
      await claimOf({}, undefined, "g");
      expect(state.asked).toEqual([false, true]);
    });

    test("an event that does not tell how many clusters there are widens nothing", async () => {
      const { state, claimOf, pass } = world(2);
      state.quotas = { [KIND]: 20 };
      expect(await claimOf({}, 10, "a")).toMatchObject({
        rejected: new Map([["a", { name: KIND, limit: 2 }]]),
      });
      pass(60_000);
      expect(await claimOf({}, undefined, "a")).toMatchObject({ granted: new Set() });
      expect(await claimOf({}, 5, "a")).toMatchObject(granted("a"));
    });
  });
});

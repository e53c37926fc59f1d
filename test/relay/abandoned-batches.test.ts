import { afterEach, describe, expect, test } from "vitest";
import { Cluster } from "#config/cluster.ts";
import { type Relay, startRelay } from "#relay/relay.ts";
import { createFakeApi } from "#test/kube/apply/fake-api.ts";
import { createManualClock } from "#test/kube/follow/manual-clock.ts";
import { createFakeFunctions, TAINTED } from "#test/relay/fake-functions.ts";
import { parseIdentity } from "#test/relay/report-builders.ts";

const relays: Relay[] = [];
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay.close();
});

/** Starts a relay whose four permits are all taken, each by a batch of two nodes. */
async function startFull() {
  const api = createFakeApi();
  const clock = createManualClock();
  const functions = createFakeFunctions(api);
  functions.hold(true);
  const relay = startRelay({
    clusters: [
      {
        cluster: Cluster.parse({
          name: "one",
          server: "https://fake.invalid",
          cloud: { provider: "memory", instancesFile: "/none" },
          controllers: ["cloud-node-controller"],
        }),
        transport: api,
      },
    ],
    invoker: functions,
    identity: "test",
    nodeStatusUpdateFrequencySeconds: 100_000,
    clock,
    random: () => 0.5,
  });
  relays.push(relay);
  await clock.advance(0);
  for (let batch = 0; batch < 4; batch += 1) {
    api.put(`n${batch}-a`, TAINTED);
    api.put(`n${batch}-b`, TAINTED);
    await clock.advance(200);
  }
  expect([functions.running(), relay.status()[0]?.invocations]).toEqual([4, 4]);
  return { api, clock, functions, relay };
}

describe("a batch in flight", () => {
  test("is abandoned when all its nodes are deleted, which frees its permit at once", async () => {
    const { api, clock, functions, relay } = await startFull();
    api.remove("n0-a");
    api.remove("n0-b");
    api.put("n0-a", { ...TAINTED, uid: "made again" });
    await clock.advance(200);
    expect(
      functions.events.slice(4).map(({ objects }) => objects.map((object) => parseIdentity(object).uid)),
    ).toEqual([["made again"]]);
    expect([functions.givenUp(), relay.status()[0]?.invocations]).toEqual([1, 4]);
    functions.hold(false);
    await clock.advance(200);
    // The budget came back with it, and a late report changes nothing.
    expect(relay.status()[0]).toMatchObject({ needed: 0, inFlight: 0, invocations: 0 });
    expect(functions.overlaps()).toBe(1);
  });

  test("continues while one of its nodes is left", async () => {
    const { api, clock, functions } = await startFull();
    api.remove("n0-a");
    api.put("another", TAINTED);
    await clock.advance(1_000);
    expect([functions.events.length, functions.givenUp()]).toEqual([4, 0]);
    functions.hold(false);
    await clock.advance(200);
    expect(functions.events).toHaveLength(5);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import { buildNetworkService, buildQuestion, buildService } from "#test/clouds/oci/load-balancers/service.ts";

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account);
});
afterEach(async () => {
  player.close();
  await account.close();
});

const PORTS = [
  { protocol: "TCP", port: 80, nodePort: 30_080 },
  { protocol: "TCP", port: 443, nodePort: 30_443 },
];
const nodes = (...numbers: readonly number[]) =>
  numbers.map((number) => ({
    name: `node-${number}`,
    providerID: `oci://ocid1.instance.oc1.phx.i${number}`,
  }));
const MAKE = { lb: buildService, nlb: buildNetworkService };
/** Annotations with impossible values for each kind. */
const BAD = { lb: { "lb:shape": "flexible" }, nlb: { "nlb:health-check-retries": "many" } };
const theOne = (kind: "lb" | "nlb") => {
  const [one, ...others] = account[kind].balancers.values();
  if (one === undefined || others.length > 0) throw new Error("there is not one load balancer");
  return one;
};
const addresses = (kind: "lb" | "nlb"): Readonly<Record<string, readonly unknown[]>> =>
  Object.fromEntries(
    Object.entries(theOne(kind).backendSets ?? {}).map(([name, { backends }]) => [
      name,
      (backends as { ipAddress: string; port: number }[]).map(
        ({ ipAddress, port }) => `${ipAddress}:${port}`,
      ),
    ]),
  );

describe.each(["lb", "nlb"] as const)(
  "a served load balancer of the kind %s whose annotation is rejected",
  (kind) => {
    const make = MAKE[kind];
    const refused = make(BAD[kind], { ports: PORTS });
    beforeEach(async () => {
      const { end } = await player.settle(buildQuestion(make({}, { ports: PORTS }), nodes(1, 2)));
      expect(end.kind).toBe("settled");
      expect((await player.round(buildQuestion(refused))).end).toMatchObject({ kind: "refused" });
    });

    test("follows the nodes, one backend set at a time, and keeps all other settings", async () => {
      const before = structuredClone(theOne(kind));
      const sent = await player.follow(buildQuestion(refused, nodes(2, 3)));
      expect(sent?.map(({ action, parameters: { name } }) => `${action} ${name}`)).toEqual([
        `${kind}:UpdateBackendSet TCP-80`,
        `${kind}:UpdateBackendSet TCP-443`,
      ]);
      expect(addresses(kind)).toEqual({
        "TCP-80": ["10.0.0.2:30080", "10.0.0.3:30080"],
        "TCP-443": ["10.0.0.2:30443", "10.0.0.3:30443"],
      });
      const bare = ({ backendSets, ...rest }: ReturnType<typeof theOne>) => ({
        listeners: rest.listeners,
        others: rest.others,
        sets: Object.entries(backendSets ?? {}).map(([name, { backends: _, ...set }]) => [name, set]),
      });
      expect(bare(theOne(kind))).toEqual(bare(before));
      expect(await player.follow(buildQuestion(refused, nodes(2, 3)))).toEqual([]);
      // Nothing is left to do for the nodes once the annotation is corrected.
      const mended = await player.settle(buildQuestion(make({}, { ports: PORTS }), nodes(2, 3)));
      expect(mended).toMatchObject({ actions: [], end: { kind: "settled" } });
    });

    test("is never emptied, and no other port is opened", async () => {
      expect(await player.follow(buildQuestion(refused, []))).toBeUndefined();
      expect(await player.follow(buildQuestion(refused, [{ name: "no-instance" }]))).toBeUndefined();
      const more = [...PORTS, { protocol: "TCP", port: 8080, nodePort: 30_808 }];
      expect(await player.follow(buildQuestion(make(BAD[kind], { ports: more }), nodes(1, 2)))).toEqual([]);
      expect(Object.keys(addresses(kind))).toEqual(["TCP-80", "TCP-443"]);
      expect(addresses(kind)["TCP-80"]).toHaveLength(2);
    });

    test("keeps its nodes if the annotation that selects them cannot be read", async () => {
      const selector = kind === "lb" ? "oci:node-label-selector" : "nlb:node-label-selector";
      const unread = make({ [selector]: "a in (" }, { ports: PORTS });
      expect((await player.round(buildQuestion(unread))).end).toMatchObject({ kind: "refused" });
      expect(await player.follow(buildQuestion(unread, nodes(1, 2, 3)))).toBeUndefined();
    });

    test("is left alone if it lacks the cluster's tag", async () => {
      theOne(kind).freeformTags = { "serverless-ccm-cluster": "another" };
      expect(await player.follow(buildQuestion(refused, nodes(1, 2, 3)))).toBeUndefined();
      expect(addresses(kind)["TCP-80"]).toHaveLength(2);
    });
  },
);

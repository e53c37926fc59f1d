import { afterEach, beforeEach, expect, test } from "vitest";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { buildFoundAnswer, createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import { buildNetworkService, buildQuestion } from "#test/clouds/oci/load-balancers/service.ts";

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

const DUAL = { ipFamilies: ["IPv4", "IPv6"] };
const service = buildNetworkService({}, DUAL);
const nodes = (...numbers: readonly number[]): LoadBalancerQuestion["nodes"] =>
  numbers.map((number) => ({
    name: `node-${number}`,
    providerID: `oci://ocid1.instance.oc1.phx.i${number}`,
  }));
/** Removes all addresses of an IP family from the instances of some nodes. */
const dropAddresses = (family: "IPv4" | "IPv6", ...numbers: readonly number[]) => {
  player.answers = new Map(
    nodes(...numbers).map(({ providerID = "" }) => {
      const id = providerID.slice("oci://".length);
      const answer = buildFoundAnswer(id);
      if (answer.kind !== "found") throw new Error(answer.message);
      const addresses = answer.instance.addresses.filter(
        ({ address }) => address.includes(":") !== (family === "IPv6"),
      );
      return [id, { ...answer, instance: { ...answer.instance, addresses } }];
    }),
  );
};
const listBackends = (): Readonly<Record<string, readonly string[]>> => {
  const [balancer] = account.nlb.balancers.values();
  return Object.fromEntries(
    Object.entries(balancer?.backendSets ?? {}).map(([name, { backends }]) => [
      name,
      (backends as { ipAddress: string }[]).map(({ ipAddress }) => ipAddress),
    ]),
  );
};
const WARNING = { code: "IPFamilies", field: "spec.ipFamilies" };
const V6 = (...numbers: readonly number[]) => numbers.map((number) => `2603:c020::1:${number}`);

test.each([undefined, true] as const)(
  "a backend set keeps its backends while no node has an address of its family (onlyTargets %s)",
  async (onlyTargets) => {
    const more = onlyTargets === undefined ? {} : { onlyTargets };
    await player.settle(buildQuestion(service, nodes(1, 2)));
    dropAddresses("IPv6", 2, 3);
    const withoutIPv6 = await player.settle({ ...buildQuestion(service, nodes(2, 3)), ...more });
    expect(withoutIPv6.end).toMatchObject({ kind: "settled", warnings: [WARNING] });
    expect(listBackends()).toEqual({ "TCP-80": ["10.0.0.2", "10.0.0.3"], "TCP-80-IPv6": V6(1, 2) });
    dropAddresses("IPv4", 3, 4);
    const withoutIPv4 = await player.settle({ ...buildQuestion(service, nodes(3, 4)), ...more });
    expect(withoutIPv4.end).toMatchObject({ kind: "settled", warnings: [WARNING] });
    expect(listBackends()).toEqual({ "TCP-80": ["10.0.0.2", "10.0.0.3"], "TCP-80-IPv6": V6(3, 4) });
  },
);

test("other settings and node ports of such a set still change", async () => {
  await player.settle(buildQuestion(service, nodes(1, 2)));
  dropAddresses("IPv6", 1, 2);
  const ports = [{ protocol: "TCP", port: 80, nodePort: 30_090 }];
  const changed = buildNetworkService({ "nlb:backend-policy": "TWO_TUPLE" }, { ...DUAL, ports });
  expect((await player.settle(buildQuestion(changed, nodes(1, 2)))).end.kind).toBe("settled");
  const [balancer] = account.nlb.balancers.values();
  expect(balancer?.backendSets["TCP-80-IPv6"]).toMatchObject({
    policy: "TWO_TUPLE",
    backends: V6(1, 2).map((ipAddress) => ({ ipAddress, port: 30_090 })),
  });
});

test("a new load balancer without a node for one family gets a Warning until nodes have addresses", async () => {
  dropAddresses("IPv6", 1, 2);
  const { end } = await player.settle(buildQuestion(service, nodes(1, 2)));
  expect(end).toMatchObject({ kind: "settled", warnings: [WARNING] });
  expect(listBackends()).toEqual({ "TCP-80": ["10.0.0.1", "10.0.0.2"], "TCP-80-IPv6": [] });
  player.answers = new Map();
  expect((await player.settle(buildQuestion(service, nodes(1, 2)))).end).toMatchObject({ warnings: [] });
  expect(listBackends()["TCP-80-IPv6"]).toEqual(V6(1, 2));
});

test("a cluster without nodes leaves no backend", async () => {
  await player.settle(buildQuestion(service, nodes(1, 2)));
  expect((await player.settle(buildQuestion(service, []))).end).toMatchObject({ warnings: [] });
  expect(listBackends()).toEqual({ "TCP-80": [], "TCP-80-IPv6": [] });
});

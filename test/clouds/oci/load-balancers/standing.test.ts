import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeBalancer } from "#test/clouds/oci/fake/balancers.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  aNetworkService,
  aService,
  CLUSTER,
  OTHER_COMPARTMENT,
  question,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";

const TAGS = { "serverless-ccm-cluster": CLUSTER };

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account, { compartments: [OTHER_COMPARTMENT] });
});
afterEach(async () => {
  player.close();
  await account.close();
});

const away = (service = aService()) => ({ service, wanted: false, nodes: [] });
const isThere = (traits: Partial<FakeBalancer>) =>
  account.lb.add({ displayName: UID, freeformTags: TAGS, ...traits });

describe("what has the Service's name", () => {
  test.each([
    ["another cluster's", { "serverless-ccm-cluster": "tenant-b" }],
    ["nobody's by its tags", {}],
  ])("is %s: it is not touched, and nothing is made", async (_, freeformTags) => {
    const balancer = isThere({ freeformTags });
    const { end, actions } = await player.settle(question(aService()));
    expect([end, actions]).toMatchObject([{ kind: "refused", problem: { code: "NameTaken" } }, []]);
    expect(await player.settle(away())).toMatchObject({ end: { kind: "settled", ingress: [] }, actions: [] });
    expect([...account.lb.balancers.values()]).toEqual([balancer]);
  });

  test("is the stock controller's: tagged as the cluster's it is taken over in place", async () => {
    isThere({
      ipAddresses: [{ ipAddress: "203.0.113.9", isPublic: true }],
      listeners: { "TCP-80": { name: "TCP-80", defaultBackendSetName: "TCP-80", port: 80, protocol: "TCP" } },
      backendSets: {
        "TCP-80": {
          ...{ name: "TCP-80", policy: "ROUND_ROBIN", backends: [] },
          healthChecker: {
            ...{ protocol: "HTTP", port: 10_256, urlPath: "/healthz", retries: 3, returnCode: 200 },
            ...{ intervalInMillis: 10_000, timeoutInMillis: 3_000 },
          },
        },
      },
      others: { shapeName: "100Mbps" },
    });
    expect(await player.settle(question(aService()))).toMatchObject({
      end: { kind: "settled", ingress: [{ ip: "203.0.113.9" }] },
      actions: ["lb:UpdateBackendSet"],
    });
  });

  test("is one of ours beside another's: ours is meant, be there one that a hostile cluster has called alike", async () => {
    await player.settle(question(aService()));
    const other = isThere({ freeformTags: { "serverless-ccm-cluster": "tenant-b" } });
    expect(await player.settle(question(aService()))).toMatchObject({
      end: { kind: "settled" },
      actions: [],
    });
    expect((await player.settle(away())).actions).toEqual(["lb:DeleteLoadBalancer"]);
    isThere({ freeformTags: {} });
    expect((await player.settle(away())).end).toMatchObject({ kind: "settled" });
    expect(other.lifecycleState).toBe("ACTIVE");
  });

  test("are several: none is chosen, and none goes", async () => {
    isThere({});
    isThere({ compartmentId: OTHER_COMPARTMENT });
    for (const asked of [question(aService()), away()])
      expect(await player.settle(asked)).toMatchObject({
        end: { problem: { code: "NameTaken" } },
        actions: [],
      });
  });

  test.each(["DELETED", "TERMINATED"])("is %s: it is none", async (lifecycleState) => {
    isThere({ lifecycleState });
    expect((await player.settle(question(aService()))).actions).toEqual(["lb:CreateLoadBalancer"]);
  });

  test.each(["CREATING", "DELETING", "UPDATING"])("is %s: it is waited for", async (lifecycleState) => {
    isThere({ lifecycleState });
    for (const asked of [question(aService()), away()])
      expect(await player.round(asked)).toMatchObject({
        end: { kind: "wait", afterSeconds: 10 },
        actions: [],
      });
  });

  test("has FAILED: that is told, and it goes with the Service", async () => {
    isThere({ lifecycleState: "FAILED" });
    const { end } = await player.settle(question(aService()));
    expect(end).toMatchObject({
      problem: { code: "LoadBalancerRefused", detail: expect.stringContaining("FAILED") },
    });
    expect((await player.settle(away())).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });

  test("is of the other kind: it stays until the Service says so again, or leaves", async () => {
    await player.settle(question(aService()));
    const { end, actions } = await player.settle(question(aNetworkService()));
    expect([end, actions]).toMatchObject([{ problem: { code: "TypeChanged", value: "nlb" } }, []]);
    expect((await player.settle(question(aService()))).end.kind).toBe("settled");
    expect((await player.settle(away(aNetworkService()))).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });
});

describe("what cannot be changed in place is refused, and what is there stays", () => {
  const others = "ocid1.compartment.oc1..c2";
  test.each([
    ["internal", aService({ "lb:internal": "true" }), "TypeChanged"],
    ["its compartment", aService({ "oci:compartment-id": others }), "InvalidAnnotation"],
    ["its address", aService({}, { loadBalancerIP: "198.51.100.7" }), "InvalidField"],
  ])("%s", async (_, service, code) => {
    await player.settle(question(aService()));
    expect(await player.settle(question(service))).toMatchObject({ end: { problem: { code } }, actions: [] });
    expect(account.lb.balancers.size).toBe(1);
  });

  test("the private address of a network load balancer", async () => {
    await player.settle(question(aNetworkService()));
    const service = aNetworkService({ "nlb:assigned-private-ipv4": "10.0.0.77" });
    expect((await player.settle(question(service))).end).toMatchObject({
      problem: { code: "InvalidAnnotation" },
    });
  });
});

describe("a compartment that the configuration names", () => {
  test("is where its load balancer is made, and looked for", async () => {
    const service = aService({ "oci:compartment-id": OTHER_COMPARTMENT });
    await player.settle(question(service));
    expect([...account.lb.balancers.values()]).toMatchObject([{ compartmentId: OTHER_COMPARTMENT }]);
    expect((await player.settle(away(service))).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });
});

describe("work requests", () => {
  test("that have failed a moment ago are told, and not ordered again at once", async () => {
    await player.settle(question(aService()));
    account.work.failNext = "the backend set is not to the API's liking";
    const changed = question(aService({ "oci:loadbalancer-policy": "IP_HASH" }));
    const { end, actions } = await player.settle(changed);
    expect([end, actions]).toMatchObject([
      {
        problem: { code: "LoadBalancerRefused", detail: expect.stringContaining("not to the API's liking") },
      },
      ["lb:UpdateBackendSet"],
    ]);
    const [failed] = account.work.all.filter(({ state }) => state === "FAILED");
    if (failed !== undefined) failed.finished = new Date(Date.now() - 120_000).toISOString();
    expect(await player.settle(changed)).toMatchObject({
      end: { kind: "settled" },
      actions: ["lb:UpdateBackendSet"],
    });
  });

  test("of a network load balancer are told the same way", async () => {
    await player.settle(question(aNetworkService()));
    account.work.failNext = "no";
    const changed = question(aNetworkService({ "nlb:backend-policy": "TWO_TUPLE" }));
    expect((await player.settle(changed)).end).toMatchObject({ problem: { code: "LoadBalancerRefused" } });
  });

  test("that are not done are waited for, whoever has ordered them", async () => {
    await player.settle(question(aService()));
    const [balancer] = account.lb.balancers.values();
    account.work.reads = 100;
    account.work.order({
      ...{ kind: "lb", compartmentId: "c", target: balancer?.id ?? "", type: "UpdateShape" },
      apply() {},
    });
    expect(await player.round(question(aService({ "oci:loadbalancer-policy": "IP_HASH" })))).toMatchObject({
      end: { kind: "wait", because: { code: "WorkRequest" } },
      actions: [],
    });
  });
});

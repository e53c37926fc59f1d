import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeBalancer } from "#test/clouds/oci/fake/balancers.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildNetworkService,
  buildQuestion,
  buildService,
  CLUSTER,
  OTHER_COMPARTMENT,
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

const away = (service = buildService()) => ({ service, wanted: false, nodes: [] });
const isThere = (traits: Partial<FakeBalancer>) =>
  account.lb.add({ displayName: UID, freeformTags: TAGS, ...traits });

describe("a load balancer with the Service's name", () => {
  test.each([
    ["another cluster's", { "serverless-ccm-cluster": "tenant-b" }],
    ["without an owner in its tags", {}],
  ])("that is %s is not touched, and nothing is made", async (_, freeformTags) => {
    const balancer = isThere({ freeformTags });
    const { end, actions } = await player.settle(buildQuestion(buildService()));
    expect([end, actions]).toMatchObject([{ kind: "refused", issue: { code: "NameTaken" } }, []]);
    expect(await player.settle(away())).toMatchObject({ end: { kind: "settled", ingress: [] }, actions: [] });
    expect([...account.lb.balancers.values()]).toEqual([balancer]);
  });

  test("of the stock controller is taken over in place if it has the cluster's tag", async () => {
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
    expect(await player.settle(buildQuestion(buildService()))).toMatchObject({
      end: { kind: "settled", ingress: [{ ip: "203.0.113.9" }] },
      actions: ["lb:UpdateBackendSet"],
    });
  });

  test("next to a foreign one: ours is used, even if a hostile cluster has copied the name", async () => {
    await player.settle(buildQuestion(buildService()));
    const other = isThere({ freeformTags: { "serverless-ccm-cluster": "tenant-b" } });
    expect(await player.settle(buildQuestion(buildService()))).toMatchObject({
      end: { kind: "settled" },
      actions: [],
    });
    expect((await player.settle(away())).actions).toEqual(["lb:DeleteLoadBalancer"]);
    isThere({ freeformTags: {} });
    expect((await player.settle(away())).end).toMatchObject({ kind: "settled" });
    expect(other.lifecycleState).toBe("ACTIVE");
  });

  test("that exists several times is neither used nor deleted", async () => {
    isThere({});
    isThere({ compartmentId: OTHER_COMPARTMENT });
    for (const asked of [buildQuestion(buildService()), away()])
      expect(await player.settle(asked)).toMatchObject({
        end: { issue: { code: "NameTaken" } },
        actions: [],
      });
  });

  test.each(["DELETED", "TERMINATED"])("that is %s counts as missing", async (lifecycleState) => {
    isThere({ lifecycleState });
    expect((await player.settle(buildQuestion(buildService()))).actions).toEqual(["lb:CreateLoadBalancer"]);
  });

  test.each(["CREATING", "DELETING", "UPDATING"])("that is %s is waited for", async (lifecycleState) => {
    isThere({ lifecycleState });
    for (const asked of [buildQuestion(buildService()), away()])
      expect(await player.round(asked)).toMatchObject({
        end: { kind: "wait", afterSeconds: 10 },
        actions: [],
      });
  });

  test("that has FAILED is reported, and is deleted with the Service", async () => {
    isThere({ lifecycleState: "FAILED" });
    const { end } = await player.settle(buildQuestion(buildService()));
    expect(end).toMatchObject({
      issue: { code: "LoadBalancerRefused", detail: expect.stringContaining("FAILED") },
    });
    expect((await player.settle(away())).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });

  test("of the other kind stays until the Service wants that kind again, or is deleted", async () => {
    await player.settle(buildQuestion(buildService()));
    const { end, actions } = await player.settle(buildQuestion(buildNetworkService()));
    expect([end, actions]).toMatchObject([{ issue: { code: "TypeChanged", value: "nlb" } }, []]);
    expect((await player.settle(buildQuestion(buildService()))).end.kind).toBe("settled");
    expect((await player.settle(away(buildNetworkService()))).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });
});

describe("a change that is impossible in place is rejected, and the load balancer stays", () => {
  const others = "ocid1.compartment.oc1..c2";
  test.each([
    ["internal", buildService({ "lb:internal": "true" }), "TypeChanged"],
    ["its compartment", buildService({ "oci:compartment-id": others }), "InvalidAnnotation"],
    ["its address", buildService({}, { loadBalancerIP: "198.51.100.7" }), "InvalidField"],
  ])("%s", async (_, service, code) => {
    await player.settle(buildQuestion(buildService()));
    expect(await player.settle(buildQuestion(service))).toMatchObject({
      end: { issue: { code } },
      actions: [],
    });
    expect(account.lb.balancers.size).toBe(1);
  });

  test("the private address of a network load balancer", async () => {
    await player.settle(buildQuestion(buildNetworkService()));
    const service = buildNetworkService({ "nlb:assigned-private-ipv4": "10.0.0.77" });
    expect((await player.settle(buildQuestion(service))).end).toMatchObject({
      issue: { code: "InvalidAnnotation" },
    });
  });
});

describe("a configured load balancer compartment", () => {
  test("is where its load balancer is created and searched", async () => {
    const service = buildService({ "oci:compartment-id": OTHER_COMPARTMENT });
    await player.settle(buildQuestion(service));
    expect([...account.lb.balancers.values()]).toMatchObject([{ compartmentId: OTHER_COMPARTMENT }]);
    expect((await player.settle(away(service))).actions).toEqual(["lb:DeleteLoadBalancer"]);
  });
});

describe("work requests", () => {
  test("that failed a moment ago are reported, and not repeated at once", async () => {
    await player.settle(buildQuestion(buildService()));
    account.work.failNext = "the backend set is not to the API's liking";
    const changed = buildQuestion(buildService({ "oci:loadbalancer-policy": "IP_HASH" }));
    const { end, actions } = await player.settle(changed);
    expect([end, actions]).toMatchObject([
      {
        issue: { code: "LoadBalancerRefused", detail: expect.stringContaining("not to the API's liking") },
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

  test("of a network load balancer are reported in the same way", async () => {
    await player.settle(buildQuestion(buildNetworkService()));
    account.work.failNext = "no";
    const changed = buildQuestion(buildNetworkService({ "nlb:backend-policy": "TWO_TUPLE" }));
    expect((await player.settle(changed)).end).toMatchObject({ issue: { code: "LoadBalancerRefused" } });
  });

  test("in progress are waited for, whichever actor started them", async () => {
    await player.settle(buildQuestion(buildService()));
    const [balancer] = account.lb.balancers.values();
    account.work.reads = 100;
    account.work.order({
      ...{ kind: "lb", compartmentId: "c", target: balancer?.id ?? "", type: "UpdateShape" },
      apply() {},
    });
    expect(
      await player.round(buildQuestion(buildService({ "oci:loadbalancer-policy": "IP_HASH" }))),
    ).toMatchObject({
      end: { kind: "wait", because: { code: "WorkRequest" } },
      actions: [],
    });
  });
});

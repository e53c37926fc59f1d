import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { OCI_PREFIX, RULE_MODE } from "#clouds/oci/load-balancers/annotations/table.ts";
import { MAX_RULES } from "#clouds/oci/load-balancers/security.ts";
import type { LoadBalancerQuestion } from "#core/service/model.ts";
import type { Service } from "#core/service/service.ts";
import type { FakeGroup, FakeRule } from "#test/clouds/oci/fake/nsgs.ts";
import { NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  aNetworkService,
  aService,
  CLUSTER,
  question,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";

const TAGS = { "serverless-ccm-cluster": CLUSTER };
const NSG_MODE = { "oci:security-rule-management-mode": "NSG" };
const BACK = "ocid1.networksecuritygroup.oc1.phx.back";
const OTHERS: FakeRule = {
  ...{ id: "theirs", direction: "INGRESS", protocol: "6", source: "10.0.0.0/8", sourceType: "CIDR_BLOCK" },
  tcpOptions: { destinationPortRange: { min: 22, max: 22 } },
};

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account);
  account.nsgs.add({ id: BACK, freeformTags: TAGS, rules: [OTHERS] });
});
afterEach(async () => {
  player.close();
  await account.close();
});

const away = (service: Service): LoadBalancerQuestion => ({ service, wanted: false, nodes: [] });
const managed = (): FakeGroup | undefined =>
  [...account.nsgs.groups.values()].find(({ displayName }) => displayName === UID);
const told = ({ rules }: Pick<FakeGroup, "rules">): string[] =>
  rules
    .map(({ direction, protocol, source, destination, tcpOptions, udpOptions }) => {
      const { min } = (tcpOptions ?? udpOptions)?.destinationPortRange ?? {};
      return [direction, protocol, source ?? destination, min].join(" ");
    })
    .sort();
const rulesOf = (id: string): string[] => told(account.nsgs.groups.get(id) ?? { rules: [] });
const named = (said: Readonly<Record<string, string>> = {}, spec = {}) =>
  aService({ ...NSG_MODE, "oci:oci-backend-network-security-group": BACK, ...said }, spec);

describe.each([
  ["lb", aService()],
  ["nlb", aNetworkService()],
])("mode None of the kind %s", (_, service) => {
  const GROUPS = /networkSecurityGroups/;
  const asked = () => account.oci.requests.filter(({ path }) => GROUPS.test(path));
  const deny = () => {
    account.oci.fault = ({ path }) => (GROUPS.test(path) ? NOT_FOUND : undefined);
  };

  test("makes a load balancer and keeps it without asking for security groups", async () => {
    deny();
    expect((await player.settle(question(service))).end.kind).toBe("settled");
    expect((await player.settle(question(service))).actions).toEqual([]);
    expect(asked()).toEqual([]);
  });

  test("asks for none of the nodes' groups that the Service names to no effect", async () => {
    deny();
    const annotations = {
      ...service.metadata.annotations,
      [`${OCI_PREFIX}oci-backend-network-security-group`]: BACK,
    };
    const naming = { ...service, metadata: { ...service.metadata, annotations } };
    expect((await player.settle(question(naming))).end.kind).toBe("settled");
    expect(asked()).toEqual([]);
  });

  test("deletes a load balancer where security groups may not be listed", async () => {
    deny();
    await player.settle(question(service));
    expect((await player.settle(away(service))).end.kind).toBe("settled");
    const balancers = [...account.lb.balancers.values(), ...account.nlb.balancers.values()];
    expect(balancers.map(({ lifecycleState }) => lifecycleState)).toEqual(["DELETED"]);
  });

  test("removes a managed group that was taken off its load balancer before the last look", async () => {
    const managing = {
      ...service.metadata,
      annotations: { ...service.metadata.annotations, [RULE_MODE]: "NSG" },
    };
    await player.settle(question({ ...service, metadata: managing }));
    await player.round(question(service));
    account.work.finish();
    expect(managed()).toBeDefined();
    expect((await player.settle(question(service))).actions).toEqual(["vcn:DeleteNetworkSecurityGroup"]);
    expect(managed()).toBeUndefined();
  });
});

test("mode NSG waits for the permission to list security groups", async () => {
  account.oci.fault = ({ path }) => (/networkSecurityGroups/.test(path) ? NOT_FOUND : undefined);
  await expect(player.settle(question(named()))).rejects.toThrow("NotAuthorizedOrNotFound");
});

describe("the managed group", () => {
  test("is there with its rules before the load balancer, and lets it reach its backends", async () => {
    const { actions, end } = await player.settle(question(named()));
    expect([actions, end.kind]).toEqual([
      [
        "vcn:CreateNetworkSecurityGroup",
        "vcn:AddSecurityRules",
        "vcn:AddSecurityRules",
        "lb:CreateLoadBalancer",
      ],
      "settled",
    ]);
    const group = managed();
    expect(group).toMatchObject({
      vcnId: "ocid1.vcn.oc1.phx.v1",
      freeformTags: { CreatedBy: "CCM", ServiceUid: UID, ...TAGS },
    });
    expect(told(group ?? { rules: [] })).toEqual([
      `EGRESS 6 ${BACK} 10256`,
      `EGRESS 6 ${BACK} 30080`,
      "INGRESS 6 0.0.0.0/0 80",
    ]);
    expect(rulesOf(BACK)).toEqual([
      "INGRESS 6 10.0.0.0/8 22",
      `INGRESS 6 ${group?.id} 10256`,
      `INGRESS 6 ${group?.id} 30080`,
    ]);
    expect([...account.lb.balancers.values()]).toMatchObject([{ networkSecurityGroupIds: [group?.id] }]);
  });

  test("is left as it is by the next look", async () => {
    await player.settle(question(named()));
    expect((await player.settle(question(named()))).actions).toEqual([]);
  });

  test("follows ports and source ranges, new rules before old ones go", async () => {
    await player.settle(question(named()));
    const spec = {
      ports: [{ protocol: "TCP", port: 81, nodePort: 30_081 }],
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    };
    const { actions } = await player.settle(question(named({}, spec)));
    expect(actions).toEqual([
      ...["vcn:AddSecurityRules", "vcn:AddSecurityRules"],
      ...["lb:DeleteListener", "lb:DeleteBackendSet", "lb:CreateBackendSet", "lb:CreateListener"],
      ...["vcn:RemoveSecurityRules", "vcn:RemoveSecurityRules"],
    ]);
    expect(told(managed() ?? { rules: [] })).toEqual([
      `EGRESS 6 ${BACK} 10256`,
      `EGRESS 6 ${BACK} 30081`,
      "INGRESS 6 192.0.2.0/24 81",
    ]);
    expect(rulesOf(BACK)).toHaveLength(3);
  });

  test("goes after its load balancer, and its rules in other groups before it", async () => {
    await player.settle(question(named()));
    const { actions, end } = await player.settle(away(named()));
    expect([actions, end]).toEqual([
      ["lb:DeleteLoadBalancer", "vcn:RemoveSecurityRules", "vcn:DeleteNetworkSecurityGroup"],
      { kind: "settled", ingress: [], warnings: [] },
    ]);
    expect([managed(), rulesOf(BACK)]).toEqual([undefined, ["INGRESS 6 10.0.0.0/8 22"]]);
  });

  test("goes where the mode is another one by now, after it was taken off", async () => {
    await player.settle(question(named()));
    const { actions } = await player.settle(question(aService()));
    expect(actions).toEqual([
      "lb:UpdateNetworkSecurityGroups",
      "vcn:RemoveSecurityRules",
      "vcn:DeleteNetworkSecurityGroup",
    ]);
    expect([managed(), rulesOf(BACK)]).toEqual([undefined, ["INGRESS 6 10.0.0.0/8 22"]]);
  });

  test("is made anew within the day in which its token is known as one of a group that has gone", async () => {
    for (const service of [named(), aService(), named()]) await player.settle(question(service));
    expect(told(managed() ?? { rules: [] })).toHaveLength(3);
  });

  test("is as it is to be, however the API spells its networks", async () => {
    const spec = { ipFamilies: ["IPv6"], loadBalancerSourceRanges: ["2001:db8::/32"] };
    const service = aNetworkService({ ...NSG_MODE }, spec);
    await player.settle(question(service));
    for (const rule of managed()?.rules ?? []) Object.assign(rule, { source: "2001:0DB8:0:0::/32" });
    for (const { backendSets } of account.nlb.balancers.values())
      for (const backend of (backendSets["TCP-80-IPv6"]?.["backends"] ?? []) as { ipAddress: string }[])
        backend.ipAddress = backend.ipAddress.toUpperCase().replace("::", ":0:0:0:0:");
    expect(await player.settle(question(service))).toMatchObject({ end: { kind: "settled" }, actions: [] });
  });

  test("leaves a group of backends that is not named any more", async () => {
    await player.settle(question(named()));
    await player.settle(question(aService(NSG_MODE)));
    expect([told(managed() ?? { rules: [] }), rulesOf(BACK)]).toEqual([
      ["INGRESS 6 0.0.0.0/0 80"],
      ["INGRESS 6 10.0.0.0/8 22"],
    ]);
  });

  test("gets what somebody has taken away, and loses what somebody has added", async () => {
    await player.settle(question(named()));
    const group = managed();
    if (group !== undefined)
      group.rules = [...group.rules.slice(1), { ...OTHERS, id: "X1" }, { ...OTHERS, id: "X2" }];
    await player.settle(question(named()));
    expect(told(managed() ?? { rules: [] })).toHaveLength(3);
  });

  test("gets many rules in batches, and is refused too many", async () => {
    const ranges = (count: number) => Array.from({ length: count }, (_, index) => `10.${index}.0.0/16`);
    const { actions } = await player.settle(question(named({}, { loadBalancerSourceRanges: ranges(60) })));
    expect(actions.filter((action) => action === "vcn:AddSecurityRules")).toHaveLength(4);
    const tooMany = named({}, { loadBalancerSourceRanges: ranges(MAX_RULES) });
    expect((await player.settle(question(tooMany))).end).toMatchObject({ problem: { code: "TooManyRules" } });
  });

  test("is one more beside those that are named", async () => {
    const own = account.nsgs.add({ freeformTags: TAGS });
    await player.settle(question(named({ "oci:oci-network-security-groups": own.id })));
    expect([...account.lb.balancers.values()]).toMatchObject([
      { networkSecurityGroupIds: [own.id, managed()?.id] },
    ]);
  });

  test("of which there is one that is not the cluster's is nobody's to take", async () => {
    account.nsgs.add({ displayName: UID, freeformTags: { CreatedBy: "CCM", ServiceUid: UID } });
    expect((await player.settle(question(named()))).end).toMatchObject({ problem: { code: "NameTaken" } });
    expect(account.lb.balancers.size).toBe(0);
  });

  test("is none that an operator has made for the cluster, whatever uid a hostile API server chooses", async () => {
    const operators = account.nsgs.add({ displayName: "backends", freeformTags: TAGS, rules: [OTHERS] });
    const before = structuredClone(operators);
    const forged = aService(NSG_MODE, {}, { uid: "backends" });
    expect((await player.settle(question(forged))).end).toMatchObject({ problem: { code: "NameTaken" } });
    for (const asked of [away(forged), question(aService({}, {}, { uid: "backends" }))])
      await player.settle(asked);
    expect(account.nsgs.groups.get(operators.id)).toEqual(before);
  });

  test("lets clients reach backends where those see their addresses", async () => {
    const local = {
      externalTrafficPolicy: "Local",
      healthCheckNodePort: 31_000,
      ports: [
        { protocol: "TCP", port: 53, nodePort: 30_053 },
        { protocol: "UDP", port: 53, nodePort: 30_053 },
      ],
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    };
    await player.settle(
      question(aNetworkService({ ...NSG_MODE, "oci:oci-backend-network-security-group": BACK }, local)),
    );
    const group = managed();
    expect(rulesOf(BACK)).toEqual(
      [
        "INGRESS 17 192.0.2.0/24 30053",
        "INGRESS 6 192.0.2.0/24 30053",
        "INGRESS 6 10.0.0.0/8 22",
        `INGRESS 17 ${group?.id} 30053`,
        `INGRESS 6 ${group?.id} 30053`,
        `INGRESS 6 ${group?.id} 31000`,
      ].sort(),
    );
  });
});

describe("groups that are named", () => {
  test.each([
    ["not there", undefined],
    ["another cluster's", { freeformTags: { "serverless-ccm-cluster": "tenant-b" } }],
    ["nobody's", { freeformTags: {} }],
    ["of another VCN", { freeformTags: TAGS, vcnId: "ocid1.vcn.oc1.phx.v2" }],
  ])("and are %s are refused, and nothing is made", async (_, traits) => {
    const id = "ocid1.networksecuritygroup.oc1.phx.named";
    if (traits !== undefined) account.nsgs.add({ ...traits, id });
    for (const annotation of ["oci:oci-network-security-groups", "oci:oci-backend-network-security-group"]) {
      const { end, actions } = await player.settle(question(aService({ ...NSG_MODE, [annotation]: id })));
      expect([end, actions]).toMatchObject([{ problem: { code: "SecurityGroupNotAllowed", value: id } }, []]);
    }
    expect(account.nsgs.groups.get(id)?.rules ?? []).toEqual([]);
  });

  test("of which no rules are kept are attached and taken off", async () => {
    const own = account.nsgs.add({ freeformTags: TAGS });
    await player.settle(question(aService({ "oci:oci-network-security-groups": own.id })));
    expect([...account.lb.balancers.values()]).toMatchObject([{ networkSecurityGroupIds: [own.id] }]);
    await player.settle(question(aService()));
    expect([...account.lb.balancers.values()]).toMatchObject([{ networkSecurityGroupIds: [] }]);
  });
});

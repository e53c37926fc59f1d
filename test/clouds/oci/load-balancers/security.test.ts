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
  buildNetworkService,
  buildQuestion,
  buildService,
  CLUSTER,
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
  buildService({ ...NSG_MODE, "oci:oci-backend-network-security-group": BACK, ...said }, spec);

describe.each([
  ["lb", buildService()],
  ["nlb", buildNetworkService()],
])("mode None of the kind %s", (_, service) => {
  const GROUPS = /networkSecurityGroups/;
  const asked = () => account.oci.requests.filter(({ path }) => GROUPS.test(path));
  const deny = () => {
    account.oci.fault = ({ path }) => (GROUPS.test(path) ? NOT_FOUND : undefined);
  };

  test("makes a load balancer and keeps it without reading security groups", async () => {
    deny();
    expect((await player.settle(buildQuestion(service))).end.kind).toBe("settled");
    expect((await player.settle(buildQuestion(service))).actions).toEqual([]);
    expect(asked()).toEqual([]);
  });

  test("does not read the nodes' groups that the Service names without effect", async () => {
    deny();
    const annotations = {
      ...service.metadata.annotations,
      [`${OCI_PREFIX}oci-backend-network-security-group`]: BACK,
    };
    const naming = { ...service, metadata: { ...service.metadata, annotations } };
    expect((await player.settle(buildQuestion(naming))).end.kind).toBe("settled");
    expect(asked()).toEqual([]);
  });

  test("deletes a load balancer if security groups may not be listed", async () => {
    deny();
    await player.settle(buildQuestion(service));
    expect((await player.settle(away(service))).end.kind).toBe("settled");
    const balancers = [...account.lb.balancers.values(), ...account.nlb.balancers.values()];
    expect(balancers.map(({ lifecycleState }) => lifecycleState)).toEqual(["DELETED"]);
  });

  test("removes a managed group that left its load balancer before the last observation", async () => {
    const managing = {
      ...service.metadata,
      annotations: { ...service.metadata.annotations, [RULE_MODE]: "NSG" },
    };
    await player.settle(buildQuestion({ ...service, metadata: managing }));
    await player.round(buildQuestion(service));
    account.work.finish();
    expect(managed()).toBeDefined();
    expect((await player.settle(buildQuestion(service))).actions).toEqual(["vcn:DeleteNetworkSecurityGroup"]);
    expect(managed()).toBeUndefined();
  });
});

test("mode NSG waits for the permission to list security groups", async () => {
  account.oci.fault = ({ path }) => (/networkSecurityGroups/.test(path) ? NOT_FOUND : undefined);
  await expect(player.settle(buildQuestion(named()))).rejects.toThrow("NotAuthorizedOrNotFound");
});

describe("the managed group", () => {
  test("exists with its rules before the load balancer, and allows it to reach its backends", async () => {
    const { actions, end } = await player.settle(buildQuestion(named()));
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

  test("is unchanged by the next observation", async () => {
    await player.settle(buildQuestion(named()));
    expect((await player.settle(buildQuestion(named()))).actions).toEqual([]);
  });

  test("follows ports and source ranges, new rules before old ones go", async () => {
    await player.settle(buildQuestion(named()));
    const spec = {
      ports: [{ protocol: "TCP", port: 81, nodePort: 30_081 }],
      loadBalancerSourceRanges: ["192.0.2.0/24"],
    };
    const { actions } = await player.settle(buildQuestion(named({}, spec)));
    expect(actions).toEqual([
      ...["vcn:AddSecurityRules", "vcn:RemoveSecurityRules", "vcn:AddSecurityRules"],
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

  test("is deleted after its load balancer, and its rules in other groups before it", async () => {
    await player.settle(buildQuestion(named()));
    const { actions, end } = await player.settle(away(named()));
    expect([actions, end]).toEqual([
      ["lb:DeleteLoadBalancer", "vcn:RemoveSecurityRules", "vcn:DeleteNetworkSecurityGroup"],
      { kind: "settled", ingress: [], warnings: [] },
    ]);
    expect([managed(), rulesOf(BACK)]).toEqual([undefined, ["INGRESS 6 10.0.0.0/8 22"]]);
  });

  test("is deleted after a change of mode, once it has left the load balancer", async () => {
    await player.settle(buildQuestion(named()));
    const { actions } = await player.settle(buildQuestion(buildService()));
    expect(actions).toEqual([
      "lb:UpdateNetworkSecurityGroups",
      "vcn:RemoveSecurityRules",
      "vcn:DeleteNetworkSecurityGroup",
    ]);
    expect([managed(), rulesOf(BACK)]).toEqual([undefined, ["INGRESS 6 10.0.0.0/8 22"]]);
  });

  test("is created again within the day in which a deleted group's token is remembered", async () => {
    for (const service of [named(), buildService(), named()]) await player.settle(buildQuestion(service));
    expect(told(managed() ?? { rules: [] })).toHaveLength(3);
  });

  test("needs no change for any notation of its networks", async () => {
    const spec = { ipFamilies: ["IPv6"], loadBalancerSourceRanges: ["2001:db8::/32"] };
    const service = buildNetworkService({ ...NSG_MODE }, spec);
    await player.settle(buildQuestion(service));
    for (const rule of managed()?.rules ?? []) Object.assign(rule, { source: "2001:0DB8:0:0::/32" });
    for (const { backendSets } of account.nlb.balancers.values())
      for (const backend of (backendSets["TCP-80-IPv6"]?.["backends"] ?? []) as { ipAddress: string }[])
        backend.ipAddress = backend.ipAddress.toUpperCase().replace("::", ":0:0:0:0:");
    expect(await player.settle(buildQuestion(service))).toMatchObject({
      end: { kind: "settled" },
      actions: [],
    });
  });

  test("leaves a group of backends that is no longer named", async () => {
    await player.settle(buildQuestion(named()));
    await player.settle(buildQuestion(buildService(NSG_MODE)));
    expect([told(managed() ?? { rules: [] }), rulesOf(BACK)]).toEqual([
      ["INGRESS 6 0.0.0.0/0 80"],
      ["INGRESS 6 10.0.0.0/8 22"],
    ]);
  });

  test("gets back a removed rule, and loses an added one", async () => {
    await player.settle(buildQuestion(named()));
    const group = managed();
    if (group !== undefined)
      group.rules = [...group.rules.slice(1), { ...OTHERS, id: "X1" }, { ...OTHERS, id: "X2" }];
    await player.settle(buildQuestion(named()));
    expect(told(managed() ?? { rules: [] })).toHaveLength(3);
  });

  test("gets many rules in batches, and too many are rejected", async () => {
    const ranges = (count: number) => Array.from({ length: count }, (_, index) => `10.${index}.0.0/16`);
    const { actions } = await player.settle(
      buildQuestion(named({}, { loadBalancerSourceRanges: ranges(60) })),
    );
    expect(actions.filter((action) => action === "vcn:AddSecurityRules")).toHaveLength(4);
    const tooMany = named({}, { loadBalancerSourceRanges: ranges(MAX_RULES) });
    expect((await player.settle(buildQuestion(tooMany))).end).toMatchObject({
      issue: { code: "TooManyRules" },
    });
  });

  test("replaces rules that do not fit beside the old ones", async () => {
    const ranges = (first: number) => ({
      loadBalancerSourceRanges: Array.from({ length: 70 }, (_, index) => `${first}.${index}.0.0/16`),
    });
    await player.settle(buildQuestion(named({}, ranges(10))));
    const { actions, end } = await player.settle(buildQuestion(named({}, ranges(11))));
    expect(end.kind).toBe("settled");
    expect(actions).toEqual([
      ...["vcn:AddSecurityRules", "vcn:RemoveSecurityRules", "vcn:AddSecurityRules"],
      ...["vcn:AddSecurityRules", "vcn:RemoveSecurityRules", "vcn:RemoveSecurityRules"],
    ]);
    const incoming = (managed()?.rules ?? []).flatMap(({ source }) => source ?? []);
    expect(incoming).toHaveLength(70);
    expect(incoming.every((source) => source.startsWith("11."))).toBe(true);
  });

  test("replaces groups of backends whose rules do not fit beside the old ones", async () => {
    const ports = Array.from({ length: 14 }, (_, index) => ({
      ...{ protocol: "TCP", port: 80 + index, nodePort: 30_080 + index },
    }));
    const groups = (first: number) =>
      [0, 1, 2, 3, 4].map(
        (index) => account.nsgs.add({ id: `${BACK}${first + index}`, freeformTags: TAGS }).id,
      );
    const service = (ids: readonly string[]) =>
      buildQuestion(named({ "oci:oci-backend-network-security-group": ids.join() }, { ports }));
    const [before, after] = [groups(0), groups(5)];
    await player.settle(service(before));
    expect((await player.settle(service(after))).end.kind).toBe("settled");
    expect(managed()?.rules).toHaveLength(14 + 5 * 15);
    expect(before.flatMap(rulesOf)).toEqual([]);
    expect(after.flatMap(rulesOf)).toHaveLength(5 * 15);
  });

  test("leaves old rules in a nodes' group without room for the new ones", async () => {
    const full = Array.from({ length: MAX_RULES - 2 }, (_, index) => ({ ...OTHERS, id: `F${index}` }));
    Object.assign(account.nsgs.groups.get(BACK) ?? {}, { rules: full });
    await player.settle(buildQuestion(named()));
    const before = rulesOf(BACK);
    const ports = [80, 81].map((port) => ({ protocol: "TCP", port, nodePort: 30_000 + port }));
    await expect(player.settle(buildQuestion(named({}, { ports })))).rejects.toThrow("LimitExceeded");
    expect(rulesOf(BACK)).toEqual(before);
  });

  test("is added to the named ones", async () => {
    const own = account.nsgs.add({ freeformTags: TAGS });
    await player.settle(buildQuestion(named({ "oci:oci-network-security-groups": own.id })));
    expect([...account.lb.balancers.values()]).toMatchObject([
      { networkSecurityGroupIds: [own.id, managed()?.id] },
    ]);
  });

  test("with the name of a foreign group is not taken over", async () => {
    account.nsgs.add({ displayName: UID, freeformTags: { CreatedBy: "CCM", ServiceUid: UID } });
    expect((await player.settle(buildQuestion(named()))).end).toMatchObject({
      issue: { code: "NameTaken" },
    });
    expect(account.lb.balancers.size).toBe(0);
  });

  test("is never an operator's group for the cluster, whatever uid a hostile API server chooses", async () => {
    const operators = account.nsgs.add({ displayName: "backends", freeformTags: TAGS, rules: [OTHERS] });
    const before = structuredClone(operators);
    const forged = buildService(NSG_MODE, {}, { uid: "backends" });
    expect((await player.settle(buildQuestion(forged))).end).toMatchObject({
      issue: { code: "NameTaken" },
    });
    for (const asked of [away(forged), buildQuestion(buildService({}, {}, { uid: "backends" }))])
      await player.settle(asked);
    expect(account.nsgs.groups.get(operators.id)).toEqual(before);
  });

  test("allows clients to reach backends that see client addresses", async () => {
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
      buildQuestion(
        buildNetworkService({ ...NSG_MODE, "oci:oci-backend-network-security-group": BACK }, local),
      ),
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

describe("named groups", () => {
  test.each([
    ["not there", undefined],
    ["another cluster's", { freeformTags: { "serverless-ccm-cluster": "tenant-b" } }],
    ["without an owner", { freeformTags: {} }],
    ["of another VCN", { freeformTags: TAGS, vcnId: "ocid1.vcn.oc1.phx.v2" }],
  ])("that are %s are rejected, and nothing is made", async (_, traits) => {
    const id = "ocid1.networksecuritygroup.oc1.phx.named";
    if (traits !== undefined) account.nsgs.add({ ...traits, id });
    for (const annotation of ["oci:oci-network-security-groups", "oci:oci-backend-network-security-group"]) {
      const { end, actions } = await player.settle(
        buildQuestion(buildService({ ...NSG_MODE, [annotation]: id })),
      );
      expect([end, actions]).toMatchObject([{ issue: { code: "SecurityGroupNotAllowed", value: id } }, []]);
    }
    expect(account.nsgs.groups.get(id)?.rules ?? []).toEqual([]);
  });

  test("without managed rules are attached and detached", async () => {
    const own = account.nsgs.add({ freeformTags: TAGS });
    await player.settle(buildQuestion(buildService({ "oci:oci-network-security-groups": own.id })));
    expect([...account.lb.balancers.values()]).toMatchObject([{ networkSecurityGroupIds: [own.id] }]);
    await player.settle(buildQuestion(buildService()));
    expect([...account.lb.balancers.values()]).toMatchObject([{ networkSecurityGroupIds: [] }]);
  });
});

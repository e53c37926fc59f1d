import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ISSUES } from "#core/service/issues.ts";
import { NOT_FOUND } from "#test/clouds/oci/fake/reply.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildNetworkService,
  buildQuestion,
  CLUSTER,
  OTHER_COMPARTMENT,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";

const TAGS = { "serverless-ccm-cluster": CLUSTER };
const BACK = "ocid1.networksecuritygroup.oc1.phx.back";
const SECOND = "ocid1.networksecuritygroup.oc1.phx.second";
const LOCAL = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account);
  // Another compartment: only a read of the group itself shows it.
  account.nsgs.add({ id: BACK, freeformTags: TAGS, compartmentId: OTHER_COMPARTMENT });
  account.nsgs.add({ id: SECOND, freeformTags: TAGS });
  await player.settle(buildQuestion(withGroups(`${BACK},${SECOND}`)));
  expect(rulesOf(BACK)).toHaveLength(3);
});
afterEach(async () => {
  player.close();
  await account.close();
});

const withGroups = (groups: string) =>
  buildNetworkService(
    {
      "oci:security-rule-management-mode": "NSG",
      ...(groups === "" ? {} : { "oci:oci-backend-network-security-group": groups }),
    },
    LOCAL,
  );
const rulesOf = (id: string) => account.nsgs.groups.get(id)?.rules ?? [];
const readManagedGroup = () =>
  [...account.nsgs.groups.values()].find(({ displayName }) => displayName === UID);
const listDestinations = () => [
  ...new Set((readManagedGroup()?.rules ?? []).flatMap(({ destination }) => destination ?? [])),
];
const hideBackGroup = () => {
  account.oci.fault = ({ method, path }) =>
    method === "GET" && path.startsWith(`/20160918/networkSecurityGroups/${BACK}`) ? NOT_FOUND : undefined;
};
const removal = { service: withGroups(BACK), wanted: false, nodes: [] };
const WARNING = { code: "SecurityGroupHidden", detail: expect.stringContaining(BACK) };

describe("a group of backends that Oracle does not show", () => {
  beforeEach(hideBackGroup);

  test("keeps the managed group, which names it, after the load balancer is deleted", async () => {
    const { end } = await player.settle(removal);
    expect(end).toMatchObject({ kind: "refused", issue: WARNING });
    expect([...account.nlb.balancers.values()].map((each) => each.lifecycleState)).toEqual(["DELETED"]);
    expect(listDestinations()).toContain(BACK);
    expect(rulesOf(SECOND)).toEqual([]);
    account.oci.fault = undefined;
    expect((await player.settle(removal)).end.kind).toBe("settled");
    expect([rulesOf(BACK), readManagedGroup()]).toEqual([[], undefined]);
  });

  test("keeps its rules in the managed group after the Service no longer names it", async () => {
    const { end } = await player.settle(buildQuestion(withGroups("")));
    expect(end).toMatchObject({ kind: "settled", warnings: [WARNING] });
    expect(listDestinations()).toEqual([BACK]);
    account.oci.fault = undefined;
    const again = await player.settle(buildQuestion(withGroups("")));
    expect(again.end).toMatchObject({ kind: "settled", warnings: [] });
    expect([rulesOf(BACK), listDestinations()]).toEqual([[], []]);
  });

  test("keeps the managed group of a Service without managed rules, which stays served", async () => {
    const { end } = await player.settle(buildQuestion(buildNetworkService({}, LOCAL)));
    expect(end).toMatchObject({ kind: "settled", warnings: [WARNING] });
    expect(listDestinations()).toContain(BACK);
    account.oci.fault = undefined;
    await player.settle(buildQuestion(buildNetworkService({}, LOCAL)));
    expect([rulesOf(BACK), readManagedGroup()]).toEqual([[], undefined]);
  });

  test("no longer matters once an operator deletes the rules that name it", async () => {
    await player.settle(removal);
    const group = readManagedGroup();
    if (group !== undefined) group.rules = group.rules.filter(({ destination }) => destination !== BACK);
    expect((await player.settle(removal)).end.kind).toBe("settled");
    expect(readManagedGroup()).toBeUndefined();
  });

  test("is reported in words that say what to do", () => {
    expect(ISSUES.SecurityGroupHidden.sentence).toMatch(/delete the rules/);
  });
});

test("a deleted group of backends keeps nothing: Oracle shows rules that name it as invalid", async () => {
  account.nsgs.groups.delete(BACK);
  expect((await player.settle(removal)).end.kind).toBe("settled");
  expect(readManagedGroup()).toBeUndefined();
});

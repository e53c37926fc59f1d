import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FakeGroup } from "#test/clouds/oci/fake/nsgs.ts";
import { buildRefusal } from "#test/clouds/oci/fake/reply.ts";
import { type FakeAccount, startFakeAccount } from "#test/clouds/oci/load-balancers/fake-account.ts";
import { createPlayer, type Player } from "#test/clouds/oci/load-balancers/play.ts";
import {
  buildNetworkService,
  buildQuestion,
  buildService,
  CLUSTER,
  NODES,
  UID,
} from "#test/clouds/oci/load-balancers/service.ts";

const NSG_MODE = { "oci:security-rule-management-mode": "NSG" };
const HTTP = { "lb:backend-protocol": "HTTP" };
const RULE_SETS = {
  "oci:oci-load-balancer-rule-sets":
    '{"headers":{"items":[{"action":"REMOVE_HTTP_REQUEST_HEADER","header":"X"}]}}',
};
const BACK = "ocid1.networksecuritygroup.oc1.phx.back";
const OTHER_NODES = [2, 3, 4].map((number) => ({
  name: `node-${number}`,
  providerID: `oci://ocid1.instance.oc1.phx.i${number}`,
}));

let account: FakeAccount;
let player: Player;
beforeEach(async () => {
  account = await startFakeAccount();
  player = createPlayer(account);
  account.nsgs.add({ id: BACK, freeformTags: { "serverless-ccm-cluster": CLUSTER } });
});
afterEach(async () => {
  player.close();
  await account.close();
});

/** Makes OCI reject all requests to a path. */
const refuse = (method: string, path: RegExp, code: string) => {
  account.oci.fault = (request) =>
    request.method === method && path.test(request.path)
      ? buildRefusal(400, code, "as the test says")
      : undefined;
};
const readOnlyBalancer = () => {
  const [balancer, ...others] = [...account.lb.balancers.values(), ...account.nlb.balancers.values()];
  if (balancer === undefined || others.length > 0) throw new Error("there is not one load balancer");
  return balancer;
};
const listBackends = (set = "TCP-80") => {
  const backends = readOnlyBalancer().backendSets[set]?.["backends"] ?? [];
  return (backends as { ipAddress: string; port: number }[]).map(
    ({ ipAddress, port }) => `${ipAddress}:${port}`,
  );
};
const readManagedGroup = () =>
  [...account.nsgs.groups.values()].find(({ displayName }) => displayName === UID);
const listSources = (group: FakeGroup | undefined) => [
  ...new Set(
    (group?.rules ?? []).flatMap(({ direction, source }) => (direction === "INGRESS" ? (source ?? []) : [])),
  ),
];

describe("backends follow the nodes before OCI rejects", () => {
  const served = ["10.0.0.2:30080", "10.0.0.3:30080", "10.0.0.4:30080"];

  test("a rule set", async () => {
    await player.settle(buildQuestion(buildService(HTTP)));
    refuse("POST", /ruleSets/, "InvalidParameter");
    const changed = buildQuestion(buildService({ ...HTTP, ...RULE_SETS }), OTHER_NODES);
    await expect(player.settle(changed)).rejects.toThrow("InvalidParameter");
    expect(listBackends()).toEqual(served);
  });

  test("a rule of a security group", async () => {
    await player.settle(buildQuestion(buildService(NSG_MODE)));
    refuse("POST", /addSecurityRules/, "LimitExceeded");
    const ranges = { loadBalancerSourceRanges: ["192.0.2.0/24"] };
    const changed = buildQuestion(buildService(NSG_MODE, ranges), OTHER_NODES);
    await expect(player.settle(changed)).rejects.toThrow("LimitExceeded");
    expect(listBackends()).toEqual(served);
  });

  test("another setting of the same backend set", async () => {
    await player.settle(buildQuestion(buildNetworkService()));
    account.oci.fault = ({ method, path, body }) =>
      method === "PUT" && /backendSets/.test(path) && (body as { policy: string }).policy === "TWO_TUPLE"
        ? buildRefusal(400, "InvalidParameter", "as the test says")
        : undefined;
    const changed = buildQuestion(buildNetworkService({ "nlb:backend-policy": "TWO_TUPLE" }), OTHER_NODES);
    await expect(player.settle(changed)).rejects.toThrow("InvalidParameter");
    expect(listBackends()).toEqual(served);
    expect(readOnlyBalancer().backendSets["TCP-80"]).toMatchObject({ policy: "FIVE_TUPLE" });
  });
});

test("rules for a new node port exist before backends move to it, and nodes come first", async () => {
  const spec = (nodePort: number) => ({
    ports: [
      { protocol: "TCP", port: 80, nodePort },
      { protocol: "TCP", port: 81, nodePort: 30_081 },
    ],
  });
  const named = { ...NSG_MODE, "oci:oci-backend-network-security-group": BACK };
  await player.settle(buildQuestion(buildService(named, spec(30_080)), NODES));
  const { actions } = await player.settle(buildQuestion(buildService(named, spec(30_090)), OTHER_NODES));
  expect(actions).toEqual([
    "lb:UpdateBackendSet",
    "vcn:AddSecurityRules",
    "vcn:AddSecurityRules",
    "lb:UpdateBackendSet",
    "vcn:RemoveSecurityRules",
    "vcn:RemoveSecurityRules",
  ]);
  expect(listBackends("TCP-81")).toEqual(["10.0.0.2:30081", "10.0.0.3:30081", "10.0.0.4:30081"]);
  expect(listBackends()).toEqual(["10.0.0.2:30090", "10.0.0.3:30090", "10.0.0.4:30090"]);
});

test("listeners stay while OCI rejects a rule set", async () => {
  await player.settle(buildQuestion(buildService()));
  refuse("POST", /ruleSets/, "InvalidParameter");
  const changed = buildQuestion(buildService({ ...HTTP, ...RULE_SETS }));
  await expect(player.settle(changed)).rejects.toThrow("InvalidParameter");
  expect(Object.keys(readOnlyBalancer().listeners)).toEqual(["TCP-80"]);
  account.oci.fault = undefined;
  expect((await player.settle(changed)).end.kind).toBe("settled");
  expect(Object.keys(readOnlyBalancer().listeners)).toEqual(["HTTP-80"]);
});

describe.each([
  ["the shape", { ...HTTP, "lb:shape": "400Mbps" }, "PUT", /updateShape/],
  ["a rule set", { ...HTTP, ...RULE_SETS }, "POST", /ruleSets/],
])("before OCI rejects %s", (_, said, method, path) => {
  test("clients that are no longer admitted lose access", async () => {
    await player.settle(buildQuestion(buildService({ ...HTTP, ...NSG_MODE })));
    refuse(method, path, "LimitExceeded");
    const narrowed = { loadBalancerSourceRanges: ["192.0.2.0/24"] };
    const changed = buildQuestion(buildService({ ...said, ...NSG_MODE }, narrowed));
    await expect(player.settle(changed)).rejects.toThrow("LimitExceeded");
    expect(listSources(readManagedGroup())).toEqual(["192.0.2.0/24"]);
  });

  test("named security groups are attached", async () => {
    await player.settle(buildQuestion(buildService(HTTP)));
    refuse(method, path, "LimitExceeded");
    const changed = buildQuestion(buildService({ ...said, "oci:oci-network-security-groups": BACK }));
    await expect(player.settle(changed)).rejects.toThrow("LimitExceeded");
    expect(readOnlyBalancer().networkSecurityGroupIds).toEqual([BACK]);
  });
});

test("clients that are no longer admitted lose access before OCI rejects a rule of the nodes' group", async () => {
  const said = { ...NSG_MODE, "oci:oci-backend-network-security-group": BACK };
  await player.settle(buildQuestion(buildService(said)));
  refuse("POST", new RegExp(`${BACK}/actions/addSecurityRules`), "LimitExceeded");
  const spec = {
    loadBalancerSourceRanges: ["192.0.2.0/24"],
    ports: [80, 81].map((port) => ({ protocol: "TCP", port, nodePort: 30_000 + port })),
  };
  await expect(player.settle(buildQuestion(buildService(said, spec)))).rejects.toThrow("LimitExceeded");
  expect(listSources(readManagedGroup())).toEqual(["192.0.2.0/24"]);
});

describe("the nodes' group of a Service whose backends see client addresses", () => {
  const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };
  const narrowed = { ...local, loadBalancerSourceRanges: ["192.0.2.0/24"] };
  const said = { ...NSG_MODE, "oci:oci-backend-network-security-group": BACK };
  beforeEach(() => player.settle(buildQuestion(buildNetworkService(said, local))));
  const listClients = () =>
    listSources(account.nsgs.groups.get(BACK)).filter((source) => source !== readManagedGroup()?.id);

  test("no longer admits other clients before OCI rejects another change", async () => {
    refuse("PUT", /backendSets/, "LimitExceeded");
    const changed = buildNetworkService({ ...said, "nlb:backend-policy": "TWO_TUPLE" }, narrowed);
    await expect(player.settle(buildQuestion(changed))).rejects.toThrow("LimitExceeded");
    expect(listClients()).toEqual(["192.0.2.0/24"]);
  });

  test("admits clients until backends no longer see their addresses", async () => {
    refuse("PUT", /backendSets/, "LimitExceeded");
    const changed = buildNetworkService({ ...said, "nlb:is-preserve-source": "false" }, narrowed);
    await expect(player.settle(buildQuestion(changed))).rejects.toThrow("LimitExceeded");
    expect(listClients()).toEqual(["0.0.0.0/0"]);
    expect(listSources(readManagedGroup())).toEqual(["192.0.2.0/24"]);
    account.oci.fault = undefined;
    await player.settle(buildQuestion(changed));
    expect(listClients()).toEqual([]);
  });
});

import { expect, test } from "vitest";
import type { AddressState } from "#clouds/aws/load-balancers/state.ts";
import {
  buildNodes,
  buildQuestion,
  buildService,
  buildSettings,
  converge,
  createNetworkWorld,
  PREFIX,
} from "#test/clouds/aws/load-balancers/network/world.ts";

const IDS = "eipalloc-1,eipalloc-2";
const asked = buildQuestion(buildService({}, { "eip-allocations": IDS }));
const NOBODYS: AddressState = { tags: {}, isInUse: false };
const both = (of: Partial<AddressState>) => ({
  "eipalloc-1": { ...NOBODYS, ...of },
  "eipalloc-2": { ...NOBODYS, ...of },
});
const allow = (...elasticIPs: readonly unknown[]) =>
  buildSettings({ allow: { securityGroups: [], subnets: [], elasticIPs, certificates: [], buckets: [] } });

test.each([
  ["the operator allows by id", allow("eipalloc-1", "eipalloc-2"), both({})],
  ["the operator allows by how ids begin", allow("eipalloc-*"), both({})],
  ["the operator allows by a tag", allow({ tag: "team", value: "edge" }), both({ tags: { team: "edge" } })],
  ["the operator allows by a tag of any value", allow({ tag: "team" }), both({ tags: { team: "web" } })],
  ["carry the cluster's tag", allow(), both({ tags: { "kubernetes.io/cluster/prod": "shared" } })],
])("addresses that %s are used", (_, of, addresses) => {
  const aws = createNetworkWorld();
  aws.addresses = addresses;
  expect(converge(aws, asked, of).kind).toBe("settled");
  const [balancer] = [...aws.balancers.values()];
  const zones = balancer?.loadBalancer.AvailabilityZones?.map(
    (zone) => zone.LoadBalancerAddresses?.[0]?.AllocationId,
  );
  expect(zones).toEqual(["eipalloc-1", "eipalloc-2"]);
});

test.each([
  [
    "have no owner, and are not allowed",
    allow("eipalloc-1"),
    both({}),
    /eipalloc-2 is neither tagged .* nor in cloud\.allow/,
  ],
  [
    "are another cluster's",
    allow(),
    both({ tags: { "kubernetes.io/cluster/theirs": "owned" } }),
    /eipalloc-1 is neither/,
  ],
  [
    "have the tag with another value",
    allow({ tag: "team", value: "edge" }),
    both({ tags: { team: "web" } }),
    /neither/,
  ],
  [
    "are in use",
    allow("eipalloc-*"),
    { ...both({}), "eipalloc-2": { tags: {}, isInUse: true } },
    /^eipalloc-2 is in use$/,
  ],
  [
    "are missing, and are not allowed",
    allow(),
    {},
    /^eipalloc-1 is not in this region .*; eipalloc-2 is not/,
  ],
  [
    "are missing",
    allow("eipalloc-*"),
    { "eipalloc-1": NOBODYS },
    /^eipalloc-2 is not in this region and account$/,
  ],
])("addresses that %s are rejected before anything is made", (_, of, addresses, detail) => {
  const aws = createNetworkWorld();
  aws.addresses = addresses;
  expect(converge(aws, asked, of)).toEqual({
    kind: "refused",
    issue: {
      code: "ElasticIPsNotUsable",
      field: `${PREFIX}eip-allocations`,
      value: IDS,
      detail: expect.stringMatching(detail),
    },
  });
  expect(aws.done).toEqual([]);
});

test("a load balancer keeps its addresses when the allowed ones change, and follows its nodes", () => {
  const aws = createNetworkWorld();
  aws.addresses = both({});
  converge(aws, asked, allow("eipalloc-*"));
  aws.addresses = both({ isInUse: true });
  const before = aws.done.length;
  expect(converge(aws, { ...asked, nodes: buildNodes("i-1") }, allow()).kind).toBe("settled");
  expect(aws.done.slice(before).map(({ action }) => action)).toEqual(["elbv2:DeregisterTargets"]);
});

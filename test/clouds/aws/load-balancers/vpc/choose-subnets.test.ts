import { expect, test } from "vitest";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import {
  ALLOW_NOTHING,
  aSubnet,
  aSubnetWish,
  aVpc,
  OURS,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";

const ROLE = { "kubernetes.io/role/elb": "1" };
const INTERNAL_ROLE = { "kubernetes.io/role/internal-elb": "" };
const LOCAL = { zoneType: "local-zone" };

type Wish = Parameters<typeof aSubnetWish>[0];

test.each<[string, readonly SubnetState[], Wish, readonly string[]]>([
  [
    "one of each zone, in their order",
    [aSubnet("subnet-2", "b"), aSubnet("subnet-1", "a")],
    {},
    ["subnet-1", "subnet-2"],
  ],
  [
    "not those of another cluster",
    [aSubnet("subnet-1", "a", { tags: THEIRS }), aSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "one that is shared with another cluster",
    [aSubnet("subnet-1", "a", { tags: { ...THEIRS, ...OURS } })],
    {},
    ["subnet-1"],
  ],
  [
    "not private ones",
    [aSubnet("subnet-1", "a", { isPublic: false }), aSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "not those of which it is not known",
    [aSubnet("subnet-1", "a", { isPublic: undefined }), aSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "private ones for an internal one",
    [aSubnet("subnet-1", "a", { isPublic: false })],
    { internal: true },
    ["subnet-1"],
  ],
  ["public ones for an internal one", [aSubnet("subnet-1", "a")], { internal: true }, ["subnet-1"]],
  [
    "the one with the role",
    [aSubnet("subnet-1", "a", { tags: OURS }), aSubnet("subnet-2", "a", { tags: ROLE })],
    {},
    ["subnet-2"],
  ],
  [
    "the one with the other role for an internal one",
    [aSubnet("subnet-1", "a", { tags: ROLE }), aSubnet("subnet-2", "a", { tags: INTERNAL_ROLE })],
    { internal: true },
    ["subnet-2"],
  ],
  [
    "of two with the role the cluster's",
    [aSubnet("subnet-1", "a", { tags: ROLE }), aSubnet("subnet-2", "a", { tags: { ...ROLE, ...OURS } })],
    {},
    ["subnet-2"],
  ],
  [
    "the cluster's rather than nobody's",
    [aSubnet("subnet-1", "a"), aSubnet("subnet-2", "a", { tags: OURS })],
    {},
    ["subnet-2"],
  ],
  [
    "the lowest id",
    [aSubnet("subnet-2", "a"), aSubnet("subnet-1", "a"), aSubnet("subnet-3", "a")],
    {},
    ["subnet-1"],
  ],
  [
    "none of a local zone",
    [aSubnet("subnet-1", "a-lax-1", LOCAL), aSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  ["one of a zone that is not known", [aSubnet("subnet-1", "a", { zoneType: undefined })], {}, ["subnet-1"]],
  [
    "the configured one where all are another cluster's",
    [aSubnet("subnet-1", "a", { tags: THEIRS }), aSubnet("subnet-2", "b", { tags: THEIRS })],
    { fallbackId: "subnet-2" },
    ["subnet-2"],
  ],
  [
    "not the configured one beside the cluster's",
    [aSubnet("subnet-1", "a"), aSubnet("subnet-2", "b", { tags: THEIRS })],
    { fallbackId: "subnet-2" },
    ["subnet-1"],
  ],
  [
    "those that are named, in the order of their names",
    [
      aSubnet("subnet-1", "a", { tags: OURS }),
      aSubnet("subnet-2", "b", { tags: { ...OURS, Name: "front" } }),
      aSubnet("subnet-3", "c"),
    ],
    { named: " front , subnet-1" },
    ["subnet-2", "subnet-1"],
  ],
  [
    "a private one that is named",
    [aSubnet("subnet-1", "a", { isPublic: false, tags: OURS })],
    { named: "subnet-1" },
    ["subnet-1"],
  ],
  [
    "another cluster's that is named and allowed",
    [aSubnet("subnet-1", "a", { tags: THEIRS })],
    { named: "subnet-1", allow: { ...ALLOW_NOTHING, subnets: ["subnet-1"] } },
    ["subnet-1"],
  ],
  [
    "one without a tag that is named, where the load balancer is in it already",
    [aSubnet("subnet-1", "a")],
    { named: "subnet-1", attachedIds: ["subnet-1"] },
    ["subnet-1"],
  ],
  [
    "one without a tag that is named and configured",
    [aSubnet("subnet-1", "a")],
    { named: "subnet-1", fallbackId: "subnet-1" },
    ["subnet-1"],
  ],
  [
    "those that the load balancer is in, or that are listed, where no VPC is configured",
    [aSubnet("subnet-1", "a"), aSubnet("subnet-2", "b"), aSubnet("subnet-3", "c")],
    {
      isVpcConfigured: false,
      attachedIds: ["subnet-1"],
      allow: { ...ALLOW_NOTHING, subnets: ["subnet-3"] },
    },
    ["subnet-1", "subnet-3"],
  ],
  [
    "with IPv6, where that is asked for",
    [aSubnet("subnet-1", "a", { ipv6: true })],
    { dualStack: true },
    ["subnet-1"],
  ],
])("%s", (_, subnets, wish, expected) => {
  const chosen = chooseSubnets(aSubnetWish(wish), aVpc({ subnets }));
  expect(chosen.kind === "ready" ? chosen.value.map(({ subnet }) => subnet.SubnetId) : chosen).toEqual(
    expected,
  );
});

test.each<[string, readonly SubnetState[], Wish, string]>([
  ["there are none", [], {}, "NoEligibleSubnet"],
  ["all are private", [aSubnet("subnet-1", "a", { isPublic: false })], {}, "NoEligibleSubnet"],
  ["all are another cluster's", [aSubnet("subnet-1", "a", { tags: THEIRS })], {}, "NoEligibleSubnet"],
  ["the annotation is empty", [aSubnet("subnet-1", "a")], { named: " , " }, "InvalidAnnotation"],
  ["one is not there", [aSubnet("subnet-1", "a")], { named: "subnet-1,subnet-2" }, "SubnetNotFound"],
  [
    "two have the name",
    [aSubnet("subnet-1", "a", { tags: { Name: "x" } }), aSubnet("subnet-2", "b", { tags: { Name: "x" } })],
    { named: "x" },
    "SubnetNotFound",
  ],
  [
    "another cluster's is named",
    [aSubnet("subnet-1", "a", { tags: THEIRS })],
    { named: "subnet-1" },
    "SubnetNotFound",
  ],
  [
    "one without a tag is named",
    [aSubnet("subnet-1", "a", { tags: { Name: "database" } })],
    { named: "database" },
    "SubnetNotFound",
  ],
  [
    "all are without a tag, and no VPC is configured",
    [aSubnet("subnet-1", "a")],
    { isVpcConfigured: false },
    "NoEligibleSubnet",
  ],
  [
    "one is named twice",
    [aSubnet("subnet-1", "a", { tags: OURS })],
    { named: "subnet-1,subnet-1" },
    "SubnetsOfOneZone",
  ],
  [
    "two of one zone are named",
    [aSubnet("subnet-1", "a", { tags: OURS }), aSubnet("subnet-2", "a", { tags: OURS })],
    { named: "subnet-1,subnet-2" },
    "SubnetsOfOneZone",
  ],
  [
    "one lacks IPv6",
    [aSubnet("subnet-1", "a", { ipv6: true }), aSubnet("subnet-2", "b")],
    { dualStack: true },
    "IPFamilies",
  ],
])("refused: %s", (_, subnets, wish, code) => {
  const chosen = chooseSubnets(aSubnetWish(wish), aVpc({ subnets }));
  expect(chosen).toMatchObject({
    kind: "refused",
    problem: {
      code,
      ...(wish?.named === undefined
        ? {}
        : { field: "service.beta.kubernetes.io/aws-load-balancer-subnets", value: wish.named }),
    },
  });
});

import { expect, test } from "vitest";
import type { SubnetState } from "#clouds/aws/load-balancers/state.ts";
import { chooseSubnets } from "#clouds/aws/load-balancers/vpc/choose-subnets.ts";
import {
  ALLOW_NOTHING,
  buildDesiredSubnets,
  buildSubnet,
  buildVpc,
  OURS,
  THEIRS,
} from "#test/clouds/aws/load-balancers/vpc/builders.ts";

const ROLE = { "kubernetes.io/role/elb": "1" };
const INTERNAL_ROLE = { "kubernetes.io/role/internal-elb": "" };
const LOCAL = { zoneType: "local-zone" };

type Wish = Parameters<typeof buildDesiredSubnets>[0];

test.each<[string, readonly SubnetState[], Wish, readonly string[]]>([
  [
    "one of each zone, sorted by zone",
    [buildSubnet("subnet-2", "b"), buildSubnet("subnet-1", "a")],
    {},
    ["subnet-1", "subnet-2"],
  ],
  [
    "none of another cluster",
    [buildSubnet("subnet-1", "a", { tags: THEIRS }), buildSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "one shared with another cluster",
    [buildSubnet("subnet-1", "a", { tags: { ...THEIRS, ...OURS } })],
    {},
    ["subnet-1"],
  ],
  [
    "no private one",
    [buildSubnet("subnet-1", "a", { isPublic: false }), buildSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "none whose route is unknown",
    [buildSubnet("subnet-1", "a", { isPublic: undefined }), buildSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "private ones for an internal load balancer",
    [buildSubnet("subnet-1", "a", { isPublic: false })],
    { internal: true },
    ["subnet-1"],
  ],
  [
    "public ones for an internal load balancer",
    [buildSubnet("subnet-1", "a")],
    { internal: true },
    ["subnet-1"],
  ],
  [
    "the one with the role tag",
    [buildSubnet("subnet-1", "a", { tags: OURS }), buildSubnet("subnet-2", "a", { tags: ROLE })],
    {},
    ["subnet-2"],
  ],
  [
    "the one with the internal role tag for an internal load balancer",
    [buildSubnet("subnet-1", "a", { tags: ROLE }), buildSubnet("subnet-2", "a", { tags: INTERNAL_ROLE })],
    { internal: true },
    ["subnet-2"],
  ],
  [
    "the cluster's of two with the role tag",
    [
      buildSubnet("subnet-1", "a", { tags: ROLE }),
      buildSubnet("subnet-2", "a", { tags: { ...ROLE, ...OURS } }),
    ],
    {},
    ["subnet-2"],
  ],
  [
    "the cluster's rather than one without an owner",
    [buildSubnet("subnet-1", "a"), buildSubnet("subnet-2", "a", { tags: OURS })],
    {},
    ["subnet-2"],
  ],
  [
    "the one with the lowest ID",
    [buildSubnet("subnet-2", "a"), buildSubnet("subnet-1", "a"), buildSubnet("subnet-3", "a")],
    {},
    ["subnet-1"],
  ],
  [
    "no subnet of a local zone",
    [buildSubnet("subnet-1", "a-lax-1", LOCAL), buildSubnet("subnet-2", "a")],
    {},
    ["subnet-2"],
  ],
  [
    "one in a zone of unknown type",
    [buildSubnet("subnet-1", "a", { zoneType: undefined })],
    {},
    ["subnet-1"],
  ],
  [
    "the configured one if all belong to another cluster",
    [buildSubnet("subnet-1", "a", { tags: THEIRS }), buildSubnet("subnet-2", "b", { tags: THEIRS })],
    { fallbackId: "subnet-2" },
    ["subnet-2"],
  ],
  [
    "the cluster's own rather than the configured one",
    [buildSubnet("subnet-1", "a"), buildSubnet("subnet-2", "b", { tags: THEIRS })],
    { fallbackId: "subnet-2" },
    ["subnet-1"],
  ],
  [
    "the named ones, in the order of the annotation",
    [
      buildSubnet("subnet-1", "a", { tags: OURS }),
      buildSubnet("subnet-2", "b", { tags: { ...OURS, Name: "front" } }),
      buildSubnet("subnet-3", "c"),
    ],
    { named: " front , subnet-1" },
    ["subnet-2", "subnet-1"],
  ],
  [
    "a named private one",
    [buildSubnet("subnet-1", "a", { isPublic: false, tags: OURS })],
    { named: "subnet-1" },
    ["subnet-1"],
  ],
  [
    "a named one of another cluster, if it is allowed",
    [buildSubnet("subnet-1", "a", { tags: THEIRS })],
    { named: "subnet-1", allow: { ...ALLOW_NOTHING, subnets: ["subnet-1"] } },
    ["subnet-1"],
  ],
  [
    "a named one without a tag, if the load balancer is in it already",
    [buildSubnet("subnet-1", "a")],
    { named: "subnet-1", attachedIds: ["subnet-1"] },
    ["subnet-1"],
  ],
  [
    "a named one without a tag, if it is configured",
    [buildSubnet("subnet-1", "a")],
    { named: "subnet-1", fallbackId: "subnet-1" },
    ["subnet-1"],
  ],
  [
    "attached and allowed ones only, without a configured VPC",
    [buildSubnet("subnet-1", "a"), buildSubnet("subnet-2", "b"), buildSubnet("subnet-3", "c")],
    {
      isVpcConfigured: false,
      attachedIds: ["subnet-1"],
      allow: { ...ALLOW_NOTHING, subnets: ["subnet-3"] },
    },
    ["subnet-1", "subnet-3"],
  ],
  [
    "one with IPv6, if requested",
    [buildSubnet("subnet-1", "a", { ipv6: true })],
    { dualStack: true },
    ["subnet-1"],
  ],
])("chooses %s", (_, subnets, wish, expected) => {
  const chosen = chooseSubnets(buildDesiredSubnets(wish), buildVpc({ subnets }));
  expect(chosen.kind === "ready" ? chosen.value.map(({ subnet }) => subnet.SubnetId) : chosen).toEqual(
    expected,
  );
});

test.each<[string, readonly SubnetState[], Wish, string]>([
  ["no subnets exist", [], {}, "NoEligibleSubnet"],
  ["all are private", [buildSubnet("subnet-1", "a", { isPublic: false })], {}, "NoEligibleSubnet"],
  ["all are another cluster's", [buildSubnet("subnet-1", "a", { tags: THEIRS })], {}, "NoEligibleSubnet"],
  ["the annotation is empty", [buildSubnet("subnet-1", "a")], { named: " , " }, "InvalidAnnotation"],
  ["one is missing", [buildSubnet("subnet-1", "a")], { named: "subnet-1,subnet-2" }, "SubnetNotFound"],
  [
    "two have the name",
    [
      buildSubnet("subnet-1", "a", { tags: { Name: "x" } }),
      buildSubnet("subnet-2", "b", { tags: { Name: "x" } }),
    ],
    { named: "x" },
    "SubnetNotFound",
  ],
  [
    "another cluster's is named",
    [buildSubnet("subnet-1", "a", { tags: THEIRS })],
    { named: "subnet-1" },
    "SubnetNotFound",
  ],
  [
    "one without a tag is named",
    [buildSubnet("subnet-1", "a", { tags: { Name: "database" } })],
    { named: "database" },
    "SubnetNotFound",
  ],
  [
    "all are without a tag, and no VPC is configured",
    [buildSubnet("subnet-1", "a")],
    { isVpcConfigured: false },
    "NoEligibleSubnet",
  ],
  [
    "one is named twice",
    [buildSubnet("subnet-1", "a", { tags: OURS })],
    { named: "subnet-1,subnet-1" },
    "SubnetsOfOneZone",
  ],
  [
    "two of one zone are named",
    [buildSubnet("subnet-1", "a", { tags: OURS }), buildSubnet("subnet-2", "a", { tags: OURS })],
    { named: "subnet-1,subnet-2" },
    "SubnetsOfOneZone",
  ],
  [
    "one lacks IPv6",
    [buildSubnet("subnet-1", "a", { ipv6: true }), buildSubnet("subnet-2", "b")],
    { dualStack: true },
    "IPFamilies",
  ],
])("rejects the choice if %s", (_, subnets, wish, code) => {
  const chosen = chooseSubnets(buildDesiredSubnets(wish), buildVpc({ subnets }));
  expect(chosen).toMatchObject({
    kind: "refused",
    issue: {
      code,
      ...(wish?.named === undefined
        ? {}
        : { field: "service.beta.kubernetes.io/aws-load-balancer-subnets", value: wish.named }),
    },
  });
});

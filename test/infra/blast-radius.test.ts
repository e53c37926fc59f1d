import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { buildSessionPolicy, type PolicyCluster } from "#clouds/aws/session-policy.ts";
import { getFunctionName, type SessionPurpose } from "#clouds/aws/session-purpose.ts";
import { NOBODYS, OURS, THEIRS, VPC } from "#test/clouds/aws/iam/requests.ts";
import { type IamRequest, isAllowed, readDeployedStatements } from "#test/clouds/aws/iam/simulate.ts";
import { ROOT } from "../../build/bundle.ts";

type Tags = Readonly<Record<string, string>>;

/** A thief's action on a resource with these tags; every request must be allowed. */
type Deed = (tags: Tags) => readonly IamRequest[];

const IN_VPC = { "ec2:Vpc": `arn:aws:ec2:eu-central-1:123456789012:vpc/${VPC}` };
const GROUP = { resource: "ec2:security-group/sg-1", context: IN_VPC };
const INSTANCE = { resource: "ec2:instance/i-1" };
const TABLE = { resource: "ec2:route-table/rtb-1", context: IN_VPC };
const LOAD_BALANCER = { resource: "elasticloadbalancing:loadbalancer/net/a0123/0123456789abcdef" };
const TARGETS = { resource: "elasticloadbalancing:targetgroup/k8s-a/0123456789abcdef" };

const DEEDS: readonly (readonly [what: string, deed: Deed])[] = [
  ["see instances and their addresses", () => [{ action: "ec2:DescribeInstances" }]],
  ["see load balancers", () => [{ action: "elasticloadbalancing:DescribeLoadBalancers" }]],
  [
    "delete a load balancer",
    (tags) => [{ action: "elasticloadbalancing:DeleteLoadBalancer", ...LOAD_BALANCER, tags }],
  ],
  [
    "take targets out of a load balancer",
    (tags) => [{ action: "elasticloadbalancing:DeregisterTargets", ...TARGETS, tags }],
  ],
  [
    "make a load balancer with a cluster's tag",
    (tags) => [{ action: "elasticloadbalancing:CreateLoadBalancer", ...LOAD_BALANCER, requestTags: tags }],
  ],
  ["open a security group", (tags) => [{ action: "ec2:AuthorizeSecurityGroupIngress", ...GROUP, tags }]],
  ["delete a security group", (tags) => [{ action: "ec2:DeleteSecurityGroup", ...GROUP, tags }]],
  [
    "tag a security group as the cluster's",
    (tags) => [
      { action: "ec2:CreateTags", ...GROUP, tags, requestTags: { "kubernetes.io/cluster/prod": "owned" } },
    ],
  ],
  ["lead a route elsewhere", (tags) => [{ action: "ec2:ReplaceRoute", ...TABLE, tags }]],
  [
    "let an instance forward packets",
    (tags) => [
      {
        action: "ec2:ModifyInstanceAttribute",
        ...INSTANCE,
        tags,
        context: { "ec2:Attribute/SourceDestCheck": "false" },
      },
    ],
  ],
  [
    "change what an instance runs at its start",
    (tags) => [
      { action: "ec2:ModifyInstanceAttribute", ...INSTANCE, tags, context: { "ec2:Attribute": "userData" } },
    ],
  ],
  [
    "give an instance a tag",
    (tags) => [{ action: "ec2:CreateTags", ...INSTANCE, tags, requestTags: { team: "a" } }],
  ],
  [
    "change the tag that says which cluster an instance belongs to",
    (tags) => [
      { action: "ec2:CreateTags", ...INSTANCE, tags, requestTags: { "kubernetes.io/cluster/prod": "owned" } },
    ],
  ],
  ["delete all tags of an instance", (tags) => [{ action: "ec2:DeleteTags", ...INSTANCE, tags }]],
  ["terminate an instance", (tags) => [{ action: "ec2:TerminateInstances", ...INSTANCE, tags }]],
];

const CLUSTER: PolicyCluster = {
  vpc: VPC,
  clusterTag: "prod",
  legacyClusterTag: false,
  sessionPolicy: "strict",
  allow: {},
};

const ROLES: readonly (readonly [purpose: SessionPurpose, role: string])[] = [
  ["node", "NodeFunctionRole"],
  ["node-lifecycle", "NodeLifecycleFunctionRole"],
  ["csr", "CsrFunctionRole"],
  ["ec2-events", "Ec2EventsFunctionRole"],
  ["load-balancers", "ServiceFunctionRole"],
  ["routes", "RouteFunctionRole"],
  ["tags", "TaggingFunctionRole"],
];

const WHOSE = [
  ["its cluster's", OURS],
  ["another cluster's", THEIRS],
  ["untagged", NOBODYS],
] as const;

/** Returns the owners whose resources the action can reach; "–" if none. */
async function reach(role: string, policy: string | undefined, deed: Deed): Promise<string> {
  const statements = (await readDeployedStatements(role)).filter(isOfTheCloud);
  const answers = await Promise.all(
    WHOSE.map(async ([, tags]) => {
      const each = await Promise.all(deed(tags).map((request) => isAllowed({ statements, policy }, request)));
      return each.every(Boolean);
    }),
  );
  const names = WHOSE.flatMap(([name], index) => (answers[index] ? [name] : []));
  if (names.length === 0) return "–";
  return names.length === WHOSE.length ? "all of the account" : names.join(", ");
}

/** Excludes the cell's own functions and queues, which are distinguished by name and have a separate test. */
function isOfTheCloud({ Action }: { readonly Action: string | readonly string[] }): boolean {
  return [Action].flat().every((action) => /^(ec2|elasticloadbalancing|iam):/.test(action));
}

/** Returns the reach of the role, of its compatible session, and of its strict session. */
async function cellsOf(purpose: SessionPurpose, role: string, deed: Deed): Promise<string> {
  const policies = (["none", "compatible", "strict"] as const).map((mode) =>
    buildSessionPolicy({ ...CLUSTER, sessionPolicy: mode }, purpose),
  );
  const cells = await Promise.all(policies.map((policy) => reach(role, policy, deed)));
  return cells.join(" | ");
}

/** Returns a row for each action, grouped by functions with equal reach. */
async function rowsOf(what: string, deed: Deed): Promise<string[]> {
  const byCells = new Map<string, string[]>();
  for (const [purpose, role] of ROLES) {
    const cells = await cellsOf(purpose, role, deed);
    byCells.set(cells, [...(byCells.get(cells) ?? []), `\`${getFunctionName(purpose)}\``]);
  }
  const able = [...byCells].filter(([cells]) => cells !== NOTHING);
  return able.length === 0
    ? [`| ${what} | none | ${NOTHING} |`]
    : able.map(([cells, functions]) => `| ${what} | ${functions.join(", ")} | ${cells} |`);
}

const COLUMNS = 5;
const NOTHING = "– | – | –";

test("the page on the blast radius matches the simulator", async () => {
  const page = await readFile(`${ROOT}docs/explanation/blast-radius.md`, "utf8");
  const [, section = ""] = /## What AWS lets a thief do\n([\s\S]*?)\n## /.exec(page) ?? [];
  const [, , ...rows] = section.split("\n").filter((line) => line.split("|").length === COLUMNS + 2);
  const wanted = await Promise.all(DEEDS.map(([what, deed]) => rowsOf(what, deed)));
  expect(rows).toEqual(wanted.flat());
});

import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { ACCOUNT_LIMIT_READS } from "#clouds/aws/account-limits.ts";
import { LOAD_BALANCER_ACTIONS, LOAD_BALANCER_READS } from "#clouds/aws/load-balancers/commands.ts";
import { ROUTE_COMMANDS } from "#clouds/aws/routes/capability.ts";
import { DESCRIPTORS } from "#core/descriptors.ts";
import { type IamRequest, isAllowed, readDeployedStatements } from "#test/clouds/aws/iam/simulate.ts";
import { getFunctionRole } from "#test/infra/function-roles.ts";
import {
  CHECKED_WITHOUT_A_CALL,
  getPermission,
  listGrantedActions,
  readStatements,
} from "#test/infra/iam-roles.ts";
import { ROOT } from "../../build/bundle.ts";

const operations = Object.keys({
  ...LOAD_BALANCER_ACTIONS,
  ...LOAD_BALANCER_READS,
  ...ACCOUNT_LIMIT_READS,
});

test("the role of route grants the operations in use, and no change of all resources", async () => {
  const statements = await readStatements("RouteFunctionRole");
  const granted = new Set(statements.flatMap(({ Action: actions }) => actions));
  // Instances are read as for nodes.
  const used = [...Object.keys(ROUTE_COMMANDS), "ec2:DescribeInstances"];
  expect([...granted].toSorted()).toEqual(used.toSorted());
  for (const { Action: actions, Resource: resource } of statements)
    if (actions.some((action) => !/:Describe/.test(action))) expect(resource, actions.join()).not.toBe("*");
});

test("the role of tagging changes only tags of instances, and never ownership tags", async () => {
  const statements = await readStatements("TaggingFunctionRole");
  expect(statements.flatMap(({ Action: actions }) => actions).toSorted()).toEqual([
    "ec2:CreateTags",
    "ec2:DeleteTags",
    "ec2:DescribeInstances",
  ]);
  const [changing, ...more] = statements.filter(({ Resource: resource }) => resource !== "*");
  expect(more).toEqual([]);
  expect(JSON.stringify(changing?.Resource)).toContain(":instance/*");
  expect(changing?.Condition).toEqual({
    "ForAllValues:StringNotLike": { "aws:TagKeys": ["kubernetes.io/*", "KubernetesCluster"] },
    Null: { "aws:TagKeys": "false" },
  });
});

const INSTANCE = { resource: "ec2:instance/i-1" };
const INTERFACE = { resource: "ec2:network-interface/eni-1" };

test.each<[string, string, IamRequest, boolean]>([
  ["a tag", "Tagging", { action: "ec2:CreateTags", ...INSTANCE, requestTags: { team: "a" } }, true],
  [
    "the deletion of a tag",
    "Tagging",
    { action: "ec2:DeleteTags", ...INSTANCE, requestTags: { team: "a" } },
    true,
  ],
  ["the deletion of all tags, by naming none", "Tagging", { action: "ec2:DeleteTags", ...INSTANCE }, false],
  [
    "the deletion of a cluster's tag",
    "Tagging",
    { action: "ec2:DeleteTags", ...INSTANCE, requestTags: { "kubernetes.io/cluster/a": "owned" } },
    false,
  ],
  [
    "a tag of a group",
    "Tagging",
    { action: "ec2:CreateTags", resource: "ec2:security-group/sg-1", requestTags: { a: "b" } },
    false,
  ],
  [
    "the check switched off",
    "Route",
    { action: "ec2:ModifyInstanceAttribute", ...INSTANCE, context: checkOf("false") },
    true,
  ],
  [
    "the check switched on",
    "Route",
    { action: "ec2:ModifyInstanceAttribute", ...INSTANCE, context: checkOf("true") },
    false,
  ],
  ...["userData", "groupSet", "disableApiTermination"].map(
    (attribute): [string, string, IamRequest, boolean] => [
      attribute,
      "Route",
      { action: "ec2:ModifyInstanceAttribute", ...INSTANCE, context: { "ec2:Attribute": attribute } },
      false,
    ],
  ),
  [
    "the check of an interface",
    "Route",
    { action: "ec2:ModifyNetworkInterfaceAttribute", ...INTERFACE, context: checkOf("false") },
    true,
  ],
  [
    "the groups of an interface",
    "Route",
    { action: "ec2:ModifyNetworkInterfaceAttribute", ...INTERFACE, context: { "ec2:Attribute": "groupSet" } },
    false,
  ],
  [
    "the instance of that interface",
    "Route",
    { action: "ec2:ModifyNetworkInterfaceAttribute", ...INSTANCE },
    true,
  ],
  [
    "a load balancer of no Service",
    "Service",
    { action: "elasticloadbalancing:DeleteLoadBalancer", resource: "elasticloadbalancing:loadbalancer/web" },
    false,
  ],
])("in the simulator, %s for the role of %s on %j: %s", async (_, role, request, expected) => {
  const statements = await readDeployedStatements(`${role}FunctionRole`);
  expect(await isAllowed({ statements }, request)).toBe(expected);
});

/** The form that AWS documents for attributes with a single value; no simulator proves that EC2 sends it. */
function checkOf(value: string): Readonly<Record<string, string>> {
  return { "ec2:Attribute/SourceDestCheck": value };
}

/** `service` has a section of its own. */
const LISTED = [
  ...DESCRIPTORS.map(({ functionName }) => functionName).filter((name) => name !== "service"),
  ...["ec2-events", "sweep", "admission", "audit"],
];

test.each(LISTED)("the role of %s grants the permissions that the reference lists for it", async (name) => {
  const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
  const row = reference
    .split("\n")
    .find((line) => line.split("|")[1]?.includes(`\`${name}\``))
    ?.split("|")[2];
  const named = [...(row ?? "").matchAll(/`((?:ec2|lambda|sqs):\w+)`/g)].map(([, action]) => action);
  const role = getFunctionRole(name);
  expect(
    named.toSorted(),
    `list the actions of ${role} in the row of \`${name}\` in docs/reference/aws-permissions.md`,
  ).toEqual(await listGrantedActions(role));
});

test("doctor's additional permissions are in the reference, and granted to no function", async () => {
  const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
  const serverless = await readFile(`${ROOT}serverless.yml`, "utf8");
  for (const action of ["ec2:DescribeVpcs", "lambda:GetAccountSettings", "lambda:GetFunctionConcurrency"]) {
    expect(serverless).not.toContain(action);
    expect(reference).toContain(`\`${action}\``);
  }
});

describe("the role of service", () => {
  test("grants the operations in use, AWS's additional checks, and nothing else", async () => {
    const granted = (await readStatements("ServiceFunctionRole")).flatMap(({ Action: actions }) => actions);
    const used = [...operations.map(getPermission), ...CHECKED_WITHOUT_A_CALL];
    expect([...new Set(granted)].toSorted()).toEqual([...new Set(used)].toSorted());
    expect(granted.filter((action) => action.includes("*"))).toEqual([]);
  });

  test("grants no change that no load balancer plan makes", async () => {
    const files = globSync("src/clouds/aws/load-balancers/{vpc,network,classic,orphans}/**/*.ts", {
      cwd: ROOT,
    });
    const plans = files.filter((file) => !file.endsWith("fold.ts"));
    const source = (await Promise.all(plans.map((file) => readFile(ROOT + file, "utf8")))).join("\n");
    const unused = Object.keys(LOAD_BALANCER_ACTIONS).filter((action) => !source.includes(`"${action}"`));
    expect(unused).toEqual([]);
  });

  test("grants each change only on one kind of resource or with a tag", async () => {
    const statements = await readStatements("ServiceFunctionRole");
    const changing = statements.filter(({ Action: actions }) =>
      actions.some((action) => !/:Describe/.test(action)),
    );
    expect(changing.length).toBeGreaterThan(0);
    for (const { Action: actions, Resource: resource, Condition: condition } of changing) {
      expect(resource, actions.join()).not.toBe("*");
      const isOfLoadBalancers = actions.some((action) => action.startsWith("elasticloadbalancing:"));
      if (isOfLoadBalancers) expect(condition, actions.join()).toBeDefined();
      if (!isOfLoadBalancers)
        expect(JSON.stringify(resource)).toMatch(/:(security-group|vpc)\/\*"|:role\/aws-service-role\//);
    }
  });

  test("stays within AWS's size limits for a role's policies", async () => {
    const text = JSON.stringify(await readStatements("ServiceFunctionRole"));
    expect(text.replaceAll(/\s/g, "").length).toBeLessThan(10_240);
  });

  test("matches the reference", async () => {
    const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
    const section = reference.split(/^## /m).find((each) => each.startsWith("Load balancers")) ?? "";
    const named = [...section.matchAll(/`((?:ec2|elasticloadbalancing|iam):\w+)`/g)].map(
      ([, action]) => action ?? "",
    );
    const granted = (await readStatements("ServiceFunctionRole")).flatMap(({ Action: actions }) => actions);
    // A condition key looks like an action.
    const actions = named.filter((action) => action !== "elasticloadbalancing:CreateAction");
    expect([...new Set(actions)].toSorted()).toEqual([...new Set(granted)].toSorted());
  });
});

import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import * as z from "zod";
import { LOAD_BALANCER_ACTIONS, LOAD_BALANCER_READS } from "#clouds/aws/load-balancers/commands.ts";
import { ROUTE_COMMANDS } from "#clouds/aws/routes/commands.ts";
import { ROOT } from "../../build/bundle.ts";

const Statement = z.looseObject({
  Effect: z.literal("Allow"),
  Action: z.union([z.string().transform((action) => [action]), z.array(z.string())]),
  Resource: z.unknown(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});
type Statement = z.output<typeof Statement>;

/** What AWS asks for beside the operations that are sent; the reference says when. */
const CHECKED_WITHOUT_A_CALL = [
  "ec2:DescribeAccountAttributes",
  "ec2:DescribeInternetGateways",
  "iam:CreateServiceLinkedRole",
];

async function statementsOf(role: string): Promise<Statement[]> {
  const { resources } = parse(await readFile(`${ROOT}serverless.yml`, "utf8"), { merge: true });
  const found = resources.flatMap(
    (each: { Resources?: Record<string, unknown> }) => each.Resources?.[role] ?? [],
  );
  const [{ Properties: properties }] = found;
  return properties.Policies.filter(
    ({ PolicyName: name }: { PolicyName: string }) => name !== "logs",
  ).flatMap(({ PolicyDocument: document }: { PolicyDocument: { Statement: unknown[] } }) =>
    document.Statement.map((statement) => Statement.parse(statement)),
  );
}

/** Both versions of Elastic Load Balancing are one service to IAM. */
function permissionOf(operation: string): string {
  return operation.replace(/^elb(v2)?:/, "elasticloadbalancing:");
}

const operations = Object.keys({ ...LOAD_BALANCER_ACTIONS, ...LOAD_BALANCER_READS });

test("the role of route grants the operations that are in use, and none that changes something on everything", async () => {
  const statements = await statementsOf("RouteFunctionRole");
  const granted = statements.flatMap(({ Action: actions }) => actions);
  // Instances are asked for as those of nodes are.
  const used = [...Object.keys(ROUTE_COMMANDS), "ec2:DescribeInstances"];
  expect(granted.toSorted()).toEqual(used.toSorted());
  for (const { Action: actions, Resource: resource } of statements)
    if (actions.some((action) => !/:Describe/.test(action))) expect(resource, actions.join()).not.toBe("*");
});

describe("the role of service", () => {
  test("grants the operations that are in use, what AWS checks beside them, and nothing else", async () => {
    const granted = (await statementsOf("ServiceFunctionRole")).flatMap(({ Action: actions }) => actions);
    const used = [...operations.map(permissionOf), ...CHECKED_WITHOUT_A_CALL];
    expect([...new Set(granted)].toSorted()).toEqual([...new Set(used)].toSorted());
    expect(granted.filter((action) => action.includes("*"))).toEqual([]);
  });

  test("grants no change that no plan of load balancers makes", async () => {
    const files = globSync("clouds/aws/load-balancers/{vpc,network,classic}/**/*.ts", { cwd: ROOT });
    const plans = files.filter((file) => !file.endsWith("fold.ts"));
    const source = (await Promise.all(plans.map((file) => readFile(ROOT + file, "utf8")))).join("\n");
    const unused = Object.keys(LOAD_BALANCER_ACTIONS).filter((action) => !source.includes(`"${action}"`));
    expect(unused).toEqual([]);
  });

  test("grants what changes something on resources of one kind, or with a tag, and never on everything", async () => {
    const statements = await statementsOf("ServiceFunctionRole");
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

  test("fits into what AWS takes for the policies of a role", async () => {
    const text = JSON.stringify(await statementsOf("ServiceFunctionRole"));
    expect(text.replaceAll(/\s/g, "").length).toBeLessThan(10_240);
  });

  test("is what the reference says", async () => {
    const reference = await readFile(`${ROOT}docs/reference/aws-permissions.md`, "utf8");
    const [, section = ""] = reference.split("## Load balancers");
    const named = [...section.matchAll(/`((?:ec2|elasticloadbalancing|iam):\w+)`/g)].map(
      ([, action]) => action ?? "",
    );
    const granted = (await statementsOf("ServiceFunctionRole")).flatMap(({ Action: actions }) => actions);
    // A key of a condition reads like an action.
    const actions = named.filter((action) => action !== "elasticloadbalancing:CreateAction");
    expect([...new Set(actions)].toSorted()).toEqual([...new Set(granted)].toSorted());
  });
});

import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import * as z from "zod";
import type { Template } from "#test/infra/packaged-template.ts";
import { ROOT } from "../../build/bundle.ts";

const Statement = z.looseObject({
  Effect: z.literal("Allow"),
  Action: z.union([z.string().transform((action) => [action]), z.array(z.string())]),
  Resource: z.unknown(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});
/** One of a policy. */
export type Statement = z.output<typeof Statement>;

/** What AWS asks for beside the operations that are sent; the reference says when. */
export const CHECKED_WITHOUT_A_CALL = [
  "ec2:DescribeAccountAttributes",
  "ec2:DescribeInternetGateways",
  "iam:CreateServiceLinkedRole",
];

/** The resources of serverless.yml, read once: whoever simulates asks for the same roles hundreds of times. */
let read: Promise<readonly { readonly Resources?: Template }[]> | undefined;

/** What a role of serverless.yml allows its function, its logs left out. */
export async function statementsOf(role: string): Promise<Statement[]> {
  read ??= readFile(`${ROOT}serverless.yml`, "utf8").then((text) => parse(text, { merge: true }).resources);
  const found = (await read).flatMap((each) => each.Resources?.[role] ?? []);
  const [{ Properties: properties }] = found;
  return properties.Policies.filter(
    ({ PolicyName: name }: { PolicyName: string }) => name !== "logs",
  ).flatMap(({ PolicyDocument: document }: { PolicyDocument: { Statement: unknown[] } }) =>
    document.Statement.map((statement) => Statement.parse(statement)),
  );
}

/** Both versions of Elastic Load Balancing are one service to IAM. */
export function permissionOf(operation: string): string {
  return operation.replace(/^elb(v2)?:/, "elasticloadbalancing:");
}

/** The actions that a role grants, sorted, each once. */
export async function grantedTo(role: string): Promise<readonly string[]> {
  const statements = await statementsOf(role);
  return [...new Set(statements.flatMap(({ Action: actions }) => actions))].toSorted();
}

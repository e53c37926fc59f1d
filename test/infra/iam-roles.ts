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
/** A policy statement. */
export type Statement = z.output<typeof Statement>;

/** Permissions that AWS checks in addition to the sent operations; the reference says when. */
export const CHECKED_WITHOUT_A_CALL = [
  "ec2:DescribeAccountAttributes",
  "ec2:DescribeInternetGateways",
  "iam:CreateServiceLinkedRole",
];

/** The resources of serverless.yml, read once, because simulations need the same roles hundreds of times. */
let read: Promise<readonly { readonly Resources?: Template }[]> | undefined;

/** Returns the statements that a role of serverless.yml grants its function, without logs. */
export async function readStatements(role: string): Promise<Statement[]> {
  read ??= readFile(`${ROOT}serverless.yml`, "utf8").then((text) => parse(text, { merge: true }).resources);
  const found = (await read).flatMap((each) => each.Resources?.[role] ?? []);
  if (found.length === 0) throw new Error(`serverless.yml has no role ${role}: add it to resources`);
  const [{ Properties: properties }] = found;
  return properties.Policies.filter(
    ({ PolicyName: name }: { PolicyName: string }) => name !== "logs",
  ).flatMap(({ PolicyDocument: document }: { PolicyDocument: { Statement: unknown[] } }) =>
    document.Statement.map((statement) => Statement.parse(statement)),
  );
}

/** Both versions of Elastic Load Balancing are one service in IAM. */
export function getPermission(operation: string): string {
  return operation.replace(/^elb(v2)?:/, "elasticloadbalancing:");
}

/** Returns the unique actions that a role grants, sorted. */
export async function listGrantedActions(role: string): Promise<readonly string[]> {
  const statements = await readStatements(role);
  return [...new Set(statements.flatMap(({ Action: actions }) => actions))].toSorted();
}

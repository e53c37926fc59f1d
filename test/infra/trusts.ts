import type { Statement } from "#test/infra/deployed-rights.ts";

/** Somebody who asks for something that a resource's own policy decides on. */
export interface Asked {
  /** A service, or the ARN of a principal of an account. */
  readonly principal: { readonly service: string } | { readonly arn: string };
  readonly action: string;
  /** What AWS knows of the request, by the key of a condition. */
  readonly context?: Readonly<Record<string, string>>;
}

/** Whether a policy allows it, by AWS's rules for policies of resources: a denial wins, and what is not allowed is not. */
export function allows(statements: readonly Statement[], asked: Asked): boolean {
  const matching = statements.filter((statement) => matches(statement, asked));
  return (
    matching.some(({ Effect }) => Effect === "Allow") && !matching.some(({ Effect }) => Effect === "Deny")
  );
}

function matches(
  { Principal, Action, Condition = {} }: Statement,
  { principal, action, context = {} }: Asked,
): boolean {
  return (
    isNamed(Principal, principal) &&
    listOf(Action).some((pattern) => fits(pattern, action)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, values]) => {
        const known = context[key];
        if (!OPERATORS.includes(operator)) throw new Error(`no rule for ${operator}`);
        return known !== undefined && listOf(values).some((value) => fits(value, known));
      }),
    )
  );
}

/** All that compare a text, with patterns or without: none of ours has an asterisk where it would mean itself. */
const OPERATORS = ["ArnEquals", "ArnLike", "Bool", "StringEquals", "StringLike"];

function isNamed(named: unknown, principal: Asked["principal"]): boolean {
  if (named === "*") return true;
  if (typeof named !== "object" || named === null) return false;
  if ("service" in principal) return listOf(Reflect.get(named, "Service")).includes(principal.service);
  const account = /^arn:[^:]*:[^:]*::(\d+):/.exec(principal.arn)?.[1];
  return listOf(Reflect.get(named, "AWS")).some(
    (each) => each === "*" || each === principal.arn || each === account || each.endsWith(`:${account}:root`),
  );
}

function listOf(value: unknown): string[] {
  return value === undefined ? [] : [value].flat().map(String);
}

/** Whether a pattern with asterisks fits a text, as AWS compares them. */
export function fits(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`).test(text);
}

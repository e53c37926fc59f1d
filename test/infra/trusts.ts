import type { Statement } from "#test/infra/deployed-rights.ts";

/** A request that a resource policy decides on. */
export interface Asked {
  /** A service, or the ARN of a principal of an account. */
  readonly principal: { readonly service: string } | { readonly arn: string };
  readonly action: string;
  /** AWS's context of the request, by condition key. */
  readonly context?: Readonly<Record<string, string>>;
}

/**
 * Returns whether a policy allows the request, by AWS's rules for resource policies: a denial wins, and the
 * default is a denial.
 */
export function isAllowed(statements: readonly Statement[], asked: Asked): boolean {
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
    listOf(Action).some((pattern) => isMatch(pattern, action)) &&
    Object.entries(Condition).every(([operator, keys]) =>
      Object.entries(keys).every(([key, values]) => {
        const known = context[key];
        if (!OPERATORS.includes(operator)) throw new Error(`no rule for ${operator}`);
        return known !== undefined && listOf(values).some((value) => isMatch(value, known));
      }),
    )
  );
}

/**
 * All operators that compare text, with or without patterns. No value of ours contains a literal asterisk.
 */
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

/** Returns whether a pattern with asterisks matches a text, by AWS's rules. */
export function isMatch(pattern: string, text: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join(".*")}$`).test(text);
}

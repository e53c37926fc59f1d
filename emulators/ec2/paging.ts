import { type Fault, fault } from "./fault.ts";
import type { Listed } from "./inventory.ts";
import type { Parameters } from "./parameters.ts";

/** The rules of an action's pages. */
export interface PageRules {
  readonly min: number;
  readonly max: number;
  /** How many there are on a page where the caller does not say. */
  readonly usual: number;
  /** The name that AWS's messages have for the list of ids, which excludes paging. */
  readonly idSet: string;
}

/** Which part of the results a request asks for. */
export interface Page {
  readonly afterSequence: number;
  readonly limit: number;
}

/** The page that a request asks for, or the fault that EC2 answers. */
export function readPage(parameters: Parameters, rules: PageRules, withIds: boolean): Page | Fault {
  const maxResults = parameters.text("MaxResults");
  const token = parameters.text("NextToken");
  if (withIds) {
    if (maxResults !== undefined) return excluded(rules.idSet, "maxResults");
    if (token !== undefined) return excluded(rules.idSet, "nextToken");
    return { afterSequence: 0, limit: Number.POSITIVE_INFINITY };
  }
  const limit = maxResults === undefined ? rules.usual : Number(maxResults);
  if (!Number.isInteger(limit) || limit < rules.min)
    return outOfRange(maxResults, `greater than ${rules.min}`);
  if (limit > rules.max) return outOfRange(maxResults, `less than ${rules.max}`);
  const afterSequence = token === undefined ? 0 : parseToken(token);
  if (afterSequence === undefined) return fault("InvalidNextToken", "The specified NextToken is not valid.");
  return { afterSequence, limit };
}

/** One page of the results, which are in their order, and the token of the next where there is more. */
export function takePage<T>(
  results: readonly Listed<T>[],
  page: Page,
): { readonly values: readonly T[]; readonly nextToken: string | undefined } {
  const rest = results.filter(({ sequence }) => sequence > page.afterSequence);
  const taken = rest.slice(0, page.limit);
  const last = taken.at(-1);
  const nextToken = last !== undefined && rest.length > taken.length ? formatToken(last.sequence) : undefined;
  return { values: taken.map(({ value }) => value), nextToken };
}

const TOKEN_PREFIX = "after:";

function formatToken(sequence: number): string {
  return Buffer.from(`${TOKEN_PREFIX}${sequence}`).toString("base64url");
}

/** The token of the page with which a list begins. */
export const FIRST_PAGE: string = formatToken(0);

function parseToken(token: string): number | undefined {
  const text = Buffer.from(token, "base64url").toString("utf8");
  const sequence = Number(text.slice(TOKEN_PREFIX.length));
  return text.startsWith(TOKEN_PREFIX) && Number.isFinite(sequence) ? sequence : undefined;
}

function excluded(idSet: string, name: string): Fault {
  return fault(
    "InvalidParameterCombination",
    `The parameter ${idSet} cannot be used with the parameter ${name}`,
  );
}

function outOfRange(value: string | undefined, range: string): Fault {
  const message = `Value ( ${value ?? ""} ) for parameter maxResults is invalid. Expecting a value ${range}.`;
  return fault("InvalidParameterValue", message);
}

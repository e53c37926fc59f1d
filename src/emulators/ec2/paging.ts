import { createFault, type Fault } from "./fault.ts";
import type { Listed } from "./inventory.ts";
import type { Parameters } from "./parameters.ts";

/** The rules of an action's pages. */
export interface PageRules {
  readonly min: number;
  readonly max: number;
  /** The default page size. */
  readonly usual: number;
  /** The name of the list of IDs in AWS's messages, which excludes paging. */
  readonly idSet: string;
}

/** The part of the results that a request wants. */
export interface Page {
  readonly afterSequence: number;
  readonly limit: number;
}

/** Returns the requested page, or EC2's fault. */
export function readPage(parameters: Parameters, rules: PageRules, withIds: boolean): Page | Fault {
  const maxResults = parameters.text("MaxResults");
  const token = parameters.text("NextToken");
  if (withIds) {
    if (maxResults !== undefined) return createExcludedFault(rules.idSet, "maxResults");
    if (token !== undefined) return createExcludedFault(rules.idSet, "nextToken");
    return { afterSequence: 0, limit: Number.POSITIVE_INFINITY };
  }
  const limit = maxResults === undefined ? rules.usual : Number(maxResults);
  if (!Number.isInteger(limit) || limit < rules.min)
    return createRangeFault(maxResults, `greater than ${rules.min}`);
  if (limit > rules.max) return createRangeFault(maxResults, `less than ${rules.max}`);
  const afterSequence = token === undefined ? 0 : parseToken(token);
  if (afterSequence === undefined)
    return createFault("InvalidNextToken", "The specified NextToken is not valid.");
  return { afterSequence, limit };
}

/** Returns one page of the ordered results, and the token of the next one if there are more. */
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

/** The token of a list's first page. */
export const FIRST_PAGE: string = formatToken(0);

function parseToken(token: string): number | undefined {
  const text = Buffer.from(token, "base64url").toString("utf8");
  const sequence = Number(text.slice(TOKEN_PREFIX.length));
  return text.startsWith(TOKEN_PREFIX) && Number.isFinite(sequence) ? sequence : undefined;
}

function createExcludedFault(idSet: string, name: string): Fault {
  return createFault(
    "InvalidParameterCombination",
    `The parameter ${idSet} cannot be used with the parameter ${name}`,
  );
}

function createRangeFault(value: string | undefined, range: string): Fault {
  const message = `Value ( ${value ?? ""} ) for parameter maxResults is invalid. Expecting a value ${range}.`;
  return createFault("InvalidParameterValue", message);
}

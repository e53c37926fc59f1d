import { accept, type Reader, reject } from "#clouds/annotations/readers.ts";
import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";
import { hasLabel } from "#core/service/state-annotation.ts";

/** One requirement on a node's labels. */
export type Requirement =
  | { readonly operator: "exists" | "absent"; readonly key: string }
  | { readonly operator: "in" | "not-in"; readonly key: string; readonly values: readonly string[] };

/** Reads a label selector as the API server does: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. */
export const readLabelSelector: Reader<readonly Requirement[]> = (written) => {
  const parts = splitSelector(written);
  if (parts.length > MAX_REQUIREMENTS) return reject(`at most ${MAX_REQUIREMENTS} requirements`);
  const requirements = parts.map(parseRequirement);
  return requirements.every((each) => each !== undefined) ? accept(requirements) : reject(ALLOWED);
};

/**
 * Whether a node's labels match a selector; `marks` are its label hashes as `src/core/service/state-annotation.ts`
 * writes them.
 */
export function isSelected(marks: string | undefined, selector: readonly Requirement[]): boolean {
  return selector.every((requirement) => matchesRequirement(marks ?? "", requirement));
}

const MAX_REQUIREMENTS = 20;

/** Label hashes cannot prove an empty value, and node pools do not use one. */
const ALLOWED = "a label selector such as pool=front,tier in (a,b),!spot, without empty values";

function matchesRequirement(marks: string, requirement: Requirement): boolean {
  const { key, operator } = requirement;
  switch (operator) {
    case "exists":
      return hasLabel(marks, key, "");
    case "absent":
      return !hasLabel(marks, key, "");
    case "in":
      return requirement.values.some((value) => hasLabel(marks, key, value));
    case "not-in":
      return !requirement.values.some((value) => hasLabel(marks, key, value));
  }
}

/** Splits at commas outside of parentheses, in one pass: a pattern with look-ahead takes quadratic time. */
function splitSelector(written: string): readonly string[] {
  const parts: string[] = [];
  let [start, isInside] = [0, false];
  for (let index = 0; index < written.length; index += 1) {
    const character = written[index];
    if (character === "(") isInside = true;
    else if (character === ")") isInside = false;
    else if (character === "," && !isInside) {
      parts.push(written.slice(start, index).trim());
      start = index + 1;
    }
  }
  return [...parts, written.slice(start).trim()];
}

const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const EQUALITY = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/;

function parseRequirement(part: string): Requirement | undefined {
  const set = SET.exec(part);
  if (set !== null) {
    const [, key = "", operator, values = ""] = set;
    return buildRequirement(
      operator === "in" ? "in" : "not-in",
      key,
      values.split(",").map((value) => value.trim()),
    );
  }
  const equality = EQUALITY.exec(part);
  if (equality !== null) {
    const [, key = "", operator, value = ""] = equality;
    return buildRequirement(operator === "!=" ? "not-in" : "in", key, [value]);
  }
  const key = part.replace(/^!\s*/, "");
  if (checkLabelKey(key) !== undefined) return undefined;
  return { operator: key === part ? "exists" : "absent", key };
}

function buildRequirement(
  operator: "in" | "not-in",
  key: string,
  values: readonly string[],
): Requirement | undefined {
  const isGood = values.every((value) => value !== "" && checkLabelValue(value) === undefined);
  return isGood && checkLabelKey(key) === undefined ? { operator, key, values } : undefined;
}

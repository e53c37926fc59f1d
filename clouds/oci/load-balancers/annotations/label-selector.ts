import { is, mayBe, type Reader } from "#clouds/annotations/reading.ts";
import { faultOfLabelKey, faultOfLabelValue } from "#core/label-syntax.ts";
import { hasLabel } from "#core/service/label-marks.ts";

/** One thing that a node's labels must say. */
export type Requirement =
  | { readonly operator: "exists" | "absent"; readonly key: string }
  | { readonly operator: "in" | "not-in"; readonly key: string; readonly values: readonly string[] };

/** Reads a label selector as the API server does: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. */
export const labelSelector: Reader<readonly Requirement[]> = (written) => {
  const parts = partsOf(written);
  if (parts.length > MAX_REQUIREMENTS) return mayBe(`at most ${MAX_REQUIREMENTS} requirements`);
  const requirements = parts.map(requirementOf);
  return requirements.every((each) => each !== undefined) ? is(requirements) : mayBe(ALLOWED);
};

/** Whether a node's labels are as a selector wants them; `marks` are its own, as `core/service/label-marks.ts` writes them. */
export function isSelected(marks: string | undefined, selector: readonly Requirement[]): boolean {
  return selector.every((requirement) => holds(marks ?? "", requirement));
}

const MAX_REQUIREMENTS = 20;

/** Of an empty value nothing can be told by marks, and no node pool is told apart by one. */
const ALLOWED = "a label selector such as pool=front,tier in (a,b),!spot, without empty values";

function holds(marks: string, requirement: Requirement): boolean {
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

/** What stands between commas that are outside of parentheses. In one go: a pattern that looks ahead takes the square of the length. */
function partsOf(written: string): readonly string[] {
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

function requirementOf(part: string): Requirement | undefined {
  const set = SET.exec(part);
  if (set !== null) {
    const [, key = "", word, values = ""] = set;
    return among(
      word === "in" ? "in" : "not-in",
      key,
      values.split(",").map((value) => value.trim()),
    );
  }
  const equality = EQUALITY.exec(part);
  if (equality !== null) {
    const [, key = "", operator, value = ""] = equality;
    return among(operator === "!=" ? "not-in" : "in", key, [value]);
  }
  const key = part.replace(/^!\s*/, "");
  if (faultOfLabelKey(key) !== undefined) return undefined;
  return { operator: key === part ? "exists" : "absent", key };
}

function among(operator: "in" | "not-in", key: string, values: readonly string[]): Requirement | undefined {
  const isGood = values.every((value) => value !== "" && faultOfLabelValue(value) === undefined);
  return isGood && faultOfLabelKey(key) === undefined ? { operator, key, values } : undefined;
}

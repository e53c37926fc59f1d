import { checkLabelKey, checkLabelValue } from "#core/label-syntax.ts";

/** One requirement of Hetzner's label selectors; all of them must match. */
export type Requirement =
  | { readonly kind: "in" | "not-in"; readonly key: string; readonly values: readonly string[] }
  | { readonly kind: "exists" | "absent"; readonly key: string };

/**
 * Parses a label selector; undefined if it is invalid. Forms: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin
 * (b,c)`, `a`, `!a`, separated by commas.
 */
export function parseLabelSelector(text: string): readonly Requirement[] | undefined {
  const requirements = splitOutside(text).map((part) => parseRequirement(part.trim()));
  return requirements.every((each) => each !== undefined) ? requirements : undefined;
}

/** Normalizes a label selector: one text for all spellings of equal requirements. */
export function normalizeLabelSelector(text: string): string {
  return [...new Set((parseLabelSelector(text) ?? []).map(formatRequirement))].sort().join(",");
}

function formatRequirement(requirement: Requirement): string {
  const { key } = requirement;
  if (!("values" in requirement)) return requirement.kind === "exists" ? key : `!${key}`;
  const values = [...new Set(requirement.values)].sort();
  const [sign, operator] = requirement.kind === "in" ? ["=", "in"] : ["!=", "notin"];
  return values.length === 1 ? `${key}${sign}${values[0]}` : `${key} ${operator} (${values.join(",")})`;
}

/** Whether labels match all requirements. */
export function isSelected(
  requirements: readonly Requirement[],
  labels: Readonly<Record<string, string>>,
): boolean {
  return requirements.every((requirement) => matchesRequirement(requirement, labels));
}

/**
 * Whether a selector requires any label; one that only excludes labels matches other clusters' servers too.
 */
export function requiresLabel(requirements: readonly Requirement[]): boolean {
  return requirements.some(({ kind }) => kind === "in" || kind === "exists");
}

function matchesRequirement(requirement: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.kind) {
    case "in":
      return value !== undefined && requirement.values.includes(value);
    case "not-in":
      return value === undefined || !requirement.values.includes(value);
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
  }
}

const EQUALITY = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/;
const SET = /^([^\s!=(),]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const PRESENCE = /^(!?)\s*([^\s!=(),]+)$/;

function parseRequirement(text: string): Requirement | undefined {
  const equality = EQUALITY.exec(text);
  if (equality !== null) {
    const [, key = "", sign, value = ""] = equality;
    return checkRequirement({ kind: sign === "!=" ? "not-in" : "in", key, values: [value] });
  }
  const set = SET.exec(text);
  if (set !== null) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map((value) => value.trim());
    return checkRequirement({ kind: operator === "in" ? "in" : "not-in", key, values });
  }
  const presence = PRESENCE.exec(text);
  if (presence === null) return undefined;
  const [, sign, key = ""] = presence;
  return checkRequirement({ kind: sign === "!" ? "absent" : "exists", key });
}

function checkRequirement(requirement: Requirement): Requirement | undefined {
  const values = "values" in requirement ? requirement.values : [];
  const isInvalid =
    checkLabelKey(requirement.key) !== undefined ||
    values.some((value) => checkLabelValue(value) !== undefined);
  return isInvalid ? undefined : requirement;
}

/** Splits at commas outside of parentheses. */
function splitOutside(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}

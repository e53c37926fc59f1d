import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Resource } from "#emulators/api-server/resources.ts";
import { createBadRequest } from "#emulators/api-server/status.ts";

/** Returns whether an object matches. */
export type Selector = (object: StoredObject) => boolean;

/** Combines the query's readLabelSelector and fieldSelector; undefined without either. */
export function parseSelector(query: URLSearchParams, resource: Resource): Selector | undefined {
  const labels = query.get("labelSelector") ?? "";
  const fields = query.get("fieldSelector") ?? "";
  const selectors = [
    ...splitRequirements(labels).map(parseLabelRequirement),
    ...splitRequirements(fields).map((requirement) => parseFieldRequirement(requirement, resource)),
  ];
  if (selectors.length === 0) return undefined;
  return (object) => selectors.every((selector) => selector(object));
}

// Commas within parentheses belong to a set.
function splitRequirements(text: string): readonly string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((requirement) => requirement.trim())
    .filter((requirement) => requirement !== "");
}

const EQUALITY = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/;
const MEMBERSHIP = /^([^\s!=(),]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const EXISTENCE = /^(!?)([^\s!=(),]+)$/;

function parseLabelRequirement(requirement: string): Selector {
  const read = (object: StoredObject, key: string): string | undefined => object.metadata.labels?.[key];
  const [, key = "", operator, value] = EQUALITY.exec(requirement) ?? [];
  if (operator !== undefined) {
    return (object) => (read(object, key) === value) === (operator !== "!=");
  }
  const [, member = "", membership, list = ""] = MEMBERSHIP.exec(requirement) ?? [];
  if (membership !== undefined) {
    const values: readonly (string | undefined)[] = list.split(",").map((item) => item.trim());
    return (object) => values.includes(read(object, member)) === (membership === "in");
  }
  const [, not, existing = ""] = EXISTENCE.exec(requirement) ?? [];
  if (not !== undefined) return (object) => (read(object, existing) === undefined) === (not === "!");
  throw createBadRequest(`unable to parse requirement: ${requirement}`);
}

function parseFieldRequirement(requirement: string, resource: Resource): Selector {
  const [, field = "", operator, value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(requirement) ?? [];
  if (operator === undefined)
    throw createBadRequest(`invalid selector: '${requirement}'; can't understand '${requirement}'`);
  const read = createFieldReader(field, resource);
  return (object) => (read(object) === value) === (operator !== "!=");
}

function createFieldReader(field: string, resource: Resource): (object: StoredObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace" && resource.namespaced) {
    return (object) => object.metadata.namespace ?? "";
  }
  const known = Object.hasOwn(resource.fields, field) ? resource.fields[field] : undefined;
  if (known === undefined) throw createBadRequest(`field label not supported: ${field}`);
  return known;
}

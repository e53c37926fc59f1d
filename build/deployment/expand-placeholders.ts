import { type DeployedFunction, getLogicalId } from "./select-functions.ts";

/** A list or map of serverless.yml without its placeholders. */
export interface Expansion {
  /** The keys and indexes that lead to it. */
  readonly path: readonly string[];
  readonly value: unknown;
}

/** What a placeholder can say of a function, by its second word. */
type Fields = Readonly<Record<"key" | "name" | "id" | "role" | "resource", string>>;

/** The functions for which a placeholder stands, by its first word. */
type Groups = Readonly<Record<string, readonly Fields[]>>;

const PLACEHOLDER = /\{(controller|function|session)\.(\w+)\}/;

/**
 * Returns the lists and maps of a configuration in which a placeholder stands for functions, expanded. A map's entry
 * with a placeholder in its key is repeated for every function of the placeholder's group. So is a list's item that is
 * a text with one, or a map of one such text, such as `Ref: …`. serverless.yml explains groups and fields above
 * `plugins`. Throws an error that names a controller without a function, or a placeholder that cannot be replaced.
 */
export function expandPlaceholders(
  functions: Readonly<Record<string, DeployedFunction>>,
  controllers: readonly string[],
  configuration: Readonly<Record<string, unknown>>,
): readonly Expansion[] {
  const absent = controllers.find((name) => functions[name] === undefined);
  if (absent !== undefined)
    throw new Error(`functions.${absent} is missing: src/core/descriptors.ts lists its controller`);
  const all = Object.entries(functions);
  const expansions = findExpansions(configuration, [], {
    controller: all.filter(([name]) => controllers.includes(name)).map(listFields),
    function: all.map(listFields),
    session: all.filter(([, { environment }]) => environment?.["SESSION_ROLE_ARN"]).map(listFields),
  });
  for (const { path, value } of expansions) {
    const [left] = findPlaceholder(value) ?? [];
    if (left !== undefined)
      throw new Error(`${path.join(".")}: ${left} has an unknown field, or is in no list`);
  }
  return expansions;
}

function listFields([key, { name, role }]: [string, DeployedFunction]): Fields {
  return { key, name, id: role.replace(/FunctionRole$/, ""), role, resource: getLogicalId(key) };
}

/** Only what changes, because the escapes in texts of other parts would be read once more. */
function findExpansions(value: unknown, path: readonly string[], groups: Groups): Expansion[] {
  if (findPlaceholder(value) === null) return [];
  if (typeof value !== "object" || value === null || isRepeated(value))
    return [{ path, value: expand(value, groups) }];
  return Object.entries(value).flatMap(([key, item]) => findExpansions(item, [...path, key], groups));
}

/** Returns whether items or entries of the value itself are repeated. */
function isRepeated(value: object): boolean {
  const texts = Array.isArray(value) ? value.map(getText) : Object.keys(value);
  return texts.some((text) => findPlaceholder(text) !== null);
}

function expand(value: unknown, groups: Groups): unknown {
  if (Array.isArray(value))
    return value.flatMap((item) =>
      repeat(item, getText(item), groups).map((each: unknown) => expand(each, groups)),
    );
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap((entry) =>
      repeat(entry, entry[0], groups).map(([key, item]): [string, unknown] => [key, expand(item, groups)]),
    ),
  );
}

/** Returns a list's item if it is a text, or the text of an item such as `Ref: …`; any other item has none. */
function getText(item: unknown): unknown {
  if (typeof item !== "object" || item === null) return item;
  const [value, ...others] = Object.values(item);
  return others.length === 0 && typeof value === "string" ? value : undefined;
}

/** Returns the value for every function that the placeholder in `text` stands for, or as it is without one. */
function repeat<Value>(value: Value, text: unknown, groups: Groups): readonly Value[] {
  const [, group] = findPlaceholder(text) ?? [];
  if (group === undefined) return [value];
  const json = JSON.stringify(value);
  return (groups[group] ?? []).map((fields) =>
    JSON.parse(
      json.replaceAll(new RegExp(PLACEHOLDER, "g"), (found, of: string, field: string) =>
        of === group ? (fields[field as keyof Fields] ?? found) : found,
      ),
    ),
  );
}

function findPlaceholder(value: unknown): RegExpExecArray | null {
  return PLACEHOLDER.exec(JSON.stringify(value) ?? "");
}

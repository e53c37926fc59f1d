import type { Schema, SchemaIssue, SchemaValidator } from "#test/openapi/schema.ts";

/** Returns what the schema of the patched object does not allow in a patch of a content type. */
export function checkPatch(
  validator: SchemaValidator,
  object: Schema,
  contentType: string,
  patch: unknown,
): readonly SchemaIssue[] {
  switch (contentType) {
    case "application/json-patch+json":
      return checkJsonPatch(validator, object, patch);
    case "application/merge-patch+json":
      return validator.validate(object, patch, "merged");
    case "application/strategic-merge-patch+json":
      return validator.validate(object, removeDirectives(patch), "merged");
    default:
      return [{ pointer: "", rule: `content type: ${contentType} is unknown here` }];
  }
}

/** The members of each operation of RFC 6902, besides `op` and `path`. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  add: ["value"],
  copy: ["from"],
  move: ["from"],
  remove: [],
  replace: ["value"],
  test: ["value"],
};

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

function checkJsonPatch(validator: SchemaValidator, object: Schema, patch: unknown): readonly SchemaIssue[] {
  if (!Array.isArray(patch)) return [{ pointer: "", rule: "a list of operations (RFC 6902)" }];
  return patch.flatMap((operation: unknown, index) =>
    checkOperation(validator, object, operation, `/${index}`),
  );
}

function checkOperation(
  validator: SchemaValidator,
  object: Schema,
  operation: unknown,
  pointer: string,
): readonly SchemaIssue[] {
  const { op, path, from, value, ...others } = (operation ?? {}) as Readonly<Record<string, unknown>>;
  const members = typeof op === "string" ? OPERATIONS[op] : undefined;
  if (members === undefined)
    return [{ pointer: `${pointer}/op`, rule: `no operation: ${JSON.stringify(op)}` }];
  const named = { path, ...(members.includes("from") ? { from } : {}) };
  const wrong = Object.entries(named).filter(
    ([, at]) => typeof at !== "string" || !POINTER.test(at) || at === "",
  );
  const schema = wrong.length === 0 ? validator.locate(object, String(path)) : undefined;
  // A test of null holds where there is nothing.
  const valued = members.includes("value") && !(op === "test" && value === null);
  return [
    ...wrong.map(([name]) => ({ pointer: `${pointer}/${name}`, rule: "a JSON pointer to a member" })),
    ...Object.keys(others).map((name) => ({ pointer: `${pointer}/${name}`, rule: "unknown member" })),
    ...(schema === undefined && wrong.length === 0
      ? [{ pointer: `${pointer}/path`, rule: `unknown field: ${path}` }]
      : []),
    ...(valued && value === undefined ? [{ pointer: `${pointer}/value`, rule: "required" }] : []),
    ...(valued && value !== undefined && schema !== undefined
      ? validator.validate(schema, value, "sent", `${pointer}/value`)
      : []),
  ];
}

function removeDirectives(patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map(removeDirectives);
  if (typeof patch !== "object" || patch === null) return patch;
  const members = Object.entries(patch).filter(([name]) => !name.startsWith("$"));
  return Object.fromEntries(members.map(([name, value]) => [name, removeDirectives(value)]));
}

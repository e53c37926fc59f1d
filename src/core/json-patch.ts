import type { PatchOperation, TestOperation } from "#core/decision.ts";

/** A part of a JSON patch: tests that what was read is unchanged, and the operations. */
export interface Edit {
  readonly tests: readonly TestOperation[];
  readonly operations: readonly PatchOperation[];
}

/** A desired entry of a map of strings; `tests` guard it if the map exists. */
export interface MapEntry {
  readonly key: string;
  readonly value: string;
  readonly tests: readonly TestOperation[];
}

/** An edit that changes nothing. */
export const NO_EDIT: Edit = { tests: [], operations: [] };

/** Returns the JSON pointer (RFC 6901) for unescaped segments. */
export function formatPointer(...segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${escapeSegment(String(segment))}`).join("");
}

/** Returns a test that `path` holds `value`; null means "absent", as in kube-apiserver. */
export function test(path: string, value: unknown): TestOperation {
  return { op: "test", path, value };
}

/** Returns an operation that sets `path` to `value`, whether or not it exists. */
export function add(path: string, value: unknown): PatchOperation {
  return { op: "add", path, value };
}

/** Returns an operation that removes `path`. */
export function remove(path: string): PatchOperation {
  return { op: "remove", path };
}

/**
 * Returns an edit that sets entries of the map at `path`. If the map does not exist, the edit tests its
 * absence, which implies the entries' own tests, and adds the whole map.
 */
export function setEntries(path: string, exists: boolean, entries: readonly MapEntry[]): Edit {
  if (entries.length === 0) return NO_EDIT;
  if (!exists) {
    const map = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
    return { tests: [test(path, null)], operations: [add(path, map)] };
  }
  return {
    tests: entries.flatMap(({ tests }) => tests),
    operations: entries.map(({ key, value }) => add(`${path}${formatPointer(key)}`, value)),
  };
}

/** Returns the value after the operations, which must fit it; unchanged parts are shared with the input. */
export function applyOperations<Value>(value: Value, operations: readonly PatchOperation[]): Value {
  return operations.reduce<unknown>((before, operation) => {
    const path = parsePointer(operation.path);
    return operation.op === "add"
      ? editAt(before, path, (parent, key) => withMember(parent, key, operation.value))
      : editAt(before, path, removeMember);
  }, value) as Value;
}

/** Returns whether the value contains everything that the operations add; removals are ignored. */
export function isApplied(value: unknown, operations: readonly PatchOperation[]): boolean {
  const additions = operations.filter((operation) => operation.op === "add");
  return (
    additions.length > 0 &&
    additions.every((operation) =>
      isSameJson(getMemberAt(value, parsePointer(operation.path)), operation.value),
    )
  );
}

/** Returns whether a path holds a value other than the expected one; an absent path is unknown, so false. */
export function hasOtherValue(value: unknown, path: string, expected: unknown): boolean {
  const member = getMemberAt(value, parsePointer(path));
  return member !== undefined && !isSameJson(member, expected);
}

/** Returns whether two values are equal as JSON, whatever the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [a as Container, b as Container];
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]))
  );
}

type Container = Record<string, unknown>;

function parsePointer(path: string): string[] {
  return path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function getMemberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === "object" && parent !== null && Object.hasOwn(parent, key)
        ? (parent as Container)[key]
        : undefined,
    value,
  );
}

function editAt(
  value: unknown,
  [key = "", ...rest]: readonly string[],
  edit: (parent: unknown, key: string) => unknown,
): unknown {
  if (rest.length === 0) return edit(value, key);
  const child = editAt(getMemberAt(value, [key]), rest, edit);
  if (!Array.isArray(value)) return { ...(value as Container | undefined), [key]: child };
  return value.with(Number(key), child);
}

function withMember(parent: unknown, key: string, value: unknown): unknown {
  if (!Array.isArray(parent)) return { ...(parent as Container | undefined), [key]: value };
  return parent.toSpliced(key === "-" ? parent.length : Number(key), 0, value);
}

function removeMember(parent: unknown, key: string): unknown {
  if (Array.isArray(parent)) return parent.toSpliced(Number(key), 1);
  const { [key]: _, ...others } = parent as Container;
  return others;
}

function escapeSegment(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

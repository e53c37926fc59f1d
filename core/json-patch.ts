import type { PatchOperation, TestOperation } from "#core/decision.ts";

/** A part of a JSON patch: what must still be as it was read, and what is done then. */
export interface Edit {
  readonly tests: readonly TestOperation[];
  readonly operations: readonly PatchOperation[];
}

/** An entry that is to stand in a map of strings; `tests` guard it where the map exists. */
export interface MapEntry {
  readonly key: string;
  readonly value: string;
  readonly tests: readonly TestOperation[];
}

/** Changes nothing. */
export const NO_EDIT: Edit = { tests: [], operations: [] };

/** A JSON pointer (RFC 6901) to what the unescaped segments name. */
export function pointer(...segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${escaped(String(segment))}`).join("");
}

/** A test that `path` holds `value`; null stands for "absent", as kube-apiserver reads it. */
export function test(path: string, value: unknown): TestOperation {
  return { op: "test", path, value };
}

/** Sets `path` to `value`, whether or not it holds something already. */
export function add(path: string, value: unknown): PatchOperation {
  return { op: "add", path, value };
}

/** Takes away what `path` holds. */
export function remove(path: string): PatchOperation {
  return { op: "remove", path };
}

/**
 * Sets entries of the map at `path`. Where there is no map there is nothing to add an entry to: then its absence is
 * tested, which implies the entries' own tests, and the map is added whole.
 */
export function setEntries(path: string, exists: boolean, entries: readonly MapEntry[]): Edit {
  if (entries.length === 0) return NO_EDIT;
  if (!exists) {
    const map = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
    return { tests: [test(path, null)], operations: [add(path, map)] };
  }
  return {
    tests: entries.flatMap(({ tests }) => tests),
    operations: entries.map(({ key, value }) => add(`${path}${pointer(key)}`, value)),
  };
}

/** The value as it is after the operations, which fit it; what is not touched is shared with the one before. */
export function patched<Value>(value: Value, operations: readonly PatchOperation[]): Value {
  return operations.reduce<unknown>((before, operation) => {
    const path = segmentsOf(operation.path);
    return operation.op === "add"
      ? edited(before, path, (parent, key) => withMember(parent, key, operation.value))
      : edited(before, path, withoutMember);
  }, value) as Value;
}

/** Whether all that the operations add stands there; what they remove says nothing. */
export function holds(value: unknown, operations: readonly PatchOperation[]): boolean {
  const additions = operations.filter((operation) => operation.op === "add");
  return (
    additions.length > 0 &&
    additions.every((operation) => isSameJson(memberAt(value, segmentsOf(operation.path)), operation.value))
  );
}

/** Whether a path holds something else than this; where it holds nothing that is not known. */
export function differsAt(value: unknown, path: string, expected: unknown): boolean {
  const member = memberAt(value, segmentsOf(path));
  return member !== undefined && !isSameJson(member, expected);
}

/** Whether two values are the same JSON, whatever the order of members. */
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

function segmentsOf(path: string): string[] {
  return path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (parent, key) =>
      typeof parent === "object" && parent !== null && Object.hasOwn(parent, key)
        ? (parent as Container)[key]
        : undefined,
    value,
  );
}

function edited(
  value: unknown,
  [key = "", ...rest]: readonly string[],
  edit: (parent: unknown, key: string) => unknown,
): unknown {
  if (rest.length === 0) return edit(value, key);
  const child = edited(memberAt(value, [key]), rest, edit);
  if (!Array.isArray(value)) return { ...(value as Container | undefined), [key]: child };
  return value.with(Number(key), child);
}

function withMember(parent: unknown, key: string, value: unknown): unknown {
  if (!Array.isArray(parent)) return { ...(parent as Container | undefined), [key]: value };
  return parent.toSpliced(key === "-" ? parent.length : Number(key), 0, value);
}

function withoutMember(parent: unknown, key: string): unknown {
  if (Array.isArray(parent)) return parent.toSpliced(Number(key), 1);
  const { [key]: _, ...others } = parent as Container;
  return others;
}

function escaped(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

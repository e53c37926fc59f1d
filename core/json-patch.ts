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

function escaped(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

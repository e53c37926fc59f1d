import type * as z from "zod";

/** One thing that is wrong with a value from outside; `path` says where, as `objects[3].metadata.uid`, and is empty for the whole. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** All faults that a schema found. Messages name keys and rules, never the values found there. */
export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.map(({ path, message }) => ({ path: pathOf(path), message }));
}

/** A path as people write it, such as `objects[3].metadata.uid`. */
export function pathOf(segments: readonly PropertyKey[]): string {
  return segments.map(written).join("").replace(/^\./, "");
}

function written(segment: PropertyKey): string {
  if (typeof segment === "number") return `[${segment}]`;
  const name = String(segment);
  return /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

import type * as z from "zod";

/**
 * One error in a value from outside. `path` is its position, such as `objects[3].metadata.uid`; empty for the
 * whole value.
 */
export interface ConfigError {
  readonly path: string;
  readonly message: string;
}

/** What is wrong with a flag, a file or a key of it, by its name, and what is allowed there. */
export interface ConfigurationFault {
  readonly name: string;
  readonly message: string;
}

/** Returns all errors that a schema found. Messages name keys and rules, never the values. */
export function listFaults(error: z.ZodError): ConfigError[] {
  return error.issues.map(({ path, message }) => ({ path: formatPath(path), message }));
}

/** Returns a path as people write it, such as `objects[3].metadata.uid`. */
export function formatPath(segments: readonly PropertyKey[]): string {
  return segments.map(formatSegment).join("").replace(/^\./, "");
}

function formatSegment(segment: PropertyKey): string {
  if (typeof segment === "number") return `[${segment}]`;
  const name = String(segment);
  return /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

import type * as z from "zod";

/** One thing wrong with a document: where, as `objects[3].metadata.uid`, and what. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** All faults that a schema found, in its order. */
export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.map((issue) => ({ path: formatPath(issue.path), message: issue.message }));
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? String(key) : `${text}.${String(key)}`;
  }, "");
}

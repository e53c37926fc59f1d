import { readFileSync } from "node:fs";
import type { Parts } from "#test/setup/parts.ts";

const CALLS = /\b(?:describeWithPart|testWithPart|getPart)\(\s*"([^"]+)"/g;
const CALL_OF_BOTH = /\bdescribeWithBoth\(/;

/**
 * Lists the parts that a test file names in its calls of `describeWithPart` and the like. A part that only an
 * imported module names is not found.
 */
export function listPartsIn(text: string): readonly (keyof Parts)[] {
  const named = [...text.matchAll(CALLS)].map(([, name]) => name as keyof Parts);
  const both: readonly (keyof Parts)[] = CALL_OF_BOTH.test(text) ? ["moto", "control-plane"] : [];
  return [...new Set([...named, ...both])];
}

/** Lists the parts that the test files at these paths need, each once. */
export function listNeededParts(paths: readonly string[]): readonly (keyof Parts)[] {
  return [...new Set(paths.flatMap((path) => listPartsIn(readFileSync(path, "utf8"))))];
}

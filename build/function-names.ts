import { readdir } from "node:fs/promises";
import { ROOT } from "./bundle.ts";

/** Returns the Lambda functions: one for each TypeScript file directly in `functions/`, sorted. */
export async function listFunctionNames(): Promise<string[]> {
  const files = await readdir(`${ROOT}/functions`, { withFileTypes: true });
  const sources = files.filter((file) => file.isFile() && file.name.endsWith(".ts"));
  return sources.map((file) => file.name.slice(0, -".ts".length)).sort();
}

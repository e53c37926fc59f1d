import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { DESCRIPTORS } from "#core/descriptors.ts";
import type { Template } from "#test/infra/packaged-template.ts";
import { ROOT } from "../../build/bundle.ts";
import { expandPlaceholders } from "../../build/deployment/expand-placeholders.ts";

/** Returns serverless.yml with the lists that the plugin fills; variables stay as they are written. */
export async function readServerlessYml(): Promise<Template> {
  const file = parse(await readFile(join(ROOT, "serverless.yml"), "utf8"), { merge: true });
  const controllers = DESCRIPTORS.map(({ functionName }) => functionName);
  const { functions, custom, resources } = file;
  for (const { path, value } of expandPlaceholders(functions, controllers, { custom, resources })) {
    const parent = path.slice(0, -1).reduce((each, key) => each[key], file);
    parent[path.at(-1) ?? ""] = value;
  }
  return file;
}

import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** Zod's schema classes, each of which refers to its description as JSON Schema. */
const ZOD_SCHEMAS = /node_modules\/zod\/v4\/classic\/schemas\.js$/;

/**
 * Creates a plugin that removes zod's code for JSON Schema. This project does not use it, but every schema
 * refers to it in a method, so esbuild cannot drop it. It is 17 KB, minified, which each process would parse
 * at its start. The build fails if a newer zod has it in another form.
 */
export function createJsonSchemasPlugin(): Plugin {
  return {
    name: "no-json-schemas",
    setup({ onLoad }) {
      onLoad({ filter: ZOD_SCHEMAS }, async ({ path }) => ({
        contents: removeJsonSchemas(await readFile(path, "utf8")),
      }));
    },
  };
}

/** Returns zod's module without the code for JSON Schema; throws if the module has an unknown form. */
export function removeJsonSchemas(source: string): string {
  const methods = source.match(PROCESSOR) ?? [];
  if (methods.length < 20 || !IMPORT.test(source))
    throw new Error("zod's schemas have another form: see what of them a bundle can do without");
  return source.replaceAll(PROCESSOR, "").replace(IMPORT, NOTHING);
}

const PROCESSOR =
  /^\s*inst\._zod\.processJSONSchema = \(ctx, json, params\) => processors\.\w+\([^;\n]*\);$/gm;
const IMPORT =
  /^import \{ createStandardJSONSchemaMethod, createToJSONSchemaMethod \} from "\.\.\/core\/to-json-schema\.js";$/m;
const NOTHING = `const createToJSONSchemaMethod = () => () => { throw new Error("bundles make no JSON Schemas"); };
const createStandardJSONSchemaMethod = createToJSONSchemaMethod;`;

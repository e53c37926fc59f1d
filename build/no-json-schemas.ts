import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** zod's classes of schemas, each of which refers to what describes it as JSON Schema. */
const ZOD_SCHEMAS = /node_modules\/zod\/v4\/classic\/schemas\.js$/;

/**
 * Leaves out what zod needs to describe schemas as JSON Schema: nothing here calls it, and esbuild cannot drop it, as every schema refers
 * to it in a method. It is 17 KB, minified, that each process would parse at its start. The build fails where a newer version of zod has
 * it in another form.
 */
export function noJsonSchemas(): Plugin {
  return {
    name: "no-json-schemas",
    setup({ onLoad }) {
      onLoad({ filter: ZOD_SCHEMAS }, async ({ path }) => ({
        contents: withoutJsonSchemas(await readFile(path, "utf8")),
      }));
    },
  };
}

/** Returns zod's module without what makes JSON Schemas; throws where the module has another form than the one that is known. */
export function withoutJsonSchemas(source: string): string {
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

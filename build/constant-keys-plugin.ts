import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** The generated files in which an AWS client describes the shapes of all its operations. */
const SCHEMAS = /@aws-sdk\/.+\/schemas_\d+\.js$/;

/**
 * Creates a plugin with which esbuild can drop the shapes of unused operations. The AWS SDK writes them with
 * computed keys: `{ [_xN]: _Inst }` with `const _xN = "xmlName"`. For esbuild a computed key might have
 * effects, so it keeps every shape of the service. EC2's alone are half a megabyte, minified, which each
 * process would parse and run.
 */
export function createConstantKeysPlugin(): Plugin {
  return {
    name: "constant-keys",
    setup({ onLoad }) {
      onLoad({ filter: SCHEMAS }, async ({ path }) => {
        const contents = replaceConstantKeys(await readFile(path, "utf8"));
        return { contents: ERRORS_BY_NAME.test(path) ? removeErrors(contents) : contents };
      });
    },
  };
}

/**
 * Returns the module with each computed key that names one of its own string constants replaced by that
 * string.
 */
export function replaceConstantKeys(source: string): string {
  const constants = new Map([...source.matchAll(CONSTANT)].map(([, name, literal]) => [name, literal]));
  return source.replaceAll(COMPUTED_KEY, (key, name) => {
    const literal = constants.get(name);
    return literal === undefined ? key : `${literal}:`;
  });
}

/**
 * Clients whose errors are distinguished by name alone, which a JSON service sends. SSM describes 140 errors,
 * 60 KB, and registers each, so that none would be dropped. An unregistered error gets the client's base
 * class and keeps its name.
 */
const ERRORS_BY_NAME = /@aws-sdk\/client-ssm\/.+\/schemas_\d+\.js$/;

/** Returns the module without the registrations of its operations' errors. */
export function removeErrors(source: string): string {
  return source.replaceAll(/^n0_registry\.registerError\(\w+\$, \w+\);$/gm, "");
}

const CONSTANT = /^const (\w+) = ("[^"\\\n]*");$/gm;
const COMPUTED_KEY = /\[(\w+)\]:/g;

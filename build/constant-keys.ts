import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** The generated files in which an AWS client describes the shapes of all its operations. */
const SCHEMAS = /@aws-sdk\/.+\/schemas_\d+\.js$/;

/**
 * Lets esbuild drop the shapes of operations that are not in use. The AWS SDK writes them with computed keys,
 * `{ [_xN]: _Inst }` beside `const _xN = "xmlName"`; a computed key might have effects as far as esbuild knows, so it keeps
 * every shape of the service: of EC2 alone half a megabyte, minified, that each process would parse and run.
 */
export function constantKeys(): Plugin {
  return {
    name: "constant-keys",
    setup({ onLoad }) {
      onLoad({ filter: SCHEMAS }, async ({ path }) => {
        const contents = withConstantKeys(await readFile(path, "utf8"));
        return { contents: ERRORS_BY_NAME.test(path) ? withoutErrors(contents) : contents };
      });
    },
  };
}

/** The same module with each computed key that names one of its own string constants replaced by that string. */
export function withConstantKeys(source: string): string {
  const constants = new Map([...source.matchAll(CONSTANT)].map(([, name, literal]) => [name, literal]));
  return source.replaceAll(COMPUTED_KEY, (key, name) => {
    const literal = constants.get(name);
    return literal === undefined ? key : `${literal}:`;
  });
}

/**
 * Clients whose errors are told apart by name alone, which is what the service sends where it speaks JSON. SSM describes 140 of them,
 * 60 KB, and registers each, so that none would be dropped. What is not registered comes as the client's own base class, under its name.
 */
const ERRORS_BY_NAME = /@aws-sdk\/client-ssm\/.+\/schemas_\d+\.js$/;

/** The same module without the registrations of its operations' errors. */
export function withoutErrors(source: string): string {
  return source.replaceAll(/^n0_registry\.registerError\(\w+\$, \w+\);$/gm, "");
}

const CONSTANT = /^const (\w+) = ("[^"\\\n]*");$/gm;
const COMPUTED_KEY = /\[(\w+)\]:/g;

import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/**
 * Says of tsyringe, a part of @peculiar/x509, that it needs reflect-metadata, which it only says when that is not there. In a bundle
 * of several files esbuild keeps no other order between the two; and reflect-metadata has to be a module for it, as CommonJS
 * is run where it is imported and not before.
 */
export function polyfillFirst(): Plugin {
  return {
    name: "polyfill-first",
    setup({ onLoad }) {
      onLoad({ filter: /node_modules\/tsyringe\/dist\/esm[^/]*\/index\.js$/ }, async ({ path }) => ({
        contents: `import "reflect-metadata";\n${await readFile(path, "utf8")}`,
      }));
      onLoad({ filter: /node_modules\/reflect-metadata\/Reflect\.js$/ }, async ({ path }) => ({
        contents: `${await readFile(path, "utf8")}\nexport {};\n`,
      }));
    },
  };
}

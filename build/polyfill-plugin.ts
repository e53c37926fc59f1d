import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/**
 * Declares that tsyringe, a part of @peculiar/x509, needs reflect-metadata; tsyringe itself only complains if
 * it is missing. In a bundle of several files esbuild keeps no other order between the two. reflect-metadata
 * must be a module for that, as CommonJS runs only where it is imported.
 */
export function createPolyfillPlugin(): Plugin {
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

import { builtinModules } from "node:module";
import type { Plugin } from "esbuild";

/**
 * Takes Node's own modules from `process.getBuiltinModule`. An import statement makes Node read every property that the module
 * exports, and with it load what stands behind those that are loaded on demand: for `node:http` that is undici, for
 * `node:crypto` the Web Crypto API, of which nothing is in use here.
 */
export function builtinsOnDemand(): Plugin {
  return {
    name: "builtins-on-demand",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: BUILTIN }, ({ path, kind }) => {
        if (kind === "require-call") return undefined;
        return { path: path.replace(/^(node:)?/, "node:"), namespace: "builtin", sideEffects: false };
      });
      onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      }));
    },
  };
}

const BUILTIN = new RegExp(`^(node:.+|${builtinModules.filter((name) => !name.startsWith("_")).join("|")})$`);

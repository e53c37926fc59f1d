import type { Plugin } from "esbuild";

/** Node's modules that are mostly loaded on access. */
const ON_DEMAND = /^(node:)?http$/;

/**
 * Takes `node:http` from `process.getBuiltinModule`. An import makes Node read all exports of the module. For
 * WebSocket and its events, which are unused here, that loads undici: tens of modules, as many milliseconds
 * on a fraction of a core.
 */
export function createBuiltinsPlugin(): Plugin {
  return {
    name: "builtins-on-demand",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: ON_DEMAND }, () => ({
        path: "node:http",
        namespace: "builtin",
        sideEffects: false,
      }));
      onLoad({ filter: ON_DEMAND, namespace: "builtin" }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      }));
    },
  };
}

import type { Plugin } from "esbuild";

/** The modules of Node of which most is loaded only when it is looked at. */
const ON_DEMAND = /^(node:)?http$/;

/**
 * Takes `node:http` from `process.getBuiltinModule`. An import makes Node look at all that the module exports, and for WebSocket
 * and its events, which nothing here uses, that loads undici: tens of modules, as many milliseconds on a fraction of a core.
 */
export function builtinsOnDemand(): Plugin {
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
